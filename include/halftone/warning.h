// SPDX-License-Identifier: Apache-2.0
//
// Warnings: what is allowed but hardly wanted. The library never prints; a program that wants to know sets a
// handler (the halftone command prints them).
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace halftone {

// "[where] what was given; expected ...; try ...", as errors have it. Called on the thread that met it.
using WarningHandler = std::function<void(const std::string& message)>;

// Returns the handler before. A new handler gets the warnings nobody has seen, and every warning again that
// was given before. Without one (null) they are kept.
WarningHandler set_warning_handler(WarningHandler handler);

// Warns the first time it is called with this text since a handler was set. Cheap afterwards; any thread.
void warn_once(std::string_view where, std::string_view given, std::string_view expected,
               std::string_view try_this);

}  // namespace halftone
