// SPDX-License-Identifier: Apache-2.0
//
// Who owns which copy of a weight. The rule works on float32 weights: the parameter itself, its float32
// master, or a tile decoded from the narrow parameter (narrow_weights.h). While a tile is in the cache,
// everything derived from it is written too: the narrow parameter and the narrow copies that autocast made of
// it, so that the next forward pass casts no weight.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

#include "amp/gradients.h"
#include "amp/narrow_weights.h"
#include "halftone/amp.h"
#include "halftone/parallel.h"
#include "halftone/random.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 8192;  // of a thread
constexpr std::int64_t kTile = 1024;   // stays in the first-level cache with gradient and moments

Tensor widened(const Tensor& narrow) {
  Tensor master(narrow.shape(), float32);
  decode_row(narrow.dtype(), narrow.raw(), master.mutable_data<float>(), narrow.count());
  return master;
}

// A copy that autocast made of the storage, and where the parameter lies in it.
struct NarrowCopy {
  DType dtype;
  std::byte* codes;
};

// The copies that are up to date and will be kept so; stale ones are dropped.
std::vector<NarrowCopy> claim_copies(const Tensor& parameter) {
  Storage& storage = *parameter.storage();
  std::erase_if(storage.casts,
                [&](const Storage::CachedCast& cast) { return cast.version != storage.version; });
  std::vector<NarrowCopy> copies;
  for (Storage::CachedCast& cast : storage.casts) {
    cast.version = storage.version + 1;  // the version that this step's write makes
    ++cast.copy->version;
    copies.push_back({cast.dtype, cast.copy->data + parameter.offset() * cast.dtype.bytes()});
  }
  return copies;
}

}  // namespace

struct Optimizer::Narrow : NarrowWeights {
  using NarrowWeights::NarrowWeights;
};

Optimizer::Optimizer(std::vector<Parameter> parameters, MasterWeights master)
    : parameters_(std::move(parameters)) {
  if (parameters_.empty()) throw ValueError("optimizer", "no parameters", "at least one");
  std::unordered_set<const void*> seen;
  for (const Parameter& parameter : parameters_) {
    const Tensor& value = parameter.value;
    if (!value.defined() || !value.requires_grad())
      throw ValueError("optimizer", fmt::format("'{}', which does not require a gradient", parameter.name),
                       "trainable tensors");
    if (value.dtype().bytes() > 4 || !value.dtype().is_floating())
      throw DTypeError("optimizer", fmt::format("'{}' in {}", parameter.name, value.dtype().name()),
                       "float32 or a narrower floating-point format");
    if (!value.is_contiguous())
      throw ShapeError("optimizer", fmt::format("'{}' with strides", parameter.name), "a contiguous tensor");
    if (!seen.insert(value.raw()).second)
      throw ValueError("optimizer", fmt::format("'{}' twice", parameter.name), "each parameter once");
    if (value.dtype() != float32 && master == MasterWeights::is_parameter)
      throw DTypeError("optimizer", fmt::format("'{}' in {}", parameter.name, value.dtype().name()),
                       "float32, because the parameter is to be its own master",
                       "MasterWeights::float32_copy keeps a float32 master of it");
    set_name(value, parameter.name);
    masters_.push_back(value.dtype() == float32                ? value
                       : master == MasterWeights::float32_copy ? widened(value)
                                                               : Tensor());
    const bool is_narrow = !masters_.back().defined();
    narrow_.push_back(is_narrow ? std::make_unique<Narrow>(parameter, master) : nullptr);
  }
  for (const Parameter& parameter : parameters_) parameter.value.storage()->keep_casts = true;
}

Optimizer::~Optimizer() {
  for (const Parameter& parameter : parameters_) {
    parameter.value.storage()->keep_casts = false;
    parameter.value.storage()->casts.clear();
  }
}

void Optimizer::zero_grad() {
  for (Parameter& parameter : parameters_) parameter.value.zero_grad();
}

void Optimizer::step(float gradient_scale) {
  bool any = false;
  for (const Parameter& parameter : parameters_) any |= gradient_of(parameter).defined();
  if (!any) return;
  ++steps_;
  begin_step();
  for (std::size_t i = 0; i < parameters_.size(); ++i) update(i, gradient_scale);
}

void Optimizer::update(std::size_t index, float gradient_scale) {
  Tensor& parameter = parameters_[index].value;
  const Tensor gradient = gradient_of(parameters_[index]);
  if (!gradient.defined()) return;
  const float* gradients = gradient.data<float>();
  const DType dtype = parameter.dtype();
  const bool is_narrow = dtype != float32;
  const bool has_master = masters_[index].defined();

  const std::vector<NarrowCopy> copies = claim_copies(parameter);
  std::byte* stored = static_cast<std::byte*>(parameter.raw_mutable());
  const Narrow* narrow = narrow_[index].get();
  if (narrow != nullptr && narrow->extra()) narrow->extra().raw_mutable();  // one write, however many threads
  float* weights = !has_master ? nullptr
                   : is_narrow ? masters_[index].mutable_data<float>()
                               : reinterpret_cast<float*>(stored);
  // Every element of every step has its own random number, whichever thread takes it.
  const RandomWords random{
      thread_state().seed, streams::rounding + index,
      static_cast<std::uint64_t>(steps_) * static_cast<std::uint64_t>(parameter.count())};

  parallel_for(parameter.count(), kChunk, [&](std::int64_t chunk_begin, std::int64_t chunk_end) {
    std::array<float, kTile> tile;
    for (std::int64_t begin = chunk_begin; begin < chunk_end; begin += kTile) {
      const std::int64_t count = std::min(kTile, chunk_end - begin);
      std::byte* codes = stored + begin * dtype.bytes();
      float* values = has_master ? weights + begin : tile.data();
      if (!has_master) narrow->load(begin, count, values);
      rule(index, begin, count, values, gradients + begin, gradient_scale);
      if (!has_master) {
        RandomWords here = random;
        here.first += static_cast<std::uint64_t>(begin);
        narrow->store(begin, count, values, here);
      } else if (is_narrow) {
        encode_row(dtype, values, codes, count);
      }
      if (is_narrow && !copies.empty()) {  // a copy is a cast of what the parameter holds, rounded already
        decode_row(dtype, codes, tile.data(), count);
        values = tile.data();
      }
      for (const NarrowCopy& copy : copies)
        encode_row(copy.dtype, values, copy.codes + begin * copy.dtype.bytes(), count);
    }
  });
}

std::vector<Parameter> Optimizer::state() const {
  std::vector<Parameter> state;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (masters_[i].defined() && parameters_[i].value.dtype() != float32)
      state.push_back({"master." + parameters_[i].name, masters_[i]});
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (narrow_[i] && narrow_[i]->extra())
      state.push_back(
          {fmt::format("{}.{}", narrow_[i]->extra_name(), parameters_[i].name), narrow_[i]->extra()});
  for (Parameter& entry : rule_state()) state.push_back(std::move(entry));
  return state;
}

}  // namespace halftone::amp
