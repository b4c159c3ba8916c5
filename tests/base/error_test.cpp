// SPDX-License-Identifier: Apache-2.0
#include "halftone/error.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

namespace halftone {
namespace {

TEST(Error, SaysWhereWhatWasGivenWhatWasExpectedAndWhatToTry) {
  const Error error("matmul", "2x3 times 4x5", "equal inner sizes", "transpose()");
  EXPECT_STREQ(error.what(), "[matmul] 2x3 times 4x5; expected equal inner sizes; try transpose()");
}

TEST(Error, LeavesOutThePartsThatAreEmpty) {
  EXPECT_STREQ(Error("load", "no such file").what(), "[load] no such file");
  EXPECT_STREQ(Error("lr", "-1", "a positive number").what(), "[lr] -1; expected a positive number");
  EXPECT_STREQ(Error("mpi", "not built in", "", "a build with MPI").what(),
               "[mpi] not built in; try a build with MPI");
}

// A program catches the class it can handle, or all of them at once.
template <class Kind>
class ErrorKind : public testing::Test {};
using Kinds = testing::Types<ShapeError, DTypeError, ValueError, FileError, Unsupported, NonFiniteError>;
TYPED_TEST_SUITE(ErrorKind, Kinds);

TYPED_TEST(ErrorKind, IsCaughtAsItselfAsErrorAndAsRuntimeError) {
  const auto fail = [] { throw TypeParam("where", "given", "expected", "hint"); };
  EXPECT_THROW(fail(), TypeParam);
  EXPECT_THROW(fail(), Error);
  try {
    fail();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "[where] given; expected expected; try hint");
  }
}

TEST(Error, KindsAreNotEachOther) {
  EXPECT_FALSE((std::is_base_of_v<ShapeError, ValueError>));
  EXPECT_THROW(
      {
        try {
          throw ShapeError("where", "given");
        } catch (const ValueError&) {
        }
      },
      ShapeError);
}

}  // namespace
}  // namespace halftone
