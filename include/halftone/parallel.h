// SPDX-License-Identifier: Apache-2.0
//
// Parallel loops over fixed chunks. The boundaries of the chunks depend on the problem only, never on the
// number of threads, so a loop that keeps one partial result per chunk and combines them in order gives the
// same bits on any number of threads (law 9).
#pragma once

#include <cstdint>
#include <type_traits>

namespace halftone {

// Threads of halftone's loops, inside which oneDNN runs too; of the whole process. At least 1.
int thread_count();
void set_thread_count(int count);

namespace detail {
using ChunkFunction = void (*)(const void* body, std::int64_t begin, std::int64_t end);
void parallel_chunks(std::int64_t count, std::int64_t chunk, ChunkFunction call, const void* body);
}  // namespace detail

// Calls body(begin, end) for [0, chunk), [chunk, 2 chunk), ... up to count, in any order and on any thread.
// The first exception thrown by a body is rethrown here. Runs inline when there is one chunk, one thread, or
// the caller is itself inside a parallel loop.
template <class Body>
void parallel_for(std::int64_t count, std::int64_t chunk, const Body& body) {
  detail::parallel_chunks(
      count, chunk,
      [](const void* f, std::int64_t begin, std::int64_t end) { (*static_cast<const Body*>(f))(begin, end); },
      &body);
}

inline std::int64_t chunk_count(std::int64_t count, std::int64_t chunk) {
  return (count + chunk - 1) / chunk;
}
// count, or the next multiple of `unit` above it.
inline std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return chunk_count(count, unit) * unit;
}

}  // namespace halftone
