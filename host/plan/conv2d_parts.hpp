/// What a convolution of many channels needs besides its plan: the same whatever the size of a work-group.
#pragma once

#include <smem/conv2d_plan.hpp>

#include <cstddef>
#include <string_view>

namespace smem::plan {

/// How "cpu" cuts its work.
struct Conv2dCut {
  std::size_t block_k = 0;  ///< planes of a job; 0: nothing fits local memory
  std::size_t tile_w = 0;   ///< columns of results
  std::size_t tile_h = 0;   ///< rows of results
  std::size_t depth = 0;    ///< channels of the input at once
};

/// How "gemm" cuts its work.
struct Conv2dSlices {
  bool straight = false;  ///< the input is the right factor as it lies
  std::size_t images = 1;
  std::size_t rows = 1;  ///< of results of an image: less than all only where images is 1
  std::size_t scratch_bytes = 0;
};

/// \throws Error naming the argument unless the device can compute it.
void check_conv2d(const Device& device, const Conv2dProblem& problem);

/// The variant that plan_conv2d() takes.
std::string_view conv2d_choice(const Device& device, const Conv2dProblem& problem,
                               const PlanOverrides& fixed);
Conv2dCut conv2d_cut(const Device& device, const Conv2dProblem& problem);
Conv2dSlices conv2d_slices(const Device& device, const Conv2dProblem& problem);

}  // namespace smem::plan
