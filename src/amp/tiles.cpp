// SPDX-License-Identifier: Apache-2.0
//
// An update goes over a parameter tile by tile. The rule works on float32 weights (the parameter itself, its
// master, or values decoded from a narrow one) and float32 state. While a tile is in the cache, everything
// that follows from it is written too: the state in its own format, the narrow parameter, and the narrow
// copies that autocast made of it, so that the next forward pass casts no weight.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "amp/gradients.h"
#include "amp/optimizer_parts.h"
#include "halftone/parallel.h"
#include "halftone/profile.h"
#include "halftone/random.h"

namespace halftone::amp {
namespace {

constexpr std::int64_t kChunk = 8 * Tile::kSize;  // of a thread

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

// The bytes of a tensor from element `begin` on, without counting as a write.
std::byte* bytes_at(const Tensor& tensor, std::int64_t begin) {
  return tensor.storage()->data + (tensor.offset() + begin) * tensor.dtype().bytes();
}

// What is finite in float32 may be beyond the format, and an infinite moment would never decay. A NaN stays.
void saturate(float* values, std::int64_t count, const Format& format) {
  const auto limit = static_cast<float>(std::min(max_finite(format), max_finite(float32.format())));
  for (std::int64_t i = 0; i < count; ++i) {
    const float low = values[i] < -limit ? -limit : values[i];
    values[i] = low > limit ? limit : low;
  }
}

template <class Body>
void for_each_tile(std::int64_t count, const Body& body) {
  parallel_for(count, kChunk, [&](std::int64_t chunk_begin, std::int64_t chunk_end) {
    for (std::int64_t begin = chunk_begin; begin < chunk_end; begin += Tile::kSize)
      body(begin, std::min(Tile::kSize, chunk_end - begin));
  });
}

}  // namespace

struct Optimizer::Buffers {
  using Values = std::array<float, Tile::kSize>;
  Values weights;
  std::array<Values, Tile::kMaxState> state;
};

Tile Optimizer::load_tile(std::size_t index, std::int64_t begin, std::int64_t count, Buffers& buffers) const {
  Tile tile{begin, count, nullptr, nullptr, 1, {}};
  if (masters_[index].defined()) {
    tile.weights = reinterpret_cast<float*>(bytes_at(masters_[index], begin));
  } else {
    tile.weights = buffers.weights.data();
    narrow_[index]->load(begin, count, tile.weights);
  }
  for (std::size_t slot = 0; slot < Tile::kMaxState; ++slot) {
    const Tensor& tensor = state_[index][slot];
    if (!tensor) continue;
    std::byte* stored = bytes_at(tensor, elementwise(index, slot) ? begin : 0);
    tile.state[slot] =
        tensor.dtype() == float32 ? reinterpret_cast<float*>(stored) : buffers.state[slot].data();
    if (tensor.dtype() != float32) decode_row(tensor.dtype(), stored, tile.state[slot], count);
  }
  return tile;
}

void Optimizer::store_state(std::size_t index, const Tile& tile, RandomWords random) const {
  for (std::size_t slot = 0; slot < Tile::kMaxState; ++slot) {
    const Tensor& tensor = state_[index][slot];
    if (!tensor || tensor.dtype() == float32) continue;
    saturate(tile.state[slot], tile.count, tensor.dtype().format());
    random.stream = streams::moments + index * Tile::kMaxState + slot;
    encode_row(tensor.dtype(), tile.state[slot], bytes_at(tensor, tile.begin), tile.count,
               stochastic_conversion(tensor.dtype()), random);
  }
}

void Optimizer::read_tiles(std::size_t index, const Tensor& gradient, float gradient_scale,
                           const std::function<void(const Tile&)>& read) const {
  const float* gradients = gradient.data<float>();
  for_each_tile(gradient.count(), [&](std::int64_t begin, std::int64_t count) {
    Buffers buffers;
    Tile tile = load_tile(index, begin, count, buffers);
    tile.gradient = gradients + begin;
    tile.gradient_scale = gradient_scale;
    read(tile);
  });
}

// Written again at every call until the next update, and not counted as a write: a state that is loaded after
// the parameters still is what has been written last.
void Optimizer::follow_write(std::size_t index) const {
  const Tensor& parameter = parameters_[index].value;
  const Versions before = versions_[index], now = versions(index);
  if (now.parameter == before.parameter || now.beside != before.beside) return;
  const Tensor kept = beside(index);
  if (!kept || parameter.bytes() != parameter.storage()->bytes) return;
  const DType dtype = parameter.dtype();
  for_each_tile(parameter.count(), [&](std::int64_t begin, std::int64_t count) {
    std::byte* const values = bytes_at(kept, begin);
    if (narrow_[index]) {
      std::memset(values, 0, static_cast<std::size_t>(count * kept.dtype().bytes()));
      return;
    }
    auto* master = reinterpret_cast<float*>(values);
    std::array<std::byte, sizeof(float) * Tile::kSize> codes;
    Buffers::Values rounded, found;
    encode_row(dtype, master, codes.data(), count);
    decode_row(dtype, codes.data(), rounded.data(), count);
    decode_row(dtype, bytes_at(parameter, begin), found.data(), count);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      if (std::bit_cast<std::uint32_t>(rounded[i]) != std::bit_cast<std::uint32_t>(found[i]))
        master[i] = found[i];
  });
}

void Optimizer::update(std::size_t index, float gradient_scale) {
  const profile::Scope scope("update", profile::Class::optimizer);
  const Tensor& parameter = parameters_[index].value;
  const Tensor gradient = gradient_of(parameters_[index]);
  if (!gradient.defined()) return;
  follow_write(index);
  prepare(index, gradient, gradient_scale);

  const float* gradients = gradient.data<float>();
  const DType dtype = parameter.dtype();
  const Narrow* narrow = narrow_[index].get();  // null: there is a float32 master
  const std::vector<NarrowCopy> copies = claim_copies(parameter);
  // One write of each tensor, however many threads do it.
  parameter.raw_mutable();
  if (const Tensor kept = beside(index)) kept.raw_mutable();
  for (const Tensor& tensor : state_[index])
    if (tensor) tensor.raw_mutable();
  // Every element of every step has its own random number, whichever thread takes it. Those of another
  // optimizer are the same.
  const RandomWords random{
      thread_state().seed, streams::rounding + index,
      static_cast<std::uint64_t>(steps_) * static_cast<std::uint64_t>(parameter.count())};

  for_each_tile(parameter.count(), [&](std::int64_t begin, std::int64_t count) {
    Buffers buffers;
    Tile tile = load_tile(index, begin, count, buffers);
    tile.gradient = gradients + begin;
    tile.gradient_scale = gradient_scale;
    rule(index, tile);

    RandomWords here = random;
    here.first += static_cast<std::uint64_t>(begin);
    std::byte* codes = bytes_at(parameter, begin);
    store_state(index, tile, here);
    if (narrow)
      narrow->store(begin, count, tile.weights, here);
    else if (dtype != float32)
      encode_row(dtype, tile.weights, codes, count);
    const float* values = tile.weights;
    if (dtype != float32 && !copies.empty()) {  // a copy is a cast of what the parameter holds, rounded
      decode_row(dtype, codes, buffers.weights.data(), count);
      values = buffers.weights.data();
    }
    for (const NarrowCopy& copy : copies)
      encode_row(copy.dtype, values, copy.codes + begin * copy.dtype.bytes(), count);
  });
  versions_[index] = versions(index);
}

}  // namespace halftone::amp
