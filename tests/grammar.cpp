// The grammar of calls, proved by the compiler: op(context, inputs..., outputs..., what, options).
#include <smem/smem.hpp>

#include "support/failure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace {

// Every call whose output `out` is a vector, a matrix or a grid, without and with `{}` in its trailing
// places. v, m, g: inputs; w, h: other outputs.
// clang-format off
#define VECTOR_CALLS(CALL)                                                                     \
  CALL(smem::reduce(c, v, out, {}, {}))                                                        \
  CALL(smem::reduce(c, v, out, smem::ReduceOp::max, {}))                                       \
  CALL(smem::reduce(c, v, out, smem::ReduceOp::max))                                           \
  CALL(smem::reduce_rows(c, m, out, {}, {}))                                                   \
  CALL(smem::reduce_rows(c, m, out, smem::ReduceOp::max))                                      \
  CALL(smem::reduce_columns(c, m, out, {}, {}))                                                \
  CALL(smem::reduce_columns(c, m, out, smem::ReduceOp::max))                                   \
  CALL(smem::reduce_segments(c, v, v, out, {}, {}))                                            \
  CALL(smem::reduce_segments(c, v, v, out, smem::ReduceOp::max))                               \
  CALL(smem::top_k(c, v, out, w))                                                              \
  CALL(smem::top_k(c, v, out, w, {}))                                                          \
  CALL(smem::top_k(c, v, out, w, {}, {}))                                                      \
  CALL(smem::sort_segments(c, v, v, out))                                                      \
  CALL(smem::sort_segments(c, v, v, out, {}))                                                  \
  CALL(smem::sort_segments(c, v, v, out, {}, {}))                                              \
  CALL(smem::sort_pairs_segments(c, v, v, v, out, w))                                          \
  CALL(smem::sort_pairs_segments(c, v, v, v, w, out, {}, {}))                                  \
  CALL(smem::argsort_segments(c, v, v, out))                                                   \
  CALL(smem::argsort_segments(c, v, v, out, {}, {}))                                           \
  CALL(smem::gather(c, v, v, out))                                                             \
  CALL(smem::gather(c, v, v, out, {}))                                                         \
  CALL(smem::gather(c, v, v, out, {}, {}))                                                     \
  CALL(smem::scatter(c, v, v, out))                                                            \
  CALL(smem::scatter(c, v, v, out, {}, {}))                                                    \
  CALL(smem::merge(c, v, v, out))                                                              \
  CALL(smem::merge(c, v, v, out, {}))                                                          \
  CALL(smem::merge(c, v, v, out, {}, {}))                                                      \
  CALL(smem::merge_pairs(c, v, v, v, v, out, w))                                               \
  CALL(smem::merge_pairs(c, v, v, v, v, w, out, {}, {}))                                       \
  CALL(smem::lower_bound(c, v, v, out))                                                        \
  CALL(smem::lower_bound(c, v, v, out, {}, {}))                                                \
  CALL(smem::upper_bound(c, v, v, out, {}))                                                    \
  CALL(smem::sort_by(c, v, out, {}))                                                           \
  CALL(smem::sort_by(c, v, out, {}, {}))                                                       \
  CALL(smem::nth_element(c, v, out, {}))                                                       \
  CALL(smem::nth_element(c, v, out, {}, {}))                                                   \
  CALL(smem::logsumexp_columns(c, m, out)) CALL(smem::logsumexp_columns(c, m, out, {}))        \
  CALL(smem::logsumexp(c, m, out))                                                             \
  CALL(smem::logsumexp(c, m, out, {}))                                                         \
  CALL(smem::dot(c, v, v, out))                                                                \
  CALL(smem::dot(c, v, v, out, {}))                                                            \
  CALL(smem::dot(c, v, v, out, {}, {}))                                                        \
  CALL(smem::matvec(c, m, v, out))                                                             \
  CALL(smem::matvec(c, m, v, out, {}))                                                         \
  CALL(smem::matvec(c, m, v, out, {}, {}))                                                     \
  CALL(smem::vecmat(c, v, m, out))                                                             \
  CALL(smem::vecmat(c, v, m, out, {}))                                                         \
  CALL(smem::vecmat(c, v, m, out, {}, {}))                                                     \
  CALL(smem::inclusive_scan(c, v, out))                                                        \
  CALL(smem::inclusive_scan(c, v, out, {}))                                                    \
  CALL(smem::inclusive_scan(c, v, out, {}, {}))                                                \
  CALL(smem::exclusive_scan(c, v, out))                                                        \
  CALL(smem::exclusive_scan(c, v, out, {}))                                                    \
  CALL(smem::exclusive_scan(c, v, out, {}, {}))                                                \
  CALL(smem::exclusive_scan(c, v, out, {}, {}, {}))                                            \
  CALL(smem::inclusive_scan_segments(c, v, v, out))                                            \
  CALL(smem::inclusive_scan_segments(c, v, v, out, {}))                                        \
  CALL(smem::inclusive_scan_segments(c, v, v, out, {}, {}))                                    \
  CALL(smem::exclusive_scan_segments(c, v, v, out))                                            \
  CALL(smem::exclusive_scan_segments(c, v, v, out, {}))                                        \
  CALL(smem::exclusive_scan_segments(c, v, v, out, {}, {}))                                    \
  CALL(smem::exclusive_scan_segments(c, v, v, out, {}, {}, {}))                                \
  CALL(smem::inclusive_scan_by_key(c, v, v, out))                                              \
  CALL(smem::inclusive_scan_by_key(c, v, v, out, {}))                                          \
  CALL(smem::inclusive_scan_by_key(c, v, v, out, {}, {}))                                      \
  CALL(smem::exclusive_scan_by_key(c, v, v, out))                                              \
  CALL(smem::exclusive_scan_by_key(c, v, v, out, {}))                                          \
  CALL(smem::exclusive_scan_by_key(c, v, v, out, {}, {}))                                      \
  CALL(smem::exclusive_scan_by_key(c, v, v, out, {}, {}, {}))                                  \
  CALL(smem::reduce_by_key(c, v, v, out, w, w))                                                \
  CALL(smem::reduce_by_key(c, v, v, out, w, w, {}))                                            \
  CALL(smem::reduce_by_key(c, v, v, w, out, w, {}, {}))                                        \
  CALL(smem::reduce_by_key(c, v, v, w, out))                                                   \
  CALL(smem::reduce_by_key(c, v, v, out, w, {}))                                               \
  CALL(smem::reduce_by_key(c, v, v, out, w, {}, {}))                                           \
  CALL(smem::unique_by_key(c, v, v, out, w, w))                                                \
  CALL(smem::unique_by_key(c, v, v, w, out, w, {}))                                            \
  CALL(smem::unique_by_key(c, v, v, w, out))                                                   \
  CALL(smem::unique_by_key(c, v, v, out, w, {}))                                               \
  CALL(smem::copy_if(c, v, out, w, text))                                                      \
  CALL(smem::copy_if(c, v, out, w, text, {}))                                                  \
  CALL(smem::copy_if(c, v, w, out, text, {}))                                                  \
  CALL(smem::copy_if(c, v, out, text))                                                         \
  CALL(smem::copy_if(c, v, out, text, {}))                                                     \
  CALL(smem::copy_flagged(c, v, v, out, w))                                                    \
  CALL(smem::copy_flagged(c, v, v, out, w, {}))                                                \
  CALL(smem::copy_flagged(c, v, v, w, out, {}))                                                \
  CALL(smem::copy_flagged(c, v, v, out))                                                       \
  CALL(smem::copy_flagged(c, v, v, out, {}))                                                   \
  CALL(smem::partition(c, v, out, w, text))                                                    \
  CALL(smem::partition(c, v, out, w, text, {}))                                                \
  CALL(smem::partition(c, v, w, out, text, {}))                                                \
  CALL(smem::partition(c, v, out, text))                                                       \
  CALL(smem::partition(c, v, out, text, {}))                                                   \
  CALL(smem::partition_flagged(c, v, v, out, w))                                               \
  CALL(smem::partition_flagged(c, v, v, out, w, {}))                                           \
  CALL(smem::partition_flagged(c, v, v, w, out, {}))                                           \
  CALL(smem::partition_flagged(c, v, v, out))                                                  \
  CALL(smem::partition_flagged(c, v, v, out, {}))                                              \
  CALL(smem::partition_reversed(c, v, out, w, text))                                           \
  CALL(smem::partition_reversed(c, v, out, w, text, {}))                                       \
  CALL(smem::partition_reversed(c, v, w, out, text, {}))                                       \
  CALL(smem::partition_reversed(c, v, out, text))                                              \
  CALL(smem::partition_reversed(c, v, out, text, {}))                                          \
  CALL(smem::partition_flagged_reversed(c, v, v, out, w))                                      \
  CALL(smem::partition_flagged_reversed(c, v, v, out, w, {}))                                  \
  CALL(smem::partition_flagged_reversed(c, v, v, w, out, {}))                                  \
  CALL(smem::partition_flagged_reversed(c, v, v, out))                                         \
  CALL(smem::partition_flagged_reversed(c, v, v, out, {}))                                     \
  CALL(smem::unique(c, v, out, w))                                                             \
  CALL(smem::unique(c, v, out, w, {}))                                                         \
  CALL(smem::unique(c, v, w, out, {}))                                                         \
  CALL(smem::unique(c, v, out))                                                                \
  CALL(smem::unique(c, v, out, {}))                                                            \
  CALL(smem::run_length_encode(c, v, out, w, w))                                               \
  CALL(smem::run_length_encode(c, v, out, w, w, {}))                                           \
  CALL(smem::run_length_encode(c, v, w, out, w, {}))                                           \
  CALL(smem::run_length_encode(c, v, w, w, out, {}))                                           \
  CALL(smem::run_length_encode(c, v, out, w))                                                  \
  CALL(smem::run_length_encode(c, v, out, w, {}))                                              \
  CALL(smem::run_length_encode(c, v, w, out, {}))                                              \
  CALL(smem::histogram(c, v, out, bins))                                                       \
  CALL(smem::histogram(c, v, out, bins, {}))                                                   \
  CALL(smem::histogram(c, m, out, bins))                                                       \
  CALL(smem::histogram(c, m, out, bins, {}))                                                   \
  CALL(smem::histogram_weighted(c, v, v, out, bins))                                           \
  CALL(smem::histogram_weighted(c, v, v, out, bins, {}))                                       \
  CALL(smem::histogram_weighted(c, m, m, out, bins))                                           \
  CALL(smem::histogram_weighted(c, m, m, out, bins, {}))

#define MATRIX_CALLS(CALL)                                                                     \
  CALL(smem::transpose(c, m, out))                                                             \
  CALL(smem::transpose(c, m, out, {}))                                                         \
  CALL(smem::transpose_in_place(c, out))                                                       \
  CALL(smem::transpose_in_place(c, out, {}))                                                   \
  CALL(smem::rotate(c, m, out, smem::Rotation::by_90))                                         \
  CALL(smem::rotate(c, m, out, smem::Rotation::by_90, {}))                                     \
  CALL(smem::flip(c, m, out, smem::Flip::vertical))                                            \
  CALL(smem::flip(c, m, out, smem::Flip::vertical, {}))                                        \
  CALL(smem::gemm(c, m, m, out))                                                               \
  CALL(smem::gemm(c, m, m, out, {}))                                                           \
  CALL(smem::gemm(c, m, m, out, {}, {}))                                                       \
  CALL(smem::layer_norm(c, m, out))                                                            \
  CALL(smem::layer_norm(c, m, out, {}))                                                        \
  CALL(smem::layer_norm(c, m, out, {}, {}))                                                    \
  CALL(smem::rms_norm(c, m, out))                                                              \
  CALL(smem::rms_norm(c, m, out, {}))                                                          \
  CALL(smem::rms_norm(c, m, out, {}, {}))                                                      \
  CALL(smem::layer_norm_columns(c, m, out)) CALL(smem::layer_norm_columns(c, m, out, {}))      \
  CALL(smem::layer_norm_columns(c, m, out, {}, {})) CALL(smem::rms_norm_columns(c, m, out))    \
  CALL(smem::rms_norm_columns(c, m, out, {}))                                                  \
  CALL(smem::rms_norm_columns(c, m, out, {}, {}))                                              \
  CALL(smem::rotary(c, m, out))                                                                \
  CALL(smem::rotary(c, m, out, {}))                                                            \
  CALL(smem::rotary(c, m, out, {}, {}))                                                        \
  CALL(smem::softmax_columns(c, m, out)) CALL(smem::softmax_columns(c, m, out, {}))            \
  CALL(smem::softmax_columns(c, m, out, {}, {})) CALL(smem::log_softmax_columns(c, m, out))    \
  CALL(smem::log_softmax_columns(c, m, out, {}))                                               \
  CALL(smem::log_softmax_columns(c, m, out, {}, {}))                                           \
  CALL(smem::softmax(c, m, out))                                                               \
  CALL(smem::softmax(c, m, out, {}))                                                           \
  CALL(smem::softmax(c, m, out, {}, {}))                                                       \
  CALL(smem::log_softmax(c, m, out))                                                           \
  CALL(smem::log_softmax(c, m, out, {}))                                                       \
  CALL(smem::log_softmax(c, m, out, {}, {}))                                                   \
  CALL(smem::sort_rows(c, m, out))                                                             \
  CALL(smem::sort_rows(c, m, out, {}))                                                         \
  CALL(smem::sort_rows(c, m, out, {}, {}))                                                     \
  CALL(smem::sort_pairs_rows(c, m, m, out, out))                                               \
  CALL(smem::sort_pairs_rows(c, m, m, out, out, {}, {}))                                       \
  CALL(smem::argsort_rows(c, m, out))                                                          \
  CALL(smem::argsort_rows(c, m, out, {}, {}))                                                  \
  CALL(smem::sort_columns(c, m, out))                                                          \
  CALL(smem::sort_columns(c, m, out, {}, {}))                                                  \
  CALL(smem::sort_pairs_columns(c, m, m, out, out, {}, {}))                                    \
  CALL(smem::argsort_columns(c, m, out, {}, {}))                                               \
  CALL(smem::gather_rows(c, m, v, out))                                                        \
  CALL(smem::gather_rows(c, m, v, out, {}))                                                    \
  CALL(smem::gather_rows(c, m, v, out, {}, {}))                                                \
  CALL(smem::scatter_rows(c, m, v, out, {}, {}))                                               \
  CALL(smem::permute_rows(c, m, v, out, {}, {}))                                               \
  CALL(smem::top_k_rows(c, m, out, out))                                                       \
  CALL(smem::top_k_rows(c, m, out, out, {}))                                                   \
  CALL(smem::top_k_rows(c, m, out, out, {}, {}))                                               \
  CALL(smem::inclusive_scan_rows(c, m, out))                                                   \
  CALL(smem::inclusive_scan_rows(c, m, out, {}))                                               \
  CALL(smem::inclusive_scan_rows(c, m, out, {}, {}))                                           \
  CALL(smem::exclusive_scan_rows(c, m, out))                                                   \
  CALL(smem::exclusive_scan_rows(c, m, out, {}))                                               \
  CALL(smem::exclusive_scan_rows(c, m, out, {}, {}))                                           \
  CALL(smem::exclusive_scan_rows(c, m, out, {}, {}, {}))                                       \
  CALL(smem::inclusive_scan_columns(c, m, out))                                                \
  CALL(smem::inclusive_scan_columns(c, m, out, {}))                                            \
  CALL(smem::inclusive_scan_columns(c, m, out, {}, {}))                                        \
  CALL(smem::exclusive_scan_columns(c, m, out))                                                \
  CALL(smem::exclusive_scan_columns(c, m, out, {}))                                            \
  CALL(smem::exclusive_scan_columns(c, m, out, {}, {}))                                        \
  CALL(smem::exclusive_scan_columns(c, m, out, {}, {}, {}))

#define GRID_CALLS(CALL)                                                                       \
  CALL(smem::stencil(c, g, out, stencil))                                                      \
  CALL(smem::stencil(c, g, out, stencil, {}))                                                  \
  CALL(smem::convolve2d(c, g, out, kernel))                                                    \
  CALL(smem::convolve2d(c, g, out, kernel, {}))                                                \
  CALL(smem::convolve2d(c, g, out, kernel, {}, {}))                                            \
  CALL(smem::conv2d(c, g, g, out))                                                             \
  CALL(smem::conv2d(c, g, g, out, {}))                                                         \
  CALL(smem::conv2d(c, g, g, out, {}, {}))                                                     \
  CALL(smem::separable(c, g, out, {weights, weights}))                                         \
  CALL(smem::separable(c, g, out, {weights, weights}, {}))                                     \
  CALL(smem::separable(c, g, out, {weights, weights}, {}, {}))                                 \
  CALL(smem::gaussian_blur(c, g, out, {.sigma = 2}))                                           \
  CALL(smem::gaussian_blur(c, g, out, {.sigma = 2}, {}))                                       \
  CALL(smem::gaussian_blur(c, g, out, {.sigma = 2}, {}, {}))                                   \
  CALL(smem::box_blur(c, g, out, 3))                                                           \
  CALL(smem::box_blur(c, g, out, 3, {}))                                                       \
  CALL(smem::box_blur(c, g, out, 3, {}, {}))                                                   \
  CALL(smem::median_blur(c, g, out, 3))                                                        \
  CALL(smem::median_blur(c, g, out, 3, {}))                                                    \
  CALL(smem::median_blur(c, g, out, 3, {}, {}))                                                \
  CALL(smem::sobel(c, g, out))                                                                 \
  CALL(smem::sobel(c, g, out, {}))                                                             \
  CALL(smem::sobel(c, g, out, {}, {}))                                                         \
  CALL(smem::sobel(c, g, out, {}, {}, {}))                                                     \
  CALL(smem::unsharp_mask(c, g, out))                                                          \
  CALL(smem::unsharp_mask(c, g, out, {}))                                                      \
  CALL(smem::unsharp_mask(c, g, out, {}, {}))                                                  \
  CALL(smem::unsharp_mask(c, g, out, {}, {}, {}))                                              \
  CALL(smem::max_pool2d(c, g, out))                                                            \
  CALL(smem::max_pool2d(c, g, out, {}))                                                        \
  CALL(smem::max_pool2d(c, g, out, {}, {}))                                                    \
  CALL(smem::max_pool2d(c, g, out, h))                                                         \
  CALL(smem::max_pool2d(c, g, out, h, {}))                                                     \
  CALL(smem::max_pool2d(c, g, out, h, {}, {}))                                                 \
  CALL(smem::max_pool2d(c, g, h, out, {}, {}))                                                 \
  CALL(smem::avg_pool2d(c, g, out))                                                            \
  CALL(smem::avg_pool2d(c, g, out, {}))                                                        \
  CALL(smem::avg_pool2d(c, g, out, {}, {}))                                                    \
  CALL(smem::global_max_pool(c, g, out))                                                       \
  CALL(smem::global_max_pool(c, g, out, {}))                                                   \
  CALL(smem::global_avg_pool(c, g, out))                                                       \
  CALL(smem::global_avg_pool(c, g, out, {}))                                                   \
  CALL(smem::heat(c, g, out, heat))                                                            \
  CALL(smem::heat(c, g, out, heat, {}))                                                        \
  CALL(smem::moving_mean(c, g, out, 5))                                                        \
  CALL(smem::moving_mean(c, g, out, 5, {}))                                                    \
  CALL(smem::moving_mean(c, g, out, 5, {}, {}))

// Calls that wait, and those that plan.
#define HOST_CALLS(CALL)                                                                       \
  CALL(smem::sum(c, out)) CALL(smem::sum(c, out, {})) CALL(smem::sum(c, out, {}, {}))          \
  CALL(smem::sum<double>(c, out, {}, {}))                                                      \
  CALL(smem::product(c, out)) CALL(smem::product(c, out, {}))                                  \
  CALL(smem::mean(c, out)) CALL(smem::mean(c, out, {})) CALL(smem::mean(c, out, {}, {}))       \
  CALL(smem::norm(c, out)) CALL(smem::norm(c, out, {}))                                        \
  CALL(smem::min(c, out)) CALL(smem::min(c, out, {}))                                          \
  CALL(smem::max(c, out)) CALL(smem::max(c, out, {}))                                          \
  CALL(smem::minmax(c, out)) CALL(smem::minmax(c, out, {}))                                    \
  CALL(smem::argmin(c, out)) CALL(smem::argmin(c, out, {}))                                    \
  CALL(smem::argmax(c, out)) CALL(smem::argmax(c, out, {}))                                    \
  CALL(smem::any(c, out)) CALL(smem::any(c, out, {}))                                          \
  CALL(smem::all(c, out)) CALL(smem::all(c, out, {}))                                          \
  CALL(smem::reduce(c, out, {})) CALL(smem::reduce(c, out, {}, {}))                            \
  CALL(smem::dot(c, out, out)) CALL(smem::dot(c, out, out, {})) CALL(smem::dot(c, out, out, {}, {})) \
  CALL(smem::histogram(c, out, bins)) CALL(smem::histogram(c, out, bins, {}))                  \
  CALL(smem::check_edges(c, out)) CALL(smem::check_segments(c, out, 9))

#define PLANS(CALL)                                                                            \
  CALL(transpose, Transpose) CALL(flip, Flip) CALL(reduce, Reduce) CALL(scan, Scan) CALL(select, Select) \
  CALL(histogram, Histogram) CALL(histogram_weighted, WeightedHistogram) CALL(gemm, Gemm) CALL(complex_gemm, ComplexGemm) \
  CALL(separable, Separable) CALL(box, Box) CALL(window, Window) CALL(stencil, Stencil)         \
  CALL(conv2d, Conv2d) CALL(pool, Pool) CALL(global_pool, GlobalPool) CALL(heat, Heat)          \
  CALL(moving_mean, MovingMean) CALL(softmax, Softmax) CALL(softmax_columns, SoftmaxColumns) CALL(top_k, TopK) CALL(norm, Norm) \
  CALL(norm_columns, NormColumns)                                                              \
  CALL(rotary, Rotary) CALL(attention, Attention) CALL(append_to_cache, AppendToCache) CALL(rates, Rates)  \
  CALL(sort_rows, SortRows) CALL(sort_segments, SortSegments) CALL(gather, Gather) CALL(merge, Merge)  \
  CALL(bounds, Bounds) CALL(sort_by, SortBy) CALL(reduce_by_key, ReduceByKey)
// clang-format on

template <class Out>
struct Calls {
#define ARGUMENTS                                                                                            \
  const smem::Context &c, Out out, V v, M m, G g, W w, H h, const std::string &text, const smem::Bins &bins, \
      const smem::Stencil &stencil, const smem::ConvolutionKernel &kernel, std::span<const double> weights,  \
      const smem::Heat &heat
#define ACCEPTED(...) \
  static_assert(      \
      requires(ARGUMENTS) { __VA_ARGS__; }, #__VA_ARGS__);
#define REFUSED(...) \
  static_assert(     \
      !requires(ARGUMENTS) { __VA_ARGS__; }, "refused: " #__VA_ARGS__);
  template <class V, class M, class G, class W, class H>
  static constexpr bool vectors_are_accepted() {
    VECTOR_CALLS(ACCEPTED)
    return true;
  }
  template <class V, class M, class G, class W, class H>
  static constexpr bool matrices_are_accepted() {
    MATRIX_CALLS(ACCEPTED)
    return true;
  }
  template <class V, class M, class G, class W, class H>
  static constexpr bool grids_are_accepted() {
    GRID_CALLS(ACCEPTED)
    return true;
  }
  template <class V, class M, class G, class W, class H>
  static constexpr bool all_are_refused() {
    VECTOR_CALLS(REFUSED)
    MATRIX_CALLS(REFUSED)
    GRID_CALLS(REFUSED)
    return true;
  }
  template <class V, class M, class G, class W, class H>
  static constexpr bool host_calls_are_accepted() {
    HOST_CALLS(ACCEPTED)
    return true;
  }
};

using smem::GridView, smem::MatrixView, smem::VectorView;
template <class T>
using Array = const smem::Array<T>&;

// Typed views and arrays; const views as inputs; untyped views.
static_assert(Calls<VectorView<float>>::vectors_are_accepted<
              VectorView<float>, MatrixView<float>, GridView<float>, VectorView<float>, GridView<float>>());
static_assert(Calls<Array<float>>::vectors_are_accepted<
              Array<float>, MatrixView<const float>, GridView<const float>, Array<float>, GridView<float>>());
static_assert(Calls<smem::Vector>::vectors_are_accepted<VectorView<const float>, smem::ConstMatrix,
                                                        smem::ConstGrid, smem::Vector, smem::Grid>());
static_assert(Calls<MatrixView<float>>::matrices_are_accepted<
              Array<float>, MatrixView<const float>, GridView<float>, Array<float>, GridView<float>>());
static_assert(Calls<smem::Matrix>::matrices_are_accepted<Array<float>, smem::ConstMatrix, smem::ConstGrid,
                                                         smem::Vector, smem::Grid>());
static_assert(Calls<GridView<float>>::grids_are_accepted<
              Array<float>, MatrixView<float>, GridView<const float>, Array<float>, GridView<float>>());
static_assert(Calls<smem::Grid>::grids_are_accepted<Array<float>, MatrixView<float>, smem::ConstGrid,
                                                    smem::Vector, smem::Grid>());
static_assert(Calls<Array<float>>::host_calls_are_accepted<Array<float>, MatrixView<float>, GridView<float>,
                                                           Array<float>, GridView<float>>());
static_assert(Calls<VectorView<const float>>::host_calls_are_accepted<
              Array<float>, MatrixView<float>, GridView<float>, Array<float>, GridView<float>>());

// An output of const elements does not compile.
template <class Out>
constexpr bool refused = Calls<Out>::template all_are_refused<
    Array<float>, MatrixView<float>, GridView<float>, Array<float>, GridView<float>>();
static_assert(refused<VectorView<const float>> && refused<smem::ConstVector>);
static_assert(refused<MatrixView<const float>> && refused<smem::ConstMatrix>);
static_assert(refused<GridView<const float>> && refused<smem::ConstGrid>);

// Views have an element type: numbers, or opaque bytes.
struct Pixel {
  float red, green, blue;
};
static_assert(smem::element_of<const smem::half> == smem::Scalar::half &&
              smem::element_of<Pixel> == smem::ElementType::of_bytes(12) && !smem::element_of<bool>.scalar);

// An element is in braces, a number of elements is a Count.
template <class T, class... Arguments>
concept Makes = requires(const smem::Context& context, Arguments... arguments) {
  smem::Array<T>(context, arguments...);
};
static_assert(Makes<float, smem::Count> && Makes<float, std::vector<float>> &&
              Makes<float, std::span<const float>> && Makes<int, std::initializer_list<int>>);
static_assert(!Makes<float, int> && !Makes<float, std::size_t> && !Makes<int, std::int64_t>);

// Events that a kernel waits for are in braces.
static_assert(requires(const smem::Kernel& kernel, const cl::Event& event, const smem::Array<int>& array) {
  kernel({}, {event}, array);
  kernel({}, {event, event}, array, cl_int{1});
  kernel({}, {}, array);
});

// Every plan function has its overrides as last argument, which may be `{}`.
#define PLAN(NAME, PROBLEM)                                                                   \
  static_assert(requires(const smem::Device& device, const smem::PROBLEM##Problem& problem) { \
    { smem::plan_##NAME(device, problem) } -> std::same_as<smem::Plan>;                       \
    { smem::plan_##NAME(device, problem, {}) } -> std::same_as<smem::Plan>;                   \
    { smem::plan_##NAME(device, problem, {.variant = "naive"}) } -> std::same_as<smem::Plan>; \
  });
PLANS(PLAN)

}  // namespace

TEST_CASE("grammar: events to wait for are in braces, and the options hold them") {
  const smem::Context context;
  const smem::Array<int> a(context, {1, 2, 3, 4, 5, 6}), b(context, smem::Count{6}),
      c(context, smem::Count{6});
  cl_int status = CL_SUCCESS;
  const cl::Event gate(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  const smem::CallOptions options{.wait_for = {gate}};
  CHECK(gate.getInfo<CL_EVENT_REFERENCE_COUNT>() == 2);
  const cl::Event first = smem::transpose(context, a.matrix(2, 3), b.matrix(3, 2), options);
  const cl::Event second =
      smem::flip(context, b.matrix(3, 2), c.matrix(3, 2), smem::Flip::vertical, {.wait_for = {first, gate}});
  CHECK(second.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() > CL_COMPLETE);
  REQUIRE(clSetUserEventStatus(gate(), CL_COMPLETE) == CL_SUCCESS);
  CHECK(second.wait() == CL_SUCCESS);
  CHECK(c.to_host() == std::vector<int>{3, 6, 2, 5, 1, 4});
}

TEST_CASE("grammar: an array's elements are in braces") {
  const smem::Context context;
  CHECK(smem::Array<int>(context, {5}).to_host() == std::vector<int>{5});
  CHECK(smem::Array<int>(context, {1, 2, 3}).to_host() == std::vector<int>{1, 2, 3});
  CHECK(smem::Array<float>(context, {}).size() == 0);
  CHECK(smem::Array<float>(context, smem::Count{1000}).size() == 1000);
}

TEST_CASE("grammar: types that do not fit are refused by the argument's name") {
  const smem::Context context;
  const smem::Array<float> floats(context, std::vector<float>(64));
  const smem::Array<int> ints(context, std::vector<int>(64));
  const smem::Array<Pixel> pixels(context, smem::Count{64});
  const auto f = floats.matrix(4, 4), g = floats.matrix(4, 4, {.offset = 32});
  const auto i = ints.matrix(4, 4);
  const auto refused = [](const char* argument, const auto& call) {
    CHECK(test::failure_of(call).argument == argument);
  };
  refused("out", [&] { smem::transpose(context, f, i); });
  refused("out", [&] { smem::flip(context, f, i, smem::Flip::vertical); });
  refused("in", [&] { smem::reduce(context, pixels, floats, {}); });
  refused("out", [&] { smem::inclusive_scan(context, floats, pixels); });
  refused("b", [&] { smem::gemm(context, f, i, g); });
  refused("x", [&] { smem::matvec(context, f, ints, floats.vector(32, 4)); });
  refused("out", [&] { smem::unique(context, floats, ints); });
  refused("weights",
          [&] { smem::histogram_weighted(context, floats, pixels, ints, smem::Bins::even(4, 0, 1)); });
  refused("bins.edges", [&] { smem::histogram(context, floats, smem::Bins::between(ints)); });
  refused("out", [&] {
    smem::stencil(context, floats.grid({8, 8}), ints.grid({8, 8}), smem::Stencil::box({}, {1}));
  });
  refused("in", [&] { smem::box_blur(context, pixels.grid({8, 8}), floats.grid({8, 8}), 1); });
  refused("weights", [&] {
    smem::conv2d(context, floats.grid({8, 8}), ints.grid({1, 1}), floats.grid({8, 8}));
  });
  // Moved elements are bytes, or of one type.
  const auto bytes = smem::Matrix(ints.buffer()(), smem::ElementType::of_bytes(4), 4, 4);
  const smem::Array<float> from(context, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  smem::transpose(context, from.matrix(4, 4), bytes);
  smem::transpose(context, bytes, f);
  const std::vector<float> back = floats.to_host(), sent = from.to_host();
  CHECK(std::equal(sent.begin(), sent.end(), back.begin()));
}
