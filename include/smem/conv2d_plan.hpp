/// smem: plans for convolutions of many channels. Includes no OpenCL header.
#pragma once

#include <smem/device.hpp>
#include <smem/export.hpp>
#include <smem/gemm_plan.hpp>
#include <smem/plan.hpp>
#include <smem/scalar.hpp>
#include <smem/sizes.hpp>

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace smem {

/// A convolution of many channels without its data: all that a plan depends on.
struct Conv2dProblem {
  Scalar type = Scalar::float32;             ///< of input, weights, bias and output
  std::size_t images = 1;                    ///< of the batch: N
  std::size_t in_channels = 1;               ///< of an image, in all groups: C
  std::size_t width = 0;                     ///< cells of a row of the input: W
  std::size_t height = 0;                    ///< rows of the input: H
  std::size_t out_channels = 1;              ///< filters, in all groups: K
  std::size_t window_width = 1;              ///< of a filter: S
  std::size_t window_height = 1;             ///< of a filter: R
  std::size_t out_width = 0;                 ///< of the output: Q
  std::size_t out_height = 0;                ///< of the output: P
  std::size_t stride_x = 1;                  ///< cells from a window to the next
  std::size_t stride_y = 1;                  ///< rows from a window to the next
  std::size_t dilation_x = 1;                ///< cells from a weight to the next
  std::size_t dilation_y = 1;                ///< rows from a weight to the next
  std::size_t pad_left = 0;                  ///< zeros before each row
  std::size_t pad_top = 0;                   ///< rows of zeros before the first
  std::size_t groups = 1;                    ///< of channels
  bool bias = false;                         ///< a number for each filter is added
  Activation activation = Activation::none;  ///< of the sum with its bias
  bool in_packed = true;                     ///< rows of a plane of the input follow each other without gaps
  bool out_packed = true;                    ///< the same of the output
  /// The largest power of two, at most 64, that divides the byte address of each plane.
  std::size_t in_alignment = 64;
  std::size_t out_alignment = 64;     ///< the same of the output
  std::size_t weight_alignment = 64;  ///< the same of the filters

  std::size_t taps() const {
    return detail::size_product(window_width, window_height);
  }                                                                    ///< weights of a plane
  std::size_t group_channels() const { return in_channels / groups; }  ///< that a filter sees
  std::size_t group_filters() const { return out_channels / groups; }  ///< filters of a group
  std::size_t depth() const {
    return detail::size_product(group_channels(), taps());
  }  ///< weights of a filter
  std::size_t plane_results() const {
    return detail::size_product(out_width, out_height);
  }  ///< of a plane of the output
};

/// The plan that conv2d() would use on `device`. Where it is "gemm", that is the launch that lays the columns
/// of a slice of the images in temporary memory, which the plan states, and plan_conv2d_product() the product
/// that follows; of a window of 1 x 1 without stride and padding, on planes without gaps, it is the product
/// itself. Overrides: `variant`. \throws Error when the problem or the device does not allow it, the variant
/// is unknown or cannot run this problem on this device, or another field was fixed; it names the field.
SMEM_API Plan plan_conv2d(const Device& device, const Conv2dProblem& problem,
                          const PlanOverrides& overrides = {});

/// The product that follows the columns of "gemm": of one group of channels and one slice.
SMEM_API std::optional<Plan> plan_conv2d_product(const Device& device, const Conv2dProblem& problem,
                                                 const PlanOverrides& overrides = {});

/// "naive", "direct", "implicit", "cpu" and "gemm".
SMEM_API std::vector<std::string_view> conv2d_variants();

}  // namespace smem
