// SPDX-License-Identifier: Apache-2.0
//
// The task `fashion-mnist`: which of ten kinds of clothing is in the image?
#include <fmt/format.h>
#include <zlib.h>

#include "train/models.h"
#include "train/task.h"

namespace halftone::train {
namespace {

std::uint32_t checksum(const Tensor& bytes) {
  const auto length = static_cast<z_size_t>(bytes.count());
  return static_cast<std::uint32_t>(adler32_z(1, static_cast<const Bytef*>(bytes.raw()), length));
}

template <nn::Module Model>
class FashionMnist : public Task {
 public:
  FashionMnist(const std::filesystem::path& directory, DType parameter)
      : data_(directory.empty() ? data::load_fashion_mnist() : data::load_fashion_mnist(directory)) {
    nn::to(model_, parameter);
  }

  std::int64_t train_count() const override { return data_.train.count(); }
  std::int64_t test_count() const override { return data_.test.count(); }
  std::string data_fingerprint() const override {
    return fmt::format("{:08x}{:08x}", checksum(data_.train.images), checksum(data_.train.labels));
  }

  data::Batch train_batch(const Order& order, std::int64_t begin, std::int64_t end) const override {
    return data::gather_images(data_.train, order, begin, end);
  }
  data::Batch test_batch(const Order& order, std::int64_t begin, std::int64_t end) const override {
    return data::gather_images(data_.test, order, begin, end);
  }

  Tensor forward(const Tensor& inputs) const override { return model_(inputs); }
  Tensor loss(const Tensor& outputs, const Tensor& targets) const override {
    return cross_entropy(outputs, targets);
  }
  std::vector<Parameter> parameters() override { return nn::parameters(model_); }
  std::vector<Parameter> buffers() override { return nn::buffers(model_); }

 private:
  data::ImageData data_;
  Model model_;
};

// AdamW and Adam move every weight by about lr; Lamb and Adafactor by lr times the size of the tensor; Lion
// by exactly lr, whatever the gradient.
double default_lr(const Config& config) {
  if (config.optimizer == "sgd") return 0.05;
  if (config.optimizer == "lamb" || config.optimizer == "adafactor") return 0.01;
  return config.optimizer == "lion" ? 3e-4 : 2e-3;
}

std::unique_ptr<Task> make(const Config& config, DType parameter) {
  if (config.model == "mlp") return std::make_unique<FashionMnist<Mlp>>(config.data, parameter);
  return std::make_unique<FashionMnist<Cnn>>(config.data, parameter);
}

const RegisterTask registered({"fashion-mnist", {"mlp", "cnn"}, [](Config&) {}, default_lr, make});

}  // namespace
}  // namespace halftone::train
