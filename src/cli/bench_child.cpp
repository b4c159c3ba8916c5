// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include "halftone/error.h"

namespace halftone::cli {
namespace {

constexpr int kThrown = 3;

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count < 0 && errno != EINTR) ::_exit(1);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
}

[[noreturn]] void run(const std::function<std::string()>& work, int descriptor) {
  try {
    write_all(descriptor, work());
    ::_exit(0);
  } catch (const std::bad_alloc&) {
    write_all(descriptor, "out of memory; try a smaller model, --batch or --context");
    ::_exit(kThrown);
  } catch (const std::exception& error) {
    write_all(descriptor, error.what());
    ::_exit(kThrown);
  }
}

}  // namespace

std::string in_child(const std::function<std::string()>& work) {
  std::fflush(nullptr);  // or the copy would write it once more
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) throw Error("bench", std::strerror(errno), "a pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    run(work, ends[1]);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 1; child > 0 && count != 0;) {
    count = ::read(ends[0], buffer.data(), buffer.size());
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  ::close(ends[0]);
  if (child < 0) throw Error("bench", std::strerror(errno), "a process for each recipe");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kThrown) throw std::runtime_error(text);
  throw Error("bench", "a process that ended before its result", "enough memory", "a smaller --batch");
}

}  // namespace halftone::cli
