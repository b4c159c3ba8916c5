#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Shared by ./run, ./test and .ci/run: installs the Debian packages that are missing (nothing is done twice) and
# builds a preset. Without root it uses sudo; without either, or offline, it names what is missing.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache      # toolchain; ccache makes a second build quick
  libdnnl-dev libhwy-dev            # oneDNN: matmul and convolution; Highway: portable SIMD
  ocl-icd-opencl-dev                # Debian's oneDNN is built for OpenCL too, and its CMake files ask for the headers
  libfmt-dev libcli11-dev           # text formatting; the command line
  libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev  # configuration, records, compressed data
  libmpfr-dev                       # decimal text rounded once, from its digits; in tests every rounding's oracle
  libpcre2-dev                      # regular expressions with Unicode classes, for tokenizers
  libgtest-dev libgmock-dev         # tests
  dataset-fashion-mnist             # 60,000 + 10,000 real images
  bible-kjv                         # 4.4 MB of real text
)

say() { printf 'halftone: %s\n' "$*" >&2; }

missing_packages() {
  local status
  for package in "$@"; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || true)
    [[ $status == "install ok installed" ]] || echo "$package"
  done
}

install_packages() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [[ ${#missing[@]} -eq 0 ]] && return
  if [[ $(id -u) -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "these packages are missing and there is no root or sudo to install them: ${missing[*]}"
      say "try, as root: apt-get install ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}" ||
         { "${as_root[@]}" apt-get update &&
           DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; }; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    say "could not install ${missing[*]}; expected a Debian mirror that apt can reach; the whole log is $log"
    return 1
  fi
  rm -f "$log"
}

# build PRESET [TARGET...]: configures once and brings the targets up to date. Quiet unless it fails.
build() {
  local preset=$1 log
  shift
  log=build/$preset/build.log
  mkdir -p "build/$preset"
  if [[ ! -f build/$preset/build.ninja ]]; then
    say "configuring build/$preset"
    if ! cmake --preset "$preset" >"$log" 2>&1; then tail -n 20 "$log" >&2; return 1; fi
  fi
  [[ -f build/$preset/.built ]] || say "building build/$preset (a few minutes the first time)"
  if ! cmake --build "build/$preset" ${1:+--target "$@"} >"$log" 2>&1; then
    grep -E 'error|FAILED|undefined' "$log" | head -n 20 >&2 || true
    say "the build failed; the whole log is $log"
    return 1
  fi
  touch "build/$preset/.built"
}
