// SPDX-License-Identifier: Apache-2.0
//
// A number format is one row of data. This program adds two of its own: a 13-bit float with the range of
// float16 and the precision of bfloat16, and the 8-bit format of some accelerators. Both work everywhere at
// once: as constants, in tensors, as the compute format of autocast and as the format of stored weights.
#include <halftone/halftone.h>

#include <cstdio>
#include <cstdlib>

using namespace halftone;

// name, exponent bits, mantissa bits, bias, what the largest exponent means
constexpr Format kE5m7{"float13_e5m7", 5, 7, 15, Specials::ieee};
constexpr Format kE4m3fnuz{"float8_e4m3fnuz", 4, 3, 8, Specials::nan_zero};
constexpr DType e5m7{&kE5m7}, e4m3fnuz{&kE4m3fnuz};

static_assert(kE5m7.bits() == 13 && e5m7.bytes() == 2);
static_assert(max_finite(kE5m7) == 65280 && epsilon(kE5m7) == epsilon(bfloat16.format()));
static_assert(min_normal(kE5m7) == min_normal(float16.format()));
static_assert(max_finite(kE4m3fnuz) == 240 && min_subnormal(kE4m3fnuz) == 0x1p-10);
static_assert(decode(kE4m3fnuz, encode(kE4m3fnuz, 3.3)) == 3.25);
static_assert(encode(kE4m3fnuz, -0.0) == 0 && encode(kE4m3fnuz, 1e9) == 0x80);  // one zero; 0x80 is the NaN

void require(bool holds, const char* what) {
  if (holds) return;
  std::printf("failed: %s\n", what);
  std::exit(1);
}

// Every code means a value, and the code of that value is the code.
void round_trip(const Format& format) {
  for (std::uint64_t code = 0; code < std::uint64_t{1} << format.bits(); ++code) {
    const double value = decode(format, code);
    require(value != value || encode(format, value) == code, "every code survives decode and encode");
  }
  std::printf("%-16s %2d bits, max %g, smallest normal %g, smallest %g, epsilon %g\n", format.name.data(),
              format.bits(), max_finite(format), min_normal(format), min_subnormal(format), epsilon(format));
}

// Fits y = x W^T to a known W; returns the last loss. Weights are stored in `stored`, matmuls run in
// `compute`.
double fit(DType stored, DType compute) {
  manual_seed(1);
  nn::Linear truth(8, 4), model(8, 4);
  nn::to(model, stored);
  optim::AdamW optimizer(nn::parameters(model), {.lr = 0.02, .weight_decay = 0});
  amp::GradScaler scaler({.init_scale = 1024});
  double last = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Tensor x = random_normal({64, 8}, 7, i);
    const Tensor target = no_grad([&] { return truth(x); });
    const Tensor loss = amp::autocast(compute, [&] { return mse_loss(model(x), target); });
    optimizer.zero_grad();
    scaler.scale(loss).backward();
    scaler.step(optimizer);
    scaler.update();
    last = loss.item();
  }
  require(model.weight.dtype() == stored, "weights keep their format");
  return last;
}

int main() {
  set_thread_count(1);  // matrices this small gain nothing from a second thread
  round_trip(kE5m7);
  round_trip(kE4m3fnuz);

  const Tensor third = full({1}, 1.0 / 3, e5m7);
  require(third.item() == 171.0 / 512, "a tensor rounds once, to nearest");
  require((third + third).item() == 171.0 / 256, "and computes");

  const double exact = fit(float32, float32), narrow = fit(float32, e5m7), stored = fit(e4m3fnuz, e5m7);
  std::printf("loss after 200 steps: float32 %.2g, computing in e5m7 %.2g, with weights in e4m3fnuz %.2g\n",
              exact, narrow, stored);
  require(exact < 1e-4, "float32 fits");
  require(narrow < 1e-3, "13 bits are enough to compute in");
  require(stored < 1e-2, "float32 masters make up for 8-bit weights");
}
