// SPDX-License-Identifier: Apache-2.0
//
// Modules: any callable struct with a `visit` that shows its parts by name. No base class, no registration.
//   void visit(auto&& each) { each("up", up), each("down", down); }
// A part is a Tensor (a parameter), a Buffer (state that is not trained), another module, or a vector of
// modules.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "halftone/autocast.h"
#include "halftone/autograd.h"
#include "halftone/ops.h"
#include "halftone/tensor.h"

namespace halftone::nn {

// State of a layer that is not trained: running statistics.
struct Buffer {
  Tensor value;
};

namespace detail {
struct Ignore {
  template <class T>
  void operator()(const char*, T&) const {}
};
}  // namespace detail

template <class M>
concept Module = requires(M& module) {
  module.visit(detail::Ignore{});
};

namespace detail {
template <class F>
struct Walk {
  F& leaf;
  std::string prefix;

  template <class T>
  void operator()(const std::string& name, T& part) const {
    if constexpr (Module<T>) {
      part.visit(Walk{leaf, prefix + name + "."});
    } else if constexpr (requires {
                           part.begin();
                           typename T::value_type;
                         }) {
      for (std::size_t i = 0; i < part.size(); ++i) (*this)(name + "." + std::to_string(i), part[i]);
    } else {
      leaf(prefix + name, part);
    }
  }
};
}  // namespace detail

// Calls leaf(path, Tensor&) for every parameter and leaf(path, Buffer&) for every buffer, in order.
template <Module M, class F>
void walk(M& module, F&& leaf) {
  module.visit(detail::Walk<std::remove_reference_t<F>>{leaf, ""});
}

template <Module M>
std::vector<Parameter> parameters(M& module) {
  std::vector<Parameter> found;
  walk(module, [&](const std::string& path, auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Tensor>)
      if (part.defined()) {
        set_name(part, path);
        found.push_back({path, part});
      }
  });
  return found;
}

template <Module M>
std::vector<Parameter> buffers(M& module) {
  std::vector<Parameter> found;
  walk(module, [&](const std::string& path, auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Buffer>)
      found.push_back({path, part.value});
  });
  return found;
}

// Stores matrices and filters (rank 2 and more) in `dtype`; vectors stay float32. Do this before an optimizer
// is made.
template <Module M>
void to(M& module, DType dtype) {
  walk(module, [&](const std::string&, auto& part) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(part)>, Tensor>)
      if (part.defined() && part.rank() >= 2 && part.dtype() != dtype)
        part = no_grad([&] { return cast(part, dtype); }).set_requires_grad();
  });
}

// A trainable tensor, uniform in [-bound, bound), drawn from the thread's seed (manual_seed).
Tensor uniform_parameter(const Shape& shape, double bound);

// y = x W^T + b. Weight (out, in) and bias uniform within 1/sqrt(in).
struct Linear {
  Tensor weight, bias;
  Linear() = default;  // undefined: a part that a model does not have
  Linear(int in, int out, bool with_bias = true);
  // Weight normal with this deviation, bias zero: how transformers begin.
  static Linear normal(int in, int out, double deviation, bool with_bias = true);
  Tensor operator()(const Tensor& x) const { return linear(x, weight, bias); }
  void visit(auto&& each) { each("weight", weight), each("bias", bias); }
};

// Images (batch, height, width, in) to (.., out). Filter (out, size, size, in).
struct Conv2d {
  Tensor weight, bias;
  int stride, padding;
  Conv2d(int in, int out, int size, int stride = 1, int padding = 0, bool with_bias = true);
  Tensor operator()(const Tensor& x) const { return conv2d(x, weight, bias, stride, padding); }
  void visit(auto&& each) { each("weight", weight), each("bias", bias); }
};

// Over all axes but the last. Statistics of the batch in training, running ones in inference.
struct BatchNorm {
  Tensor weight, bias;
  Buffer running_mean, running_variance;
  double momentum, epsilon;
  explicit BatchNorm(int channels, double momentum = 0.1, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const {
    return batch_norm(x, weight, bias, running_mean.value, running_variance.value, momentum, epsilon);
  }
  void visit(auto&& each) {
    each("weight", weight), each("bias", bias);
    each("running_mean", running_mean), each("running_variance", running_variance);
  }
};

struct LayerNorm {
  Tensor weight, bias;
  double epsilon = 1e-5;
  LayerNorm() = default;  // undefined: a part that a model does not have
  explicit LayerNorm(int width, double epsilon = 1e-5);
  Tensor operator()(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon); }
  void visit(auto&& each) { each("weight", weight), each("bias", bias); }
};

struct RmsNorm {
  Tensor weight;
  double epsilon;
  explicit RmsNorm(int width, double epsilon = 1e-6);
  Tensor operator()(const Tensor& x) const { return rms_norm(x, weight, epsilon); }
  void visit(auto&& each) { each("weight", weight); }
};

struct Embedding {
  Tensor weight;
  Embedding(int count, int width);  // normal(0, 0.02)
  Tensor operator()(const Tensor& indices) const { return embedding(weight, indices); }
  void visit(auto&& each) { each("weight", weight); }
};

struct Dropout {
  double probability;
  Tensor operator()(const Tensor& x) const { return dropout(x, probability); }
  void visit(auto&&) {}
};

// A module under a casting of its own, whatever region it is called in, as a part that must stay in float32:
// Autocast<LayerNorm> norm{amp::Casting(float32), LayerNorm(64)}. Its parts keep their names.
template <Module M>
struct Autocast {
  amp::Casting casting;
  M module;
  template <class... Args>
  auto operator()(const Args&... args) const {
    return amp::autocast(casting, [&] { return module(args...); });
  }
  void visit(auto&& each) { module.visit(each); }
};

// x (batch, context, width) -> the same shape. Throws ValueError if heads does not divide width.
struct CausalSelfAttention {
  Linear qkv, project;
  int heads;
  CausalSelfAttention(int width, int heads);
  Tensor operator()(const Tensor& x) const;
  void visit(auto&& each) { each("qkv", qkv), each("project", project); }
};

}  // namespace halftone::nn
