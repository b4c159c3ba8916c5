// SPDX-License-Identifier: Apache-2.0
//
// The chunks are dealt out by OpenMP, in whose pool oneDNN's threads live too: a second pool would fight with
// it for the cores.
#include "halftone/parallel.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>

#include "halftone/error.h"
#include "halftone/profile.h"

namespace halftone {

int thread_count() { return omp_get_max_threads(); }

void set_thread_count(int count) {
  if (count < 1) throw ValueError("threads", std::to_string(count), "at least 1");
  omp_set_num_threads(count);
}

namespace detail {

void parallel_chunks(std::int64_t count, std::int64_t chunk, ChunkFunction call, const void* body) {
  const std::int64_t chunks = chunk_count(count, chunk);
  if (chunks <= 1 || omp_in_parallel() != 0 || omp_get_max_threads() == 1) {
    for (std::int64_t begin = 0; begin < count; begin += chunk)
      call(body, begin, std::min(begin + chunk, count));
    return;
  }
  std::exception_ptr error;
  std::atomic<bool> failed = false;
  const profile::Loop loop;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < chunks; ++i) {
    try {
      const profile::Chunk busy(loop);
      call(body, i * chunk, std::min((i + 1) * chunk, count));
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace detail
}  // namespace halftone
