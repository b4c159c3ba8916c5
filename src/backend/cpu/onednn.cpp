// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/onednn.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cassert>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/cpu/precision.h"
#include "backend/cpu/tile.h"
#include "halftone/backend.h"
#include "halftone/profile.h"

namespace halftone::cpu {
namespace {

// oneDNN asks OpenMP how many threads there are, both when a primitive is made and when it runs.
class SingleThread {
 public:
  SingleThread() : outside_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThread() { omp_set_num_threads(outside_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int outside_;
};

struct KeyHash {
  std::size_t operator()(const PrimitiveKey& key) const {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const std::int64_t word : key) hash = (hash ^ static_cast<std::uint64_t>(word)) * 0x100000001b3;
    return hash ^ (hash >> 32);
  }
};

struct Cache {
  std::shared_mutex mutex;
  std::unordered_map<PrimitiveKey, std::shared_ptr<const CompiledPrimitive>, KeyHash> primitives;
};

// A program that never stops changing its shapes must not grow without end.
constexpr std::size_t kMaxPrimitives = 1024;

// Never destroyed: threads may still multiply while static objects go.
Cache& cache() {
  static Cache& instance = *new Cache;
  return instance;
}

// Scratch memory of one thread, kept between calls.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  void* reserve(std::size_t bytes) {
    if (bytes > bytes_) {
      release();
      data_ = ::operator new(bytes, kAlignment);
      bytes_ = bytes;
    }
    return data_;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  void release() {
    if (data_) ::operator delete(data_, kAlignment);
    data_ = nullptr;
    bytes_ = 0;
  }
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// oneDNN's handles of a primitive's arguments, and of its scratch memory if it wants any. Making them costs
// more than a small product, so a thread keeps them; only the addresses change from call to call.
struct Prepared {
  std::vector<dnnl::memory> memories;
};
constexpr std::size_t kMaxArguments = 8;

const Prepared& prepare(const CompiledPrimitive& compiled) {
  thread_local std::unordered_map<std::uint64_t, Prepared> kept;
  if (const auto found = kept.find(compiled.id); found != kept.end()) return found->second;
  if (kept.size() >= kMaxPrimitives) kept.clear();
  Prepared prepared;
  for (const auto& [number, layout] : compiled.arguments)
    prepared.memories.emplace_back(layout, onednn_engine(), nullptr);
  if (compiled.scratchpad.get_size() != 0)
    prepared.memories.emplace_back(compiled.scratchpad, onednn_engine(), nullptr);
  assert(prepared.memories.size() <= kMaxArguments);
  return kept.emplace(compiled.id, std::move(prepared)).first->second;
}

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> made = 0;
  return ++made;
}

// What a failure of oneDNN is to those who call halftone.
[[noreturn]] void rethrow(const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
  const std::string given = std::string("oneDNN: ") + error.what();
  constexpr std::string_view kInstead = "the backend \"reference\"";
  if (error.status == dnnl_runtime_error) throw Error("cpu", given, "oneDNN to work", kInstead);
  throw Unsupported("cpu", given, "a shape that oneDNN implements", kInstead);
}

// Every value of the format is a bfloat16, and none a subnormal one, which the processor would read as zero.
bool fits_bfloat16(const Format& format) {
  const Format& wide = bfloat16.format();
  if (detail::is_integer(format)) return format.mantissa_bits <= wide.precision();
  return format.same_codes(wide) ||
         (format.mantissa_bits <= wide.mantissa_bits && max_finite(format) <= max_finite(wide) &&
          min_subnormal(format) >= min_normal(wide));
}

}  // namespace

const dnnl::engine& onednn_engine() {
  static const dnnl::engine& engine = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

bool has_bfloat16_products() {
  static const bool has = [] {
    switch (dnnl::get_effective_cpu_isa()) {
      case dnnl::cpu_isa::avx512_core_bf16:
      case dnnl::cpu_isa::avx512_core_amx:
        return true;
      default:
        return false;
    }
  }();
  return has;
}

DType product_format(DType a, DType b) {
  const bool narrow = has_bfloat16_products() && fits_bfloat16(a.format()) && fits_bfloat16(b.format());
  return narrow ? bfloat16 : float32;
}

Tensor decoded(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const profile::Scope scope("decode operand", profile::Class::cast);
  Shape shape = x.shape(), strides = x.strides();
  const bool transposed = x.rank() >= 2 && strides[-2] == 1 && strides[-1] != 1;
  if (transposed) {
    std::swap(shape[-1], shape[-2]);
    std::swap(strides[-1], strides[-2]);
  }
  Tensor copy(shape, dtype);
  find_backend("cpu").copy(transposed ? x.view(shape, strides, x.offset()) : x, copy);
  if (!transposed) return copy;
  Shape order = copy.strides();
  std::swap(order[-1], order[-2]);
  return copy.view(x.shape(), order, 0);
}

void decode_values(DType dtype, const void* codes, DType format, void* values, std::int64_t count) {
  if (format == float32) return decode_row(dtype, codes, static_cast<float*>(values), count);
  constexpr std::int64_t kPiece = 1024;
  float piece[kPiece];
  for (std::int64_t begin = 0; begin < count; begin += kPiece) {
    const std::int64_t size = std::min(kPiece, count - begin);
    decode_row(dtype, advance(codes, dtype, begin), piece, size);
    encode_row(format, piece, advance(values, format, begin), size);
  }
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  const profile::Scope scope("copy operand", profile::Class::layout);
  Tensor copy(x.shape(), x.dtype());
  find_backend("cpu").copy(x, copy);
  return copy;
}

std::size_t CompiledPrimitive::place(int argument) const {
  const auto found =
      std::find_if(arguments.begin(), arguments.end(), [&](const auto& a) { return a.first == argument; });
  assert(found != arguments.end());
  return static_cast<std::size_t>(found - arguments.begin());
}

dnnl::primitive_attr primitive_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  return attributes;
}

std::shared_ptr<const CompiledPrimitive> cached_primitive(const PrimitiveKey& key,
                                                          const std::function<CompiledPrimitive()>& make) {
  Cache& c = cache();
  {
    const std::shared_lock lock(c.mutex);
    const auto found = c.primitives.find(key);
    if (found != c.primitives.end()) return found->second;
  }
  const SingleThread single;
  try {
    CompiledPrimitive primitive = make();
    primitive.id = next_id();
    auto made = std::make_shared<const CompiledPrimitive>(std::move(primitive));
    const std::unique_lock lock(c.mutex);
    if (c.primitives.size() >= kMaxPrimitives)
      c.primitives.clear();  // those running are held by their callers
    return c.primitives.insert_or_assign(key, std::move(made)).first->second;
  } catch (const dnnl::error& error) {
    rethrow(error);
  }
}

void forget_primitives() {
  const std::unique_lock lock(cache().mutex);
  cache().primitives.clear();
}

void execute(const CompiledPrimitive& compiled, std::initializer_list<Argument> arguments) try {
  thread_local Scratch scratch;
  thread_local dnnl::stream stream(onednn_engine());
  const SingleThread single;
  const Prepared& prepared = prepare(compiled);
  std::array<dnnl_exec_arg_t, kMaxArguments> given;
  int count = 0;
  const auto give = [&](std::size_t slot, int number, const void* data) {
    const dnnl::memory& memory = prepared.memories[slot];
    // oneDNN takes addresses it only reads as mutable ones, too.
    dnnl::error::wrap_c_api(dnnl_memory_set_data_handle(memory.get(), const_cast<void*>(data)), "address");
    given[static_cast<std::size_t>(count++)] = {number, memory.get()};
  };
  for (const auto& [number, data] : arguments) give(compiled.place(number), number, data);
  if (prepared.memories.size() > compiled.arguments.size())
    give(compiled.arguments.size(), DNNL_ARG_SCRATCHPAD, scratch.reserve(compiled.scratchpad.get_size()));
  dnnl::error::wrap_c_api(dnnl_primitive_execute(compiled.primitive.get(), stream.get(), count, given.data()),
                          "execution");
} catch (const dnnl::error& error) {
  rethrow(error);
}

void reorder(PrimitiveKey key, const dnnl::memory::desc& from, const void* source,
             const dnnl::memory::desc& to, void* target) {
  key[0] += static_cast<std::int64_t>(PrimitiveKind::reorder) << 8;
  const auto compiled = cached_primitive(key, [&] {
    const dnnl::reorder::primitive_desc description(onednn_engine(), from, onednn_engine(), to,
                                                    primitive_attributes());
    return CompiledPrimitive{dnnl::reorder(description),
                             {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                             description.scratchpad_desc()};
  });
  execute(*compiled, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
}

}  // namespace halftone::cpu
