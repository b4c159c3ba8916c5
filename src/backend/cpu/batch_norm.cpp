// SPDX-License-Identifier: Apache-2.0
//
// Batch norm: statistics over all rows, per channel. Sums are taken of differences from the chunk's first
// row, so that a mean far from zero costs no digits; in float32 over at most 64 rows, then in double; chunks
// are combined in order by the formula of Chan, Golub and LeVeque (1983).
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

// The tensor as one long run, cut into chunks, tiles and wide rows: as many rows as make 64 channels or so,
// so that the loops are long however few channels there are. Column j of a wide row is channel j % channels.
struct Run {
  std::int64_t count, channels, width, tile, chunk;

  explicit Run(const Tensor& x) : count(x.count()), channels(x.size(-1)) {
    width = channels * std::max<std::int64_t>(1, 64 / channels);
    tile = width * std::clamp<std::int64_t>(8192 / width, 1, 64);
    chunk = tile * std::max<std::int64_t>(1, 32768 / tile);
  }
  std::int64_t rows() const { return count / channels; }
  std::size_t chunks() const { return static_cast<std::size_t>(chunk_count(count, chunk)); }

  // body(begin, count) for the tiles of [begin, end).
  template <class Body>
  void tiles(std::int64_t begin, std::int64_t end, const Body& body) const {
    for (; begin < end; begin += tile) body(begin, std::min(tile, end - begin));
  }
  // One value per channel, repeated along a wide row.
  template <class Value>
  std::vector<float> along(const Value& value) const {
    std::vector<float> row(static_cast<std::size_t>(width));
    for (std::size_t j = 0; j < row.size(); ++j)
      row[j] = static_cast<float>(value(j % static_cast<std::size_t>(channels)));
    return row;
  }
};

// body(column, columns as a constant) over all columns of a row, widest blocks first.
template <class Body>
[[gnu::always_inline]] inline void in_blocks(std::int64_t width, const Body& body) {
  std::int64_t j = 0;
  for (; j + 64 <= width; j += 64) body(j, std::integral_constant<int, 64>{});
  for (; j + 16 <= width; j += 16) body(j, std::integral_constant<int, 16>{});
  for (; j < width; ++j) body(j, std::integral_constant<int, 1>{});
}

// first[j] += sum of g, second[j] += sum of g (x - shift[j]), with g = x - shift[j] itself, or dy.
template <class X, class G>
struct Sums {
  static void run(const typename X::Code* __restrict x, const typename G::Code* __restrict dy,
                  std::int64_t count, std::int64_t width, const float* __restrict shift,
                  double* __restrict first, double* __restrict second) {
    const std::int64_t rows = count / width, tail = count % width;
    auto add = [&](std::int64_t from, std::int64_t n, std::int64_t j, auto columns) {
      constexpr int kColumns = decltype(columns)::value;
      float a[kColumns] = {}, b[kColumns] = {}, s[kColumns];
      for (int k = 0; k < kColumns; ++k) s[k] = shift[j + k];
      for (std::int64_t row = from; row < from + n; ++row) {
        const typename X::Code* at = x + row * width + j;
        const typename G::Code* gradient = dy ? dy + row * width + j : nullptr;
        if (dy) {
          for (int k = 0; k < kColumns; ++k) {
            const float g = G::load(gradient[k]);
            a[k] += g;
            b[k] += g * (X::load(at[k]) - s[k]);
          }
        } else {
          for (int k = 0; k < kColumns; ++k) {
            const float d = X::load(at[k]) - s[k];
            a[k] += d;
            b[k] += d * d;
          }
        }
      }
      for (int k = 0; k < kColumns; ++k) first[j + k] += a[k], second[j + k] += b[k];
    };
    in_blocks(width, [&](std::int64_t j, auto columns) { add(0, rows, j, columns); });
    in_blocks(tail, [&](std::int64_t j, auto columns) { add(rows, 1, j, columns); });
  }
};

// y = ((x - mean) - mean_rest) scale + bias
template <class X, class Y>
struct Normalise {
  static void run(const typename X::Code* __restrict x, typename Y::Code* __restrict y, std::int64_t count,
                  std::int64_t width, const float* __restrict mean, const float* __restrict rest,
                  const float* __restrict scale, const float* __restrict bias) {
    for (std::int64_t begin = 0; begin < count; begin += width)
      for (std::int64_t j = 0, columns = std::min(width, count - begin); j < columns; ++j)
        y[begin + j] = Y::store(((X::load(x[begin + j]) - mean[j]) - rest[j]) * scale[j] + bias[j]);
  }
};

// dx = scale ((dy - mean_dy) - (x - mean) slope)
template <class X, class G, class D>
struct Backward {
  static void run(const typename X::Code* __restrict x, const typename G::Code* __restrict dy,
                  typename D::Code* __restrict dx, std::int64_t count, std::int64_t width,
                  const float* __restrict mean, const float* __restrict scale,
                  const float* __restrict mean_dy, const float* __restrict slope) {
    for (std::int64_t begin = 0; begin < count; begin += width)
      for (std::int64_t j = 0, columns = std::min(width, count - begin); j < columns; ++j) {
        const float d = X::load(x[begin + j]) - mean[j], g = G::load(dy[begin + j]) - mean_dy[j];
        dx[begin + j] = D::store(scale[j] * (g - d * slope[j]));
      }
  }
};

// Per chunk and channel, the two sums of Sums. With dy undefined, the shift is the first row of each chunk,
// and is returned in `shifts`; otherwise it is `mean`.
struct Partial {
  std::vector<double> first, second;
  std::vector<float> shifts;
};

Partial partial_sums(const Run& run, const Tensor& x, const Tensor& dy, const float* mean) {
  const std::size_t channels = static_cast<std::size_t>(run.channels), size = run.chunks() * channels;
  Partial result{std::vector<double>(size), std::vector<double>(size), std::vector<float>(size)};
  const Source from(x);
  const Source gradient(dy.defined() ? dy : x);
  parallel_for(run.count, run.chunk, [&](std::int64_t begin, std::int64_t end) {
    const std::size_t at = static_cast<std::size_t>(begin / run.chunk) * channels,
                      width = static_cast<std::size_t>(run.width);
    float* origin = result.shifts.data() + at;
    if (mean)
      std::copy_n(mean, channels, origin);
    else
      decode_row(x.dtype(), static_cast<const std::byte*>(x.raw()) + begin * x.dtype().bytes(), origin,
                 run.channels);
    const std::vector<float> shift = run.along([&](std::size_t channel) { return origin[channel]; });
    std::vector<double> first(width), second(width);
    std::vector<float> tile(static_cast<std::size_t>(from.in_place() ? 0 : run.tile));
    std::vector<float> gradient_tile(static_cast<std::size_t>(gradient.in_place() ? 0 : run.tile));
    run.tiles(begin, end, [&](std::int64_t start, std::int64_t count) {
      const void* codes = from.read(start, count, tile.data());
      const void* gradients = dy.defined() ? gradient.read(start, count, gradient_tile.data()) : nullptr;
      with_lane(from.narrow(), [&](auto lane) {
        with_lane(gradient.narrow(), [&](auto gradient_lane) {
          using X = decltype(lane);
          using G = decltype(gradient_lane);
          at_simd_level<Sums<X, G>>(static_cast<const typename X::Code*>(codes),
                                    static_cast<const typename G::Code*>(gradients), count, run.width,
                                    shift.data(), first.data(), second.data());
        });
      });
    });
    for (std::size_t j = 0; j < width; ++j) {
      result.first[at + j % channels] += first[j];
      result.second[at + j % channels] += second[j];
    }
  });
  return result;
}

// body(values) for the elements of one channel, in order; values of `other` too, if it is defined. Stops and
// returns false at one that is not finite: that is what was wrong then, and nothing to be done about.
template <class Body>
bool each_row(const Run& run, std::size_t channel, const Tensor& x, const Tensor& other, const Body& body) {
  const auto value = [](const Tensor& t, std::int64_t i) {
    float decoded;
    decode_row(t.dtype(), static_cast<const std::byte*>(t.raw()) + i * t.dtype().bytes(), &decoded, 1);
    return double{decoded};
  };
  for (auto i = static_cast<std::int64_t>(channel); i < run.count; i += run.channels) {
    const double first = value(x, i), second = other.defined() ? value(other, i) : 0;
    if (!std::isfinite(first) || !std::isfinite(second)) return false;
    body(first, second);
  }
  return true;
}

struct Statistics {
  std::vector<double> mean, variance;
};

Statistics statistics_of(const Run& run, const Tensor& x) {
  const Partial partial = partial_sums(run, x, {}, nullptr);
  const auto channels = static_cast<std::size_t>(run.channels);
  Statistics s{std::vector<double>(channels), std::vector<double>(channels)};
  double before = 0;  // rows so far; s.variance holds the sum of squares about the mean of those
  for (std::size_t chunk = 0; chunk < run.chunks(); ++chunk) {
    const auto begin = static_cast<std::int64_t>(chunk) * run.chunk;
    const std::int64_t elements = std::min(run.chunk, run.count - begin),
                       whole_rows = elements / run.channels;
    const auto rows = static_cast<double>(whole_rows);
    const double share = rows / (before + rows);
    for (std::size_t c = 0; c < channels; ++c) {
      const double sum = partial.first[chunk * channels + c], squares = partial.second[chunk * channels + c];
      const double mean = static_cast<double>(partial.shifts[chunk * channels + c]) + sum / rows;
      const double difference = mean - s.mean[c];
      s.mean[c] = chunk == 0 ? mean : s.mean[c] + difference * share;
      s.variance[c] +=
          squares - sum * sum / rows + (chunk == 0 ? 0 : difference * difference * before * share);
    }
    before += rows;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    double &mean = s.mean[c], &variance = s.variance[c];
    variance = std::max(variance / before, 0.0);
    if (std::isfinite(mean) && std::isfinite(variance)) continue;
    double sum = 0, squares = 0;
    if (!each_row(run, c, x, {}, [&](double v, double) { sum += v; })) continue;
    mean = sum / before;
    each_row(run, c, x, {}, [&](double v, double) { squares += (v - mean) * (v - mean); });
    variance = squares / before;
  }
  return s;
}

}  // namespace

void batch_norm_forward(const KernelCall& call) {
  const double epsilon = std::any_cast<const BatchNormOptions&>(call.options).epsilon;
  const Tensor x = contiguous(call.in[0]);
  const Tensor weight = contiguous(decoded(call.in[1], float32)),
               bias = contiguous(decoded(call.in[2], float32));
  const Run run(x);
  const Statistics s = statistics_of(run, x);
  std::vector<double> inverse(s.variance);
  for (double& v : inverse) v = 1 / std::sqrt(v + epsilon);
  const std::vector<double>* const results[] = {&s.mean, &inverse, &s.variance};
  for (std::size_t i = 0; i < 3; ++i) {
    Tensor out = call.out[i + 1];
    std::copy(results[i]->begin(), results[i]->end(), out.mutable_data<float>());
  }

  const std::vector<float> mean = run.along([&](std::size_t c) { return s.mean[c]; });
  const std::vector<float> rest = run.along(
      [&](std::size_t c) { return s.mean[c] - static_cast<double>(static_cast<float>(s.mean[c])); });
  const std::vector<float> scale =
      run.along([&](std::size_t c) { return inverse[c] * static_cast<double>(weight.data<float>()[c]); });
  const std::vector<float> added = run.along([&](std::size_t c) { return bias.data<float>()[c]; });
  const Source from(x);
  const Target to(call.out[0]);
  parallel_for(run.count, run.chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> from_tile(static_cast<std::size_t>(from.in_place() ? 0 : run.tile));
    std::vector<float> to_tile(static_cast<std::size_t>(to.in_place() ? 0 : run.tile));
    run.tiles(begin, end, [&](std::int64_t start, std::int64_t count) {
      const void* codes = from.read(start, count, from_tile.data());
      void* results = to.open(start, to_tile.data());
      with_lane(from.narrow(), [&](auto from_lane) {
        with_lane(to.narrow(), [&](auto to_lane) {
          using X = decltype(from_lane);
          using Y = decltype(to_lane);
          at_simd_level<Normalise<X, Y>>(static_cast<const typename X::Code*>(codes),
                                         static_cast<typename Y::Code*>(results), count, run.width,
                                         mean.data(), rest.data(), scale.data(), added.data());
        });
      });
      to.write(start, count, to_tile.data());
    });
  });
}

void batch_norm_backward(const KernelCall& call) {
  const Tensor x = contiguous(call.in[0]), dy = contiguous(call.in[4]);
  const Tensor weight = contiguous(decoded(call.in[1], float32));
  const auto *mean = call.in[2].data<float>(), *inverse = call.in[3].data<float>();
  const Run run(x);
  const Partial partial = partial_sums(run, x, dy, mean);
  const auto channels = static_cast<std::size_t>(run.channels);
  std::vector<double> sum(channels), product(channels);  // of dy, and of dy (x - mean)
  for (std::size_t i = 0; i < partial.first.size(); ++i) {
    sum[i % channels] += partial.first[i];
    product[i % channels] += partial.second[i];
  }
  for (std::size_t c = 0; c < channels; ++c) {
    if (std::isfinite(sum[c]) && std::isfinite(product[c])) continue;
    double of_dy = 0, of_products = 0;
    const bool finite = each_row(run, c, x, dy, [&](double v, double g) {
      of_dy += g;
      of_products += g * (v - double{mean[c]});
    });
    if (finite) sum[c] = of_dy, product[c] = of_products;
  }
  Tensor dweight = call.out[1], dbias = call.out[2];
  auto *to_weight = dweight.mutable_data<float>(), *to_bias = dbias.mutable_data<float>();
  for (std::size_t c = 0; c < channels; ++c) {
    to_weight[c] = static_cast<float>(product[c] * static_cast<double>(inverse[c]));
    to_bias[c] = static_cast<float>(sum[c]);
  }

  const double rows = static_cast<double>(run.rows());
  const std::vector<float> means = run.along([&](std::size_t c) { return mean[c]; });
  const std::vector<float> scale = run.along([&](std::size_t c) {
    return static_cast<double>(weight.data<float>()[c]) * static_cast<double>(inverse[c]);
  });
  const std::vector<float> mean_dy = run.along([&](std::size_t c) { return sum[c] / rows; });
  const std::vector<float> slope = run.along([&](std::size_t c) {
    return product[c] / rows * static_cast<double>(inverse[c]) * static_cast<double>(inverse[c]);
  });
  const Source from(x), gradient(dy);
  const Target to(call.out[0]);
  parallel_for(run.count, run.chunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> from_tile(static_cast<std::size_t>(from.in_place() ? 0 : run.tile));
    std::vector<float> gradient_tile(static_cast<std::size_t>(gradient.in_place() ? 0 : run.tile));
    std::vector<float> to_tile(static_cast<std::size_t>(to.in_place() ? 0 : run.tile));
    run.tiles(begin, end, [&](std::int64_t start, std::int64_t count) {
      const void* codes = from.read(start, count, from_tile.data());
      const void* gradients = gradient.read(start, count, gradient_tile.data());
      void* results = to.open(start, to_tile.data());
      with_lane(from.narrow(), [&](auto x_lane) {
        with_lane(gradient.narrow(), [&](auto gradient_lane) {
          with_lane(to.narrow(), [&](auto to_lane) {
            using X = decltype(x_lane);
            using G = decltype(gradient_lane);
            using D = decltype(to_lane);
            at_simd_level<Backward<X, G, D>>(static_cast<const typename X::Code*>(codes),
                                             static_cast<const typename G::Code*>(gradients),
                                             static_cast<typename D::Code*>(results), count, run.width,
                                             means.data(), scale.data(), mean_dy.data(), slope.data());
          });
        });
      });
      to.write(start, count, to_tile.data());
    });
  });
}

}  // namespace halftone::cpu
