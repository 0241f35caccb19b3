// Measures a device's two rates of the roofline model: a copy, and fused multiply-adds (smem::measure_rates).
//
// Launch: GROUP work-items a group.
// Local memory: none.
#include "common/stream.clh"

#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef STREAMING
#define STREAMING 0  // 1: non-temporal stores, which are faster on CPUs
#endif
#ifndef RUN
#define RUN 1  // neighbouring vectors that a work-item copies: many on CPUs
#endif
#ifndef WIDTH
#define WIDTH 4  // floats of a vector: 1, 4, 8, 16
#endif
#ifndef CHAINS
#define CHAINS 16  // independent chains of multiply-adds in a work-item: enough to hide their latency
#endif
#ifndef LENGTH
#define LENGTH 16  // multiply-adds of a chain in a round
#endif

#ifndef FUSED
#define FUSED 0  // 1: fma is fast, and mad may be two instructions, as on CPUs
#endif

#if WIDTH == 1
typedef float item;
#elif WIDTH == 4
typedef float4 item;
#elif WIDTH == 8
typedef float8 item;
#else
typedef float16 item;
#endif

static inline item multiply_add(item a, item b, item c) {
#if FUSED
  return fma(a, b, c);
#else
  return mad(a, b, c);
#endif
}

// to[i] = from[i] for `items` vectors.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void rates_copy(global const item* restrict from, global item* restrict to, ulong items) {
  for (ulong k = 0; k < RUN; ++k) {
    const ulong i = get_global_id(0) * RUN + k;
#if STREAMING
    if (i < items) STREAM(from[i], to + i);
#else
    if (i < items) to[i] = from[i];
#endif
  }
}

// 2 * CHAINS * LENGTH * WIDTH operations a round and work-item. The sums are stored, so that compilers do not remove them.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void rates_fp32(global float* sums, float factor, uint rounds) {
  item chain[CHAINS];
#pragma unroll
  for (uint c = 0; c < CHAINS; ++c) chain[c] = (item)(get_global_id(0) + c);
  for (uint round = 0; round < rounds; ++round) {
#pragma unroll
    for (uint k = 0; k < LENGTH; ++k) {
#pragma unroll
      for (uint c = 0; c < CHAINS; ++c) chain[c] = multiply_add(chain[c], (item)(factor), (item)(1.0f));
    }
  }
  item sum = (item)(0.0f);
#pragma unroll
  for (uint c = 0; c < CHAINS; ++c) sum += chain[c];
#if WIDTH == 1
  sums[get_global_id(0)] = sum;
#elif WIDTH == 4
  sums[get_global_id(0)] = sum.s0 + sum.s1 + sum.s2 + sum.s3;
#elif WIDTH == 8
  const float4 s = sum.lo + sum.hi;
  sums[get_global_id(0)] = s.s0 + s.s1 + s.s2 + s.s3;
#else
  const float4 s = sum.s0123 + sum.s4567 + sum.s89ab + sum.scdef;
  sums[get_global_id(0)] = s.s0 + s.s1 + s.s2 + s.s3;
#endif
}
