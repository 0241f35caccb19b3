// A network of two layers that learns to read digits, in half precision, on the best OpenCL device. All its
// products are smem::gemm, with bias and ReLU in the stores; three small kernels of its own do the rest.
//
//   mlp [EPOCHS]     SMEM_SAMPLE_OUTPUT: the folder to write into, else ./output
#include "digits.hpp"
#include "image.hpp"
#include "sample.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using smem::half;

constexpr std::size_t kHidden = 128, kTrain = 16384, kTest = 2048, kBatch = 256;
constexpr double kRate = 0.5;  // of learning

constexpr const char* kKernels = R"(
// The gradient of the outputs of a picture: their softmax, minus 1 for its label.
kernel void errors(global const float* outputs, global const int* labels, ulong first, uint digits, global half* wrong) {
  const size_t i = get_global_id(0);
  global const float* x = outputs + i * digits;
  float most = x[0], sum = 0;
  for (uint d = 1; d < digits; ++d) most = fmax(most, x[d]);
  for (uint d = 0; d < digits; ++d) sum += exp(x[d] - most);
  for (uint d = 0; d < digits; ++d)
    vstore_half_rte(exp(x[d] - most) / sum - (labels[first + i] == (int)d ? 1.0f : 0.0f), i * digits + d, wrong);
}
// The gradient is 0 where ReLU was 0.
kernel void cut(global const half* hidden, global half* wrong) {
  const size_t i = get_global_id(0);
  if (!(vload_half(i, hidden) > 0)) vstore_half_rte(0.0f, i, wrong);
}
// Parameters are float; products use copies in half.
kernel void round_to_half(global const float* from, global half* to) {
  const size_t i = get_global_id(0);
  vstore_half_rte(from[i], i, to);
}
)";

std::vector<half> halves(const std::vector<float>& values) {
  std::vector<half> rounded;
  rounded.reserve(values.size());
  for (const float x : values)
    rounded.emplace_back(x);
  return rounded;
}

/// Parameters, and copies in half.
struct Weights {
  smem::Array<float> exact;
  smem::Array<half> rounded;
};

class Network {
 public:
  explicit Network(const smem::Context& context)
      : context_(context),
        errors_(context.build({.source = kKernels, .entry_point = "errors"})),
        cut_(context.build({.source = kKernels, .entry_point = "cut"})),
        round_(context.build({.source = kKernels, .entry_point = "round_to_half"})),
        first_(weights(kPixels, kHidden, 1)),
        first_bias_(weights(1, kHidden, 0)),
        second_(weights(kHidden, kDigits, 1)),
        second_bias_(context, std::vector<float>(kDigits, 0.0F)),
        hidden_(context, smem::Count{kTest * kHidden}),
        outputs_(context, smem::Count{kTest * kDigits}),
        output_errors_(context, smem::Count{kBatch * kDigits}),
        hidden_errors_(context, smem::Count{kBatch * kHidden}),
        ones_(context, std::vector<half>(kBatch, half(1.0F))) {}

  /// The outputs of `count` pictures from number `first` on.
  void read(const smem::Array<half>& pictures, std::size_t first, std::size_t count) {
    smem::gemm(context_, pictures.matrix(count, kPixels, {.offset = first * kPixels}),
               first_.rounded.matrix(kPixels, kHidden), hidden_.matrix(count, kHidden),
               {.epilogue = {.bias = first_bias_.rounded, .activation = smem::Activation::relu}});
    smem::gemm(context_, hidden_.matrix(count, kHidden), second_.rounded.matrix(kHidden, kDigits),
               outputs_.matrix(count, kDigits), {.epilogue = {.bias = second_bias_}});
  }

  /// One step down the gradient of the cross entropy, over kBatch pictures.
  void learn(const smem::Array<half>& pictures, const smem::Array<std::int32_t>& labels, std::size_t first) {
    read(pictures, first, kBatch);
    errors_({{kBatch, 1, 1}, {64, 1, 1}}, outputs_, labels, static_cast<cl_ulong>(first),
            static_cast<cl_uint>(kDigits), output_errors_);
    const auto wrong = output_errors_.matrix(kBatch, kDigits);
    const auto hidden_wrong = hidden_errors_.matrix(kBatch, kHidden);
    smem::gemm(context_, wrong, second_.rounded.matrix(kHidden, kDigits), hidden_wrong,
               {.transpose_b = true});
    cut_({{kBatch * kHidden, 1, 1}, {64, 1, 1}}, hidden_, hidden_errors_);

    // Weights -= rate * inputs^T errors; biases are weights of inputs that are always 1.
    const smem::Gemm step{.alpha = -kRate / static_cast<double>(kBatch), .beta = 1, .transpose_a = true};
    const auto ones = ones_.matrix(kBatch, 1);
    smem::gemm(context_, hidden_.matrix(kBatch, kHidden), wrong, second_.exact.matrix(kHidden, kDigits),
               step);
    smem::gemm(context_, ones, wrong, second_bias_.matrix(1, kDigits), step);
    smem::gemm(context_, pictures.matrix(kBatch, kPixels, {.offset = first * kPixels}), hidden_wrong,
               first_.exact.matrix(kPixels, kHidden), step);
    smem::gemm(context_, ones, hidden_wrong, first_bias_.exact.matrix(1, kHidden), step);
    for (const Weights* w : {&first_, &first_bias_, &second_})
      round_({{w->exact.size(), 1, 1}, {64, 1, 1}}, w->exact, w->rounded);
  }

  /// The digits with the largest of the last outputs.
  std::vector<std::int32_t> answers(std::size_t count) const {
    const std::vector<float> outputs = outputs_.to_host();
    std::vector<std::int32_t> digits;
    for (std::size_t i = 0; i < count; ++i) {
      const auto begin = outputs.begin() + static_cast<std::ptrdiff_t>(i * kDigits);
      digits.push_back(static_cast<std::int32_t>(std::max_element(begin, begin + kDigits) - begin));
    }
    return digits;
  }

 private:
  /// Normally distributed, so that the sums of a layer are of the size of its inputs; `scale` 0: zeros.
  Weights weights(std::size_t inputs, std::size_t outputs, float scale) {
    std::mt19937 random(static_cast<std::uint32_t>(inputs));
    std::normal_distribution<float> number(0, std::sqrt(2.0F / static_cast<float>(inputs)));
    std::vector<float> values(inputs * outputs);
    for (float& x : values)
      x = scale * number(random);
    return {smem::Array<float>(context_, values), smem::Array<half>(context_, halves(values))};
  }

  smem::Context context_;
  smem::Kernel errors_, cut_, round_;
  Weights first_, first_bias_, second_;
  smem::Array<float> second_bias_;
  smem::Array<half> hidden_;
  smem::Array<float> outputs_;
  smem::Array<half> output_errors_, hidden_errors_, ones_;
};

double share_right(const std::vector<std::int32_t>& answers, const std::vector<std::int32_t>& labels) {
  std::size_t right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i)
    right += answers[i] == labels[i] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(answers.size());
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The first test pictures, with the digits that the network reads.
void write_picture(const Digits& digits, const std::vector<std::int32_t>& answers) {
  std::vector<Captioned> pictures;
  for (std::size_t i = 0; i < 24; ++i) {
    constexpr std::size_t kZoom = 6;
    Image image(kEdge * kZoom, kEdge * kZoom);
    for (std::size_t r = 0; r < image.rows; ++r) {
      for (std::size_t c = 0; c < image.cols; ++c) {
        const float ink = digits.pixels[i * kPixels + r / kZoom * kEdge + c / kZoom];
        const auto grey = static_cast<std::uint8_t>(255 * std::clamp(ink, 0.0F, 1.0F));
        image.at(r, c) = {grey, grey, grey, 255};
      }
    }
    const bool right = answers[i] == digits.labels[i];
    pictures.push_back({fmt::format("{}{}", answers[i], right ? "" : " wrong"), image});
  }
  const fs::path path = output_folder() / "digits.png";
  write_png(path, contact_sheet(pictures, 8));
  fmt::print("{} shows some digits and the answers\n", path.string());
}

void run(std::size_t epochs) {
  const smem::Context context;
  fmt::print("{} ({})\n", context.device().name, context.device().platform);
  const Digits train = draw_digits(kTrain, 1), test = draw_digits(kTest, 2);
  const smem::Array<half> train_pictures(context, halves(train.pixels)),
      test_pictures(context, halves(test.pixels));
  const smem::Array<std::int32_t> labels(context, train.labels);
  Network network(context);
  std::vector<std::int32_t> answers;
  for (std::size_t epoch = 0; epoch <= epochs; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t first = 0; epoch > 0 && first < kTrain; first += kBatch)
      network.learn(train_pictures, labels, first);
    context.finish();
    const double seconds = seconds_since(start);
    network.read(test_pictures, 0, kTest);
    answers = network.answers(kTest);
    const double share = share_right(answers, test.labels);
    if (epoch == 0) {
      fmt::print("before training: {:.1f} % of {} test digits\n", 100 * share, kTest);
    } else {
      if (epoch % 5 == 0 || epoch == 1)
        fmt::print("epoch {}: {:.1f} %, {:.0f} images/s trained\n", epoch, 100 * share,
                   static_cast<double>(kTrain) / seconds);
    }
  }
  constexpr int kReads = 20;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kReads; ++i)
    network.read(test_pictures, 0, kTest);
  context.finish();
  const double share = share_right(answers, test.labels);
  fmt::print("accuracy {:.1f} %, {:.0f} images/s read\n", 100 * share,
             kReads * static_cast<double>(kTest) / seconds_since(start));
  write_picture(test, answers);
}

}  // namespace

int main(int argc, char** argv) {
  return run_sample("mlp", [&] {
    const long epochs = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 30;
    run(static_cast<std::size_t>(std::clamp(epochs, 1L, 1000L)));
  });
}
