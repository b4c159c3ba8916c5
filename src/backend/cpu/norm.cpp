// SPDX-License-Identifier: Apache-2.0
//
// layer_norm and rms_norm, row by row in the first-level cache. Sums are float32, in lanes; the variance is
// taken of differences from the mean of these sums and corrected by their own mean, so that a mean far from
// zero costs no digits. A row whose sums leave the range of float32 is summed again in double. The gradients
// of weight and bias are added up in float32 over at most kBlock rows, then in double over a chunk, and the
// chunks in order.
#include <algorithm>
#include <any>
#include <cmath>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/onednn.h"
#include "backend/kernel_options.h"
#include "halftone/parallel.h"

namespace halftone::cpu {
namespace {

constexpr int kLanes = 32;
constexpr std::int64_t kBlock = 64;

// term(i) for i in [0, count), added up in kLanes lanes that are then folded.
template <class Term>
[[gnu::always_inline]] inline float lane_sum(std::int64_t count, const Term& term) {
  float lanes[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += term(i + l);
  for (int l = 0; i + l < count; ++l) lanes[l] += term(i + l);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  return lanes[0];
}

// Two sums at once.
template <class Terms>
[[gnu::always_inline]] inline void lane_sums(std::int64_t count, const Terms& terms, float* first,
                                             float* second) {
  float a[kLanes] = {}, b[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int l = 0; l < kLanes; ++l) terms(i + l, a[l], b[l]);
  for (int l = 0; i + l < count; ++l) terms(i + l, a[l], b[l]);
  for (int half = kLanes / 2; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) a[l] += a[l + half], b[l] += b[l + half];
  *first = a[0], *second = b[0];
}

// The mean as a float and what is missing from it.
struct Moments {
  float mean = 0, rest = 0, inverse = 0;
};

template <bool kCentred, class X>
[[gnu::always_inline]] inline Moments moments(const typename X::Code* x, std::int64_t width, double epsilon) {
  const auto n = static_cast<double>(width);
  double mean = 0, variance = 0;
  const float sum = kCentred ? lane_sum(width, [&](std::int64_t i) { return X::load(x[i]); }) : 0;
  const float about = sum / static_cast<float>(width);
  float differences, squares;
  lane_sums(
      width,
      [&](std::int64_t i, float& a, float& b) {
        const float d = X::load(x[i]) - about;
        a += d;
        b += d * d;
      },
      &differences, &squares);
  mean = kCentred ? double{about} + double{differences} / n : 0;
  variance = double{squares} / n - (kCentred ? double{differences} / n * (double{differences} / n) : 0);
  // Squares that underflowed matter only if nothing larger stands beside them.
  if (!(std::abs(sum) < 1e37f && squares < 1e37f && variance >= 0 && variance + epsilon > 1e-25)) {
    mean = variance = 0;
    if (kCentred)
      for (std::int64_t i = 0; i < width; ++i) mean += double{X::load(x[i])} / n;
    for (std::int64_t i = 0; i < width; ++i) {
      const double d = double{X::load(x[i])} - mean;
      variance += d * d / n;
    }
  }
  const auto rounded = static_cast<float>(mean);
  return {rounded, static_cast<float>(mean - double{rounded}),
          static_cast<float>(1 / std::sqrt(variance + epsilon))};
}

template <bool kCentred, class X, class Y>
struct Forward {
  static void run(const typename X::Code* __restrict x, typename Y::Code* __restrict y, std::int64_t rows,
                  std::int64_t width, const float* __restrict w, const float* __restrict b, double epsilon) {
    for (; rows > 0; --rows, x += width, y += width) {
      const Moments m = moments<kCentred, X>(x, width, epsilon);
      for (std::int64_t i = 0; i < width; ++i) {
        const float d = kCentred ? (X::load(x[i]) - m.mean) - m.rest : X::load(x[i]);
        y[i] = Y::store(d * m.inverse * w[i] + b[i]);
      }
    }
  }
};

// dx (+ others, if there are), and dw += dy h, db += dy.
template <bool kCentred, class X, class G, class D>
struct Backward {
  static void run(const typename X::Code* __restrict x, const typename G::Code* __restrict dy,
                  const float* __restrict others, typename D::Code* __restrict dx, std::int64_t rows,
                  std::int64_t width, const float* __restrict w, float* __restrict dw, float* __restrict db,
                  double epsilon) {
    const auto n = static_cast<double>(width);
    for (; rows > 0; --rows, x += width, dy += width, dx += width) {
      const Moments m = moments<kCentred, X>(x, width, epsilon);
      const auto normalised = [&](std::int64_t i) {
        return (kCentred ? (X::load(x[i]) - m.mean) - m.rest : X::load(x[i])) * m.inverse;
      };
      float sum, product;
      lane_sums(
          width,
          [&](std::int64_t i, float& a, float& b) {
            const float g = w[i] * G::load(dy[i]);
            a += g;
            b += g * normalised(i);
          },
          &sum, &product);
      double mean = double{sum} / n, mean_product = double{product} / n;
      if (!std::isfinite(mean) || !std::isfinite(mean_product)) {
        mean = mean_product = 0;
        for (std::int64_t i = 0; i < width; ++i) {
          const double g = double{w[i]} * double{G::load(dy[i])};
          mean += g / n;
          mean_product += g * double{normalised(i)} / n;
        }
      }
      const float g = kCentred ? static_cast<float>(mean) : 0, gh = static_cast<float>(mean_product);
      for (std::int64_t i = 0; i < width; ++i) {
        const float gradient = G::load(dy[i]), h = normalised(i);
        dw[i] += gradient * h;
        if (kCentred) db[i] += gradient;
        const float of_norm = (w[i] * gradient - g - h * gh) * m.inverse;
        dx[i] = D::store(others == nullptr ? of_norm : others[i] + of_norm);
      }
      if (others != nullptr) others += width;
    }
  }
};

// The rows, and how many at a time: a call of the loops above, and a chunk of a parallel loop.
struct Run {
  std::int64_t rows, width, block, chunk;

  explicit Run(const Tensor& x) : width(x.size(-1)) {
    rows = width == 0 ? 0 : x.count() / width;
    block = std::clamp<std::int64_t>(8192 / std::max<std::int64_t>(width, 1), 1, kBlock);
    // At most 32 chunks, each with work for some microseconds.
    const std::int64_t least =
        std::max(chunk_count(rows, 32), chunk_count(16384, std::max<std::int64_t>(width, 1)));
    chunk = round_up(std::max<std::int64_t>(least, 1), block);
  }
  std::size_t tile(bool in_place) const { return in_place ? 0 : static_cast<std::size_t>(block * width); }

  // body(first row, rows) for the blocks of [begin, end).
  template <class Body>
  void blocks(std::int64_t begin, std::int64_t end, const Body& body) const {
    for (; begin < end; begin += block) body(begin, std::min(block, end - begin));
  }
};

template <bool kCentred>
void forward(const KernelCall& call) {
  const double epsilon = std::any_cast<const NormOptions&>(call.options).epsilon;
  const Tensor x = contiguous(call.in[0]), weight = contiguous(decoded(call.in[1], float32));
  const Run run(x);
  const Tensor bias = kCentred ? contiguous(decoded(call.in[2], float32)) : Tensor();
  const std::vector<float> none(static_cast<std::size_t>(kCentred ? 0 : run.width));
  const float *w = weight.data<float>(), *b = kCentred ? bias.data<float>() : none.data();
  const Source from(x);
  const Target to(call.out[0]);
  parallel_for(run.rows, run.chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> from_tile(run.tile(from.in_place())), to_tile(run.tile(to.in_place()));
    run.blocks(begin, end, [&](std::int64_t row, std::int64_t rows) {
      const std::int64_t first = row * run.width, count = rows * run.width;
      const void* codes = from.read(first, count, from_tile.data());
      void* results = to.open(first, to_tile.data());
      with_lane(from.narrow(), [&](auto from_lane) {
        with_lane(to.narrow(), [&](auto to_lane) {
          using X = decltype(from_lane);
          using Y = decltype(to_lane);
          at_simd_level<Forward<kCentred, X, Y>>(static_cast<const typename X::Code*>(codes),
                                                 static_cast<typename Y::Code*>(results), rows, run.width, w,
                                                 b, epsilon);
        });
      });
      to.write(first, count, to_tile.data());
    });
  });
}

template <bool kCentred>
void backward(const KernelCall& call) {
  const double epsilon = std::any_cast<const NormOptions&>(call.options).epsilon;
  const Tensor x = contiguous(call.in[0]), dy = contiguous(call.in[2]),
               weight = contiguous(decoded(call.in[1], float32));
  const Run run(x);
  const float* w = weight.data<float>();
  const auto width = static_cast<std::size_t>(run.width);
  const auto chunks = static_cast<std::size_t>(chunk_count(run.rows, run.chunk));
  std::vector<double> sums(2 * width * chunks);  // of each chunk: dw, db
  const Source from(x), gradient(dy);
  const Tensor others = call.in[3].defined() ? contiguous(call.in[3]) : Tensor();
  const Target to(call.out[0]);
  parallel_for(run.rows, run.chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> from_tile(run.tile(from.in_place())), gradient_tile(run.tile(gradient.in_place())),
        to_tile(run.tile(to.in_place())), others_tile(run.tile(!others || others.dtype() == float32)),
        partial(2 * width);
    double* of_chunk = sums.data() + static_cast<std::size_t>(begin / run.chunk) * 2 * width;
    run.blocks(begin, end, [&](std::int64_t row, std::int64_t rows) {
      const std::int64_t first = row * run.width, count = rows * run.width;
      const void* codes = from.read(first, count, from_tile.data());
      const void* gradients = gradient.read(first, count, gradient_tile.data());
      const float* added = others ? Source(others).floats(first, count, others_tile.data()) : nullptr;
      void* results = to.open(first, to_tile.data());
      std::fill(partial.begin(), partial.end(), 0.0f);
      with_lane(from.narrow(), [&](auto from_lane) {
        with_lane(gradient.narrow(), [&](auto gradient_lane) {
          with_lane(to.narrow(), [&](auto to_lane) {
            using X = decltype(from_lane);
            using G = decltype(gradient_lane);
            using D = decltype(to_lane);
            at_simd_level<Backward<kCentred, X, G, D>>(
                static_cast<const typename X::Code*>(codes), static_cast<const typename G::Code*>(gradients),
                added, static_cast<typename D::Code*>(results), rows, run.width, w, partial.data(),
                partial.data() + width, epsilon);
          });
        });
      });
      to.write(first, count, to_tile.data());
      for (std::size_t i = 0; i < 2 * width; ++i) of_chunk[i] += double{partial[i]};
    });
  });
  for (std::size_t part = 0; part < (kCentred ? 2 : 1); ++part) {
    Tensor result = call.out[part + 1];
    auto* to_result = result.mutable_data<float>();
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) sum += sums[(2 * chunk + part) * width + i];
      to_result[i] = static_cast<float>(sum);
    }
  }
}

}  // namespace

void layer_norm_forward(const KernelCall& call) { forward<true>(call); }
void layer_norm_backward(const KernelCall& call) { backward<true>(call); }
void rms_norm_forward(const KernelCall& call) { forward<false>(call); }
void rms_norm_backward(const KernelCall& call) { backward<false>(call); }

}  // namespace halftone::cpu
