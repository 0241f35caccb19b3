// Stencils and convolutions beside OpenCV's filter2D. Its sums of bytes are exact where the weights are whole
// numbers, and so are smem's: they must be equal.
#include <smem/smem.hpp>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace {

template <class T>
std::vector<T> filtered(const smem::Context& context, const cv::Mat& image,
                        const smem::ConvolutionKernel& kernel, smem::Boundary boundary) {
  const auto elements = image.total() * static_cast<std::size_t>(image.channels());
  const smem::Array<T> in(context, std::span<const T>(image.ptr<T>(), elements)), out(context, elements);
  const smem::GridSize size{static_cast<std::size_t>(image.cols), static_cast<std::size_t>(image.rows)};
  const smem::GridLayout layout{.channels = static_cast<std::size_t>(image.channels())};
  smem::convolve2d(context, in.grid(size, layout), out.grid(size, layout), kernel, {.boundary = boundary});
  return out.to_host();
}

}  // namespace

TEST_CASE("opencv: filter2D of bytes with whole weights is equal, at every border") {
  const smem::Context context;
  cv::RNG random(3);
  for (const int channels : {1, 3, 4}) {
    cv::Mat image(61, 87, CV_8UC(channels)), expected;
    random.fill(image, cv::RNG::UNIFORM, 0, 256);
    for (const int edge : {3, 5}) {
      cv::Mat weights(edge, edge, CV_32F);
      smem::ConvolutionKernel kernel{static_cast<std::size_t>(edge), static_cast<std::size_t>(edge), {}};
      for (int i = 0; i < edge * edge; ++i) {
        weights.at<float>(i / edge, i % edge) = static_cast<float>(random.uniform(-3, 5)) / 8;
        kernel.weights.push_back(weights.at<float>(i / edge, i % edge));
      }
      for (const auto& [theirs, ours] : {std::pair{cv::BORDER_CONSTANT, smem::Boundary::zero},
                                         {cv::BORDER_REPLICATE, smem::Boundary::clamp},
                                         {cv::BORDER_REFLECT, smem::Boundary::reflect},
                                         {cv::BORDER_REFLECT_101, smem::Boundary::mirror}}) {
        cv::filter2D(image, expected, -1, weights, {-1, -1}, 0, theirs);
        const std::vector<std::uint8_t> got = filtered<std::uint8_t>(context, image, kernel, ours);
        CHECK(got == std::vector<std::uint8_t>(expected.datastart, expected.dataend));
      }
    }
  }
}

TEST_CASE("opencv: filter2D of floats agrees to rounding") {
  const smem::Context context;
  cv::RNG random(4);
  cv::Mat image(70, 91, CV_32F), expected, weights(5, 5, CV_32F);
  random.fill(image, cv::RNG::UNIFORM, 0, 1);
  random.fill(weights, cv::RNG::UNIFORM, -0.1, 0.15);
  cv::filter2D(image, expected, -1, weights);
  const std::vector<float> got = filtered<float>(
      context, image, {5, 5, std::vector<double>(weights.begin<float>(), weights.end<float>())},
      smem::Boundary::mirror);
  float off = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    off = std::max(off, std::abs(got[i] - reinterpret_cast<const float*>(expected.data)[i]));
  CHECK(off < 1e-6F);
}
