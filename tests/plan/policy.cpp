// The policies' tables: each row has evidence of its own family, and devices that get it.
#include "support/failure.hpp"
#include "support/targets.hpp"

#include "plan/append_to_cache_policy.hpp"
#include "plan/attention_policy.hpp"
#include "plan/attention_units_policy.hpp"
#include "plan/band_policy.hpp"
#include "plan/box_policy.hpp"
#include "plan/check_segments_policy.hpp"
#include "plan/column_policy.hpp"
#include "plan/complex_gemm_policy.hpp"
#include "plan/conv2d_nvidia.hpp"
#include "plan/conv2d_policy.hpp"
#include "plan/flip_policy.hpp"
#include "plan/gather_policy.hpp"
#include "plan/gemm_nvidia.hpp"
#include "plan/gemm_policy.hpp"
#include "plan/gemm_units_policy.hpp"
#include "plan/heat_policy.hpp"
#include "plan/histogram_policy.hpp"
#include "plan/look_back_policy.hpp"
#include "plan/merge_policy.hpp"
#include "plan/moving_mean_policy.hpp"
#include "plan/norm_policy.hpp"
#include "plan/pool_policy.hpp"
#include "plan/rates_policy.hpp"
#include "plan/read_ahead_policy.hpp"
#include "plan/reduce_policy.hpp"
#include "plan/rotary_policy.hpp"
#include "plan/scan_policy.hpp"
#include "plan/select_policy.hpp"
#include "plan/separable_policy.hpp"
#include "plan/softmax_policy.hpp"
#include "plan/sort_policy.hpp"
#include "plan/sort_rows_policy.hpp"
#include "plan/stencil_policy.hpp"
#include "plan/top_k_policy.hpp"
#include "plan/transpose_policy.hpp"
#include "plan/window_policy.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using smem::plan::Evidence;

void check_evidence(const Evidence& evidence, std::string_view family) {
  CHECK_FALSE(evidence.what.empty());
  if (evidence.measured()) {
    CHECK(smem::plan::family_of_measured(evidence.device) == family);
    CHECK_FALSE(evidence.driver.empty());
    CHECK_FALSE(evidence.share.empty());
  } else {
    CHECK(evidence.share.empty());
    for (const char* device : {"H100", "H200", "Zen 4", "Xeon", "EPYC"})
      CHECK_FALSE(test::contains(std::string(evidence.what), device));
  }
}

/// `evidence`: pointers to all Evidence members of a row, or functions of a row that return one.
template <class Row, std::size_t kRows, class... Members>
void check_table(const char* name, const Row (&table)[kRows], Members... evidence) {
  INFO(name);
  for (std::size_t i = 0; i < kRows; ++i) {
    CAPTURE(i);
    const Row& row = table[i];
    (check_evidence(std::invoke(evidence, row), row.when.family), ...);
    smem::Device least;
    least.local_bytes = least.max_work_group = 0;
    CHECK((i + 1 == kRows) == row.when.holds(least));  // the last row is for every device
    bool is_picked = i + 1 == kRows;
    std::vector<smem::Device> devices = test::all_targets();
    devices.push_back(test::target("cpu"));
    devices.back().vendor_name = "AuthenticAMD";
    for (const smem::Device& device : devices)
      is_picked = is_picked || &smem::plan::row_for(table, device) == &row;
    CHECK_MESSAGE(is_picked, "no target gets it");
  }
}

}  // namespace

TEST_CASE("policies: every row has evidence of its family, and a device that gets it") {
  using namespace smem::plan;
  check_table("transpose", kTransposePolicies, &TransposePolicy::evidence, &TransposePolicy::of_threads,
              &TransposePolicy::of_narrow, &TransposePolicy::of_small, &TransposePolicy::of_planes,
              &TransposePolicy::of_runs, &TransposePolicy::of_windows);
  check_table("flip", kFlipPolicies, &FlipPolicy::evidence, &FlipPolicy::of_packs);
  check_table("reduce", kReducePolicies, &ReducePolicy::vectors, &ReducePolicy::matrices,
              &ReducePolicy::short_vectors, &ReducePolicy::short_rows, &ReducePolicy::segments,
              &ReducePolicy::others);
  check_table("read ahead", kReadAheadPolicies, &ReadAheadPolicy::evidence);
  check_table("look back", kLookBackPolicies, &LookBackPolicy::evidence);
  check_table("scan", kScanPolicies, &ScanPolicy::vectors, &ScanPolicy::rows, &ScanPolicy::short_rows,
              &ScanPolicy::columns, &ScanPolicy::others);
  check_table("select", kSelectPolicies, &SelectPolicy::copies, &SelectPolicy::partitions,
              &SelectPolicy::others);
  check_table("sort", kSortPolicies, &SortPolicy::evidence, &SortPolicy::of_one_row);
  check_table("top_k", kTopKPolicies, &TopKPolicy::evidence, &TopKPolicy::of_radix);
  check_table("sort_rows", kSortRowsPolicies, &SortRowsPolicy::evidence, &SortRowsPolicy::of_passes);
  check_table("gather", kGatherPolicies, &GatherPolicy::evidence);
  check_table("merge", kMergePolicies, &MergePolicy::evidence);
  check_table("histogram", kHistogramPolicies, &HistogramPolicy::words, &HistogramPolicy::bytes,
              &HistogramPolicy::many, &HistogramPolicy::others);
  check_table("histogram_weighted", kWeightedPolicies, &WeightedPolicy::local, &WeightedPolicy::others);
  check_table("heat", kHeatPolicies, &HeatPolicy::evidence, &HeatPolicy::others, &HeatPolicy::of_threads);
  check_table("stencil", kStencilPolicies, &StencilPolicy::evidence, &StencilPolicy::of_blocks,
              &StencilPolicy::others, &StencilPolicy::of_threads);
  check_table("separable", kSeparablePolicies, &SeparablePolicy::evidence, &SeparablePolicy::of_packed,
              &SeparablePolicy::of_units, &SeparablePolicy::others);
  check_table("median_blur and sobel", kWindowPolicies, &WindowPolicy::evidence, &WindowPolicy::of_gradients);
  check_table("box_blur", kBoxPolicies, &BoxPolicy::evidence, &BoxPolicy::of_shuffle, &BoxPolicy::of_two_pass,
              &BoxPolicy::others);
  check_table("moving_mean", kMovingMeanPolicies, &MovingMeanPolicy::evidence, &MovingMeanPolicy::of_one_pass,
              &MovingMeanPolicy::of_ring, &MovingMeanPolicy::of_short_rows);
  check_table("softmax", kSoftmaxPolicies, &RowPolicy::evidence);
  check_table("columns", kColumnPolicies, &ColumnPolicy::evidence);
  check_table("norm", kNormPolicies, &RowPolicy::evidence);
  check_table("rotary", kRotaryPolicies, &RotaryPolicy::evidence);
  check_table(
      "attention", kAttentionPolicies, &AttentionPolicy::evidence, &AttentionPolicy::units,
      [](const AttentionPolicy& row) { return row.split.evidence; },
      [](const AttentionPolicy& row) { return row.split.mma_evidence; });
  check_table("attention by matrix units", attention::units::kPolicies, &attention::units::Policy::evidence);
  check_table("append_to_cache", kAppendToCachePolicies, &AppendToCachePolicy::evidence);
  check_table("pool", kPoolPolicies, &PoolPolicy::evidence);
  check_table("global_pool", kGlobalPoolPolicies, &GlobalPoolPolicy::evidence);
  check_table("gemm by matrix units", gemm::units::kPolicies, &gemm::units::Policy::evidence);
  check_table("gemm", gemm::kPolicies, &gemm::Policy::evidence, &gemm::Policy::cpu_evidence);
  using NvidiaPolicy = gemm::nvidia::Policy;
  check_table("gemm, NVIDIA's own", gemm::nvidia::kPolicies, &NvidiaPolicy::multistage_evidence,
              &NvidiaPolicy::wgmma_evidence, &NvidiaPolicy::mma_evidence, &NvidiaPolicy::dmma_evidence,
              &NvidiaPolicy::packed, &NvidiaPolicy::across, &NvidiaPolicy::turned,
              &NvidiaPolicy::fp8_evidence, &NvidiaPolicy::small_evidence);
  check_table("complex_gemm", complex_gemm::kComplexGemmPolicies, &complex_gemm::ComplexGemmPolicy::evidence,
              &complex_gemm::ComplexGemmPolicy::nvidia_evidence);
  check_table("bands of rows", kBandPolicies, &BandPolicy::evidence);
  check_table("check_segments", kCheckSegmentsPolicies, &CheckSegmentsPolicy::evidence);
  check_table("rates", kRatesPolicies, &RatesPolicy::evidence);
  check_table(
      "conv2d", conv2d::kPolicies, &conv2d::Policy::evidence,
      [](const conv2d::Policy& row) { return row.depthwise.cells_evidence; },
      [](const conv2d::Policy& row) { return row.depthwise.ring_evidence; });
  check_table("conv2d, NVIDIA's own", conv2d::nvidia::kPolicies, &conv2d::nvidia::Policy::evidence);
  check_table("conv2d by minimal filtering", conv2d::kWinogradPolicies, &conv2d::WinogradPolicy::evidence);
}

TEST_CASE("policies: evidence says where it was measured") {
  const Evidence measured{.device = "H200", .driver = "580.159", .what = "a sum", .share = "0.9 of copy"};
  smem::Device device = test::target("sm_90");
  CHECK(measured.text(device) ==
        "measured on a device of its family, H200, driver 580.159: a sum, 0.9 of copy");
  device.name = "NVIDIA H200";
  CHECK(measured.text(device) == "H200, driver 580.159: a sum, 0.9 of copy");
  CHECK(Evidence{.what = "no measurement: by arithmetic"}.text(device) == "no measurement: by arithmetic");
}
