// SPDX-License-Identifier: Apache-2.0
//
// One test for all rows of a list: the first row that fails is named and ends it.
#pragma once

#include <gtest/gtest.h>

#include "format/oracle.h"

namespace halftone {

class RowTest : public testing::Test {
 protected:
  const Format& row() const { return *row_; }
  DType dtype() const { return DType(row_); }

  template <class Body>
  void each_row(const std::vector<Format>& rows, const Body& body) {
    ASSERT_FALSE(rows.empty());
    for (const Format& row : rows) {
      SCOPED_TRACE(std::string(row.name));
      row_ = &row;
      body();
      if (HasFatalFailure()) return;
    }
  }

 private:
  const Format* row_ = nullptr;
};

}  // namespace halftone
