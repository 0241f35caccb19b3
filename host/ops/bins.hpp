/// The bins of a histogram as arguments of kernels.
#pragma once

#include <smem/histogram.hpp>

namespace smem::ops {

inline constexpr cl_uint kNoBin = 0xffffffff;  ///< NO_BIN of cl/histogram/bin.clh

struct BinArguments {
  EvenBins even;
  ConstVector edges = {};
  cl_uint count = 0, below = kNoBin, above = kNoBin;

  /// In the order of BIN_ARGUMENTS. `unused`: a buffer, where there are no edges.
  template <class Launch>
  auto with(cl_mem unused, const Launch& launch) const {
    return launch(edges.buffer != nullptr ? edges.buffer : unused, static_cast<cl_ulong>(edges.offset),
                  cl_ulong{even.low}, cl_ulong{even.high}, cl_ulong{even.scale}, cl_uint{even.shift}, count,
                  below, above);
  }
};

/// Also sets the problem's bins and rule, for elements of its type. \throws Error naming what is wrong.
BinArguments bin_arguments(const char* operation, const Bins& bins, HistogramProblem& problem);

}  // namespace smem::ops
