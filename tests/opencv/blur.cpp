// Blurs, medians and slopes beside OpenCV's: bytes are equal, floats differ by roundings.
#include <smem/smem.hpp>

#include <fmt/format.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace {

using smem::Boundary;

constexpr std::pair<Boundary, int> kBorders[] = {{Boundary::mirror, cv::BORDER_REFLECT_101},
                                                 {Boundary::reflect, cv::BORDER_REFLECT},
                                                 {Boundary::clamp, cv::BORDER_REPLICATE},
                                                 {Boundary::zero, cv::BORDER_CONSTANT}};

int failures = 0, comparisons = 0;

/// Says how far the device's results are from OpenCV's, when that is more than allowed.
template <class T>
void compare(const std::string& what, const std::vector<T>& got, const cv::Mat& expected, double allowed) {
  const cv::Mat mine(expected.rows, expected.cols, expected.type(), const_cast<T*>(got.data()));
  const double error = cv::norm(mine, expected, cv::NORM_INF);
  ++comparisons;
  if (error <= allowed) return;
  ++failures;
  fmt::print("{}: off by {}, allowed {}\n", what, error, allowed);
}

template <class T>
void all(const smem::Context& context, int depth, int channels, int width, int height) {
  constexpr bool kBytes = sizeof(T) == 1;
  cv::Mat image(height, width, CV_MAKETYPE(depth, channels));
  cv::theRNG().fill(image, cv::RNG::UNIFORM, 0, depth == CV_32F ? 1 : kBytes ? 256 : 65536);
  const auto count = image.total() * static_cast<std::size_t>(channels);
  const smem::Array<T> in(context, std::vector<T>(image.ptr<T>(), image.ptr<T>() + count)),
      out(context, count);
  const smem::GridSize size{static_cast<std::size_t>(width), static_cast<std::size_t>(height)};
  const smem::GridLayout layout{.channels = static_cast<std::size_t>(channels)};
  const auto from = in.grid(size, layout), to = out.grid(size, layout);
  const double rounding = depth == CV_32F ? 2e-6 : 0;
  cv::Mat expected;
  for (const auto& [boundary, border] : kBorders) {
    const smem::BlurOptions options{.boundary = boundary};
    const std::string where = fmt::format("{} x {} of depth {} x {}, boundary {}", width, height, depth,
                                          channels, smem::name_of(boundary));
    for (const auto& [taps, sigma] :
         {std::pair{3, 0.0}, {5, 1.1}, {7, 0.0}, {15, 2.6}, {31, 0.0}, {0, 2.3}}) {
      smem::gaussian_blur(context, from, to, {.size = static_cast<std::size_t>(taps), .sigma = sigma},
                          options);
      cv::GaussianBlur(image, expected, {taps, taps}, sigma, 0, border);
      // 16-bit numbers: OpenCV's weights have a fixed point.
      compare(fmt::format("Gaussian {} sigma {}, {}", taps, sigma, where), out.to_host(), expected,
              depth == CV_16U ? 2 : rounding);
    }
    for (const int radius : {1, 2, 7, 12}) {
      smem::box_blur(context, from, to, static_cast<std::size_t>(radius), options);
      cv::boxFilter(image, expected, -1, {2 * radius + 1, 2 * radius + 1}, {-1, -1}, true, border);
      compare(fmt::format("box {}, {}", radius, where), out.to_host(), expected,
              depth == CV_16U ? 1 : rounding);  // whose sums OpenCV scales in float
    }
    if (boundary == Boundary::clamp) {
      for (const int taps : {3, 5}) {
        smem::median_blur(context, from, to, static_cast<std::size_t>(taps), options);
        cv::medianBlur(image, expected, taps);
        compare(fmt::format("median {}, {}", taps, where), out.to_host(), expected, 0);
      }
    }
    using Slope = std::conditional_t<kBytes, std::int16_t, float>;
    if (depth == CV_16U) continue;
    const smem::Array<Slope> slopes(context, count);
    for (const int taps : {3, 5}) {
      for (const bool across : {true, false}) {
        smem::sobel(context, from, slopes.grid(size, layout),
                    across ? smem::Sobel::across : smem::Sobel::down, static_cast<std::size_t>(taps),
                    options);
        cv::Sobel(image, expected, kBytes ? CV_16S : CV_32F, across ? 1 : 0, across ? 0 : 1, taps, 1, 0,
                  border);
        compare(fmt::format("Sobel {} {}, {}", taps, across, where), slopes.to_host(), expected,
                depth == CV_32F ? 1e-4 : 0);
      }
    }
  }
}

}  // namespace

int main() {
  try {
    const smem::Context context;
    all<std::uint8_t>(context, CV_8U, 1, 131, 77);
    all<std::uint8_t>(context, CV_8U, 3, 64, 50);
    all<std::uint16_t>(context, CV_16U, 1, 90, 60);
    all<float>(context, CV_32F, 1, 131, 77);
    fmt::print("{} comparisons with OpenCV {}, {} failed\n", comparisons, CV_VERSION, failures);
    return failures == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
