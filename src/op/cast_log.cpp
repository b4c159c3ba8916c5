// SPDX-License-Identifier: Apache-2.0
#include "halftone/casting.h"

namespace halftone {
namespace {

thread_local CastLog* innermost = nullptr;

}  // namespace

CastLog::CastLog() : outer_(innermost) { innermost = this; }
CastLog::~CastLog() { innermost = outer_; }

bool CastLog::active() { return innermost != nullptr; }

void CastLog::add(const CastRecord& record) {
  for (CastLog* log = innermost; log != nullptr; log = log->outer_) log->records_.push_back(record);
}

}  // namespace halftone
