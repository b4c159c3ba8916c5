// SPDX-License-Identifier: Apache-2.0
//
// Pooling over square windows that do not overlap. Work goes by bands: one row of results and the `size` rows
// of the image it is made of, which lie together in memory. Channels are innermost, so every loop is over
// channels.
#include <algorithm>
#include <any>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/onednn.h"
#include "backend/kernel_options.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

// A band: `pixels` results of `channels` each, from `size` rows of pixels * size * channels.
struct Bands {
  std::int64_t count, pixels, channels, size;

  Bands(const KernelCall& call, const Tensor& pooled) {
    size = std::any_cast<const PoolOptions&>(call.options).size;
    count = pooled.size(0) * pooled.size(1);
    pixels = pooled.size(2);
    channels = pooled.size(3);
  }
  std::int64_t pooled() const { return pixels * channels; }
  std::int64_t image() const { return pooled() * size * size; }

  // body(band) for all bands, each chunk of them with its own `tiles` of floats for one image band and one
  // pooled band.
  template <class Body>
  void run(const Body& body) const {
    if (pooled() == 0) return;
    parallel_for(count, std::max<std::int64_t>(1, 32768 / image()),
                 [&](std::int64_t begin, std::int64_t end) {
                   std::vector<float> image_tile(static_cast<std::size_t>(image())),
                       tile(static_cast<std::size_t>(pooled()));
                   for (std::int64_t band = begin; band < end; ++band)
                     body(band, image_tile.data(), tile.data());
                 });
  }
};

// The arguments of a loop over one band.
struct Band {
  std::int64_t pixels, channels, size;

  // body(offset of the window's first element in the image, of the result, channels as a constant)
  template <class Body>
  [[gnu::always_inline]] void for_each_block(const Body& body) const {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t window = pixel * size * channels, result = pixel * channels;
      std::int64_t c = 0;
      for (; c + 32 <= channels; c += 32) body(window + c, result + c, std::integral_constant<int, 32>{});
      for (; c + 16 <= channels; c += 16) body(window + c, result + c, std::integral_constant<int, 16>{});
      for (; c < channels; ++c) body(window + c, result + c, std::integral_constant<int, 1>{});
    }
  }
  // body(index within the window, offset from the window's first element), row by row.
  template <class Body>
  [[gnu::always_inline]] void for_each_place(const Body& body) const {
    for (std::int32_t i = 0, index = 0; i < size; ++i)
      for (std::int64_t j = 0; j < size; ++j, ++index) body(index, (i * pixels * size + j) * channels);
  }
};

template <class X, class Y>
struct MaxForward {
  static void run(Band band, const typename X::Code* __restrict x, typename Y::Code* __restrict y,
                  std::uint8_t* __restrict argmax) {
    band.for_each_block([&](std::int64_t window, std::int64_t result, auto block) {
      constexpr int kBlock = decltype(block)::value;
      float best[kBlock];
      std::int32_t chosen[kBlock] = {};
      for (int c = 0; c < kBlock; ++c) best[c] = X::load(x[window + c]);
      band.for_each_place([&](std::int32_t index, std::int64_t place) {
        for (int c = 0; c < kBlock; ++c) {
          const float value = X::load(x[window + place + c]);
          const bool wins = !(value <= best[c]) & (best[c] == best[c]);
          best[c] = wins ? value : best[c];
          chosen[c] = wins ? index : chosen[c];
        }
      });
      for (int c = 0; c < kBlock; ++c) y[result + c] = Y::store(best[c]);
      for (int c = 0; c < kBlock; ++c) argmax[result + c] = static_cast<std::uint8_t>(chosen[c]);
    });
  }
};

// Moves codes, so it serves every format of that size: the code of zero is 0.
template <class Code>
struct MaxBackward {
  static void run(Band band, const Code* __restrict dy, const std::uint8_t* __restrict argmax,
                  Code* __restrict dx) {
    band.for_each_block([&](std::int64_t window, std::int64_t result, auto block) {
      constexpr int kBlock = decltype(block)::value;
      Code gradient[kBlock], chosen[kBlock];
      for (int c = 0; c < kBlock; ++c) gradient[c] = dy[result + c];
      for (int c = 0; c < kBlock; ++c) chosen[c] = argmax[result + c];
      band.for_each_place([&](std::int32_t index, std::int64_t place) {
        const auto wanted = static_cast<Code>(index);
        for (int c = 0; c < kBlock; ++c) dx[window + place + c] = chosen[c] == wanted ? gradient[c] : Code{0};
      });
    });
  }
};

template <class X, class Y>
struct AvgForward {
  static void run(Band band, const typename X::Code* __restrict x, typename Y::Code* __restrict y) {
    const float places = static_cast<float>(band.size * band.size);
    band.for_each_block([&](std::int64_t window, std::int64_t result, auto block) {
      constexpr int kBlock = decltype(block)::value;
      float sum[kBlock] = {};
      band.for_each_place([&](std::int32_t, std::int64_t place) {
        for (int c = 0; c < kBlock; ++c) sum[c] += X::load(x[window + place + c]);
      });
      for (int c = 0; c < kBlock; ++c) y[result + c] = Y::store(sum[c] / places);
    });
  }
};

template <class G, class D>
struct AvgBackward {
  static void run(Band band, const typename G::Code* __restrict dy, typename D::Code* __restrict dx) {
    const float places = static_cast<float>(band.size * band.size);
    band.for_each_block([&](std::int64_t window, std::int64_t result, auto block) {
      constexpr int kBlock = decltype(block)::value;
      typename D::Code share[kBlock];
      for (int c = 0; c < kBlock; ++c) share[c] = D::store(G::load(dy[result + c]) / places);
      band.for_each_place([&](std::int32_t, std::int64_t place) {
        for (int c = 0; c < kBlock; ++c) dx[window + place + c] = share[c];
      });
    });
  }
};

// From one tensor to the other, band by band: Loop<lane, lane>::run(band, from, to, rest(number of the
// band)...).
template <template <class, class> class Loop, class... Rest>
void in_lanes(const Bands& bands, const Tensor& in, std::int64_t in_band, const Tensor& out,
              std::int64_t out_band, const Rest&... rest) {
  const Source from(in);
  const Target to(out);
  bands.run([&](std::int64_t band, float* image_tile, float* tile) {
    float* in_tile = in_band > out_band ? image_tile : tile;
    float* out_tile = in_band > out_band ? tile : image_tile;
    const void* codes = from.read(band * in_band, in_band, in_tile);
    void* results = to.open(band * out_band, out_tile);
    with_lane(from.narrow(), [&](auto from_lane) {
      with_lane(to.narrow(), [&](auto to_lane) {
        using X = decltype(from_lane);
        using Y = decltype(to_lane);
        at_simd_level<Loop<X, Y>>(Band{bands.pixels, bands.channels, bands.size},
                                  static_cast<const typename X::Code*>(codes),
                                  static_cast<typename Y::Code*>(results), rest(band)...);
      });
    });
    to.write(band * out_band, out_band, out_tile);
  });
}

template <class Code>
void move_gradients(const Bands& bands, const Tensor& dy, const std::uint8_t* argmax, const Tensor& dx) {
  const auto* from = static_cast<const Code*>(dy.raw());
  auto* to = static_cast<Code*>(dx.raw_mutable());
  bands.run([&](std::int64_t band, float*, float*) {
    at_simd_level<MaxBackward<Code>>(Band{bands.pixels, bands.channels, bands.size},
                                     from + band * bands.pooled(), argmax + band * bands.pooled(),
                                     to + band * bands.image());
  });
}

}  // namespace

void max_pool2d_forward(const KernelCall& call) {
  const Tensor x = contiguous(call.in[0]);
  Tensor argmax = call.out[1];
  const Bands bands(call, argmax);
  auto* const indices = argmax.mutable_data<std::uint8_t>();
  in_lanes<MaxForward>(bands, x, bands.image(), call.out[0], bands.pooled(),
                       [&](std::int64_t band) { return indices + band * bands.pooled(); });
}

void max_pool2d_backward(const KernelCall& call) {
  const Tensor argmax = contiguous(call.in[1]);
  const Tensor &out = call.out[0], dy = contiguous(decoded(call.in[0], out.dtype()));
  const Bands bands(call, argmax);
  const auto* const indices = argmax.data<std::uint8_t>();
  switch (out.dtype().bytes()) {
    case 1:
      return move_gradients<std::uint8_t>(bands, dy, indices, out);
    case 2:
      return move_gradients<std::uint16_t>(bands, dy, indices, out);
    case 4:
      return move_gradients<std::uint32_t>(bands, dy, indices, out);
    default:
      return move_gradients<std::uint64_t>(bands, dy, indices, out);
  }
}

void avg_pool2d_forward(const KernelCall& call) {
  const Bands bands(call, call.out[0]);
  in_lanes<AvgForward>(bands, contiguous(call.in[0]), bands.image(), call.out[0], bands.pooled());
}

void avg_pool2d_backward(const KernelCall& call) {
  const Tensor dy = contiguous(call.in[0]);
  const Bands bands(call, dy);
  in_lanes<AvgBackward>(bands, dy, bands.pooled(), call.out[0], bands.image());
}

}  // namespace halftone::cpu
