// SPDX-License-Identifier: Apache-2.0
//
// The caching allocator below all storage. Small sizes are rounded up to classes at most one eighth apart,
// and a freed block waits in the list of its class; large blocks are cut from one arena (arena.h). A training
// step asks for the same sizes again and again, so after the first step nothing reaches the system: no calls,
// no page faults.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halftone::detail {

inline constexpr std::int64_t kAlignment = 64;        // a cache line, and the widest vector register
inline constexpr std::int64_t kLargeBlock = 1 << 16;  // bytes

std::byte* allocate(std::int64_t bytes);  // nullptr for 0; throws std::bad_alloc
void release(std::byte* block, std::int64_t bytes) noexcept;
std::int64_t size_class(std::int64_t bytes);

}  // namespace halftone::detail
