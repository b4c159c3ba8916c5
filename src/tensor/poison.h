// SPDX-License-Identifier: Apache-2.0
//
// What AddressSanitizer, if the program runs under it, shall know of memory that halftone hands out itself:
// touching a poisoned byte is an error like touching one that was freed.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// Of the sanitizer's runtime library; null without it.
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* begin, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* begin, std::size_t bytes);
}

namespace halftone::detail {

inline void poison(const std::byte* begin, std::int64_t bytes) {
  if (__asan_poison_memory_region != nullptr)
    __asan_poison_memory_region(begin, static_cast<std::size_t>(bytes));
}

inline void unpoison(const std::byte* begin, std::int64_t bytes) {
  if (__asan_unpoison_memory_region != nullptr)
    __asan_unpoison_memory_region(begin, static_cast<std::size_t>(bytes));
}

}  // namespace halftone::detail
