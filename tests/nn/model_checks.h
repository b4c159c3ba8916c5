// SPDX-License-Identifier: Apache-2.0
//
// What the tests of models share: counts, random tokens, gradients against finite differences, the bits of a
// step.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "halftone/nn.h"
#include "halftone/random.h"

namespace halftone::testing {

template <class Model>
std::int64_t count_of(Model&& model) {
  std::int64_t count = 0;
  for (const Parameter& p : nn::parameters(model)) count += p.value.count();
  return count;
}

// A count that is affine in the number of layers, from that of models of one and two.
template <class Count>
std::int64_t count_of_layers(int layers, Count count) {
  return count(1) + (layers - 1) * (count(2) - count(1));
}

inline Tensor random_tokens(const Shape& shape, int vocabulary, std::uint64_t seed = 1) {
  Tensor tokens(shape, int32);
  for (std::int64_t i = 0; i < tokens.count(); ++i)
    tokens.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(
        random_bits(seed, streams::example, static_cast<std::uint64_t>(i)) % static_cast<unsigned>(vocabulary));
  return tokens;
}

// Central differences in float64, on the reference backend, of a few elements of every parameter.
template <class Model>
void expect_gradients(Model& model, const std::function<Tensor()>& loss) {
  nn::walk(model, [](const std::string&, auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Tensor>)
      if (part.defined()) {
        // Away from initial values, where much is 0.
        const Tensor noise = random_normal(part.shape(), 3, 1000 + static_cast<std::uint64_t>(part.count()));
        part = no_grad([&] { return cast(part + noise * 0.1, float64); }).set_requires_grad();
      }
  });
  with_backend("reference", [&] {
    loss().backward();
    const auto value = [&] { return no_grad(loss).item(); };
    for (Parameter& p : nn::parameters(model)) {
      ASSERT_TRUE(p.value.grad().defined()) << p.name;
      const std::vector<double> gradient = p.value.grad().to_vector();
      for (std::int64_t i = 0; i < p.value.count(); i += std::max<std::int64_t>(1, p.value.count() / 3)) {
        double* x = p.value.template mutable_data<double>() + i;
        const double kept = *x, step = 1e-5;
        *x = kept + step, p.value.raw_mutable();
        const double above = value();
        *x = kept - step, p.value.raw_mutable();
        const double below = value();
        *x = kept, p.value.raw_mutable();
        const double numeric = (above - below) / (2 * step);
        EXPECT_NEAR(gradient[static_cast<std::size_t>(i)], numeric, 2e-6 * (1 + std::abs(numeric)))
            << p.name << " " << i;
      }
    }
  });
}

// The loss and every gradient.
template <class Model>
std::vector<double> bits_of_step(Model& model, const std::function<Tensor(Model&)>& loss) {
  const Tensor result = loss(model);
  result.backward();
  std::vector<double> all = {result.item()};
  for (const Parameter& p : nn::parameters(model))
    for (const double v : p.value.grad().to_vector()) all.push_back(v);
  return all;
}

}  // namespace halftone::testing
