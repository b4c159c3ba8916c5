// SPDX-License-Identifier: Apache-2.0
//
// Errors. Every message has the same three parts: `[where] what was given; expected ...; try ...`.
// The classes say whose mistake it is and what kind, so that a program can catch the one it can handle.
// Mistakes of halftone itself are assertions, not exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace halftone {

class Error : public std::runtime_error {
 public:
  // `where` is the op, file or option; `given` what was there; `expected` and `hint` may be empty.
  Error(std::string_view where, std::string_view given, std::string_view expected = "",
        std::string_view hint = "");
};

struct ShapeError : Error {
  using Error::Error;
};  // sizes that do not fit together
struct DTypeError : Error {
  using Error::Error;
};  // a format where another was needed, or none of that name
struct ValueError : Error {
  using Error::Error;
};  // an argument out of its range
struct FileError : Error {
  using Error::Error;
};  // a file missing, malformed or truncated
struct Unsupported : Error {
  using Error::Error;
};  // a thing this build or backend does not have
struct NonFiniteError : Error {
  using Error::Error;
};  // training cannot go on: NaN loss, scale stuck at its floor

}  // namespace halftone
