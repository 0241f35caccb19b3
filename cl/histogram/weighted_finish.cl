// Weighted histogram, last launch: converts the fixed-point sums to results.
//
// Launch: one dimension; a grid-stride loop over `bins` * `batch` results. Matrix m has `tables` tables.
#include "histogram/weighted.clh"

#ifndef RESULT
#define RESULT float  // of integers: an integer of 32 or 64 bits, which wraps; else float or double
#endif
#ifndef RESULT_DOUBLE
#define RESULT_DOUBLE 0
#endif
#if RESULT_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void histogram_weighted_finish(global const ulong* restrict sums, global const uint* restrict marks,
                                      global const uint* restrict greatest, uint room, uint bins, ulong batch, ulong tables,
                                      global RESULT* restrict out, ulong out_offset) {
  for (ulong r = get_global_id(0); r < bins * batch; r += get_global_size(0)) {
    const ulong matrix = r / bins, bin = r - matrix * bins;
    ulong sum = 0;
    for (ulong t = 0; t < tables; ++t) sum += sums[(matrix * tables + t) * bins + bin];
#if WEIGHT_FLOATING
    // In two steps, because 2^-scale may overflow or underflow the type.
    const int scale = scale_for(*greatest, room);
    const RESULT value = ldexp(ldexp((RESULT)(long)sum, -62), 62 - scale);
    out[out_offset + r] = marks[r] != 0 ? (RESULT)NAN : value;
#else
    out[out_offset + r] = (RESULT)sum;
    (void)greatest, (void)room, (void)marks;
#endif
  }
}
