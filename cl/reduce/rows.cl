// Reduce short rows that follow each other without gaps.
//
// A work-group loads whole rows to local memory: neighbouring packs, so that loads are coalesced and wide whatever the length and the
// alignment of a row. Then a team of TEAM work-items has a row, of which each accumulates every TEAM-th run of STEP elements, and combines by a
// tree in local memory or by NVIDIA's shuffles. Of a product with a vector, the group has the vector in local memory too.
//
// Launch: one dimension, GROUP work-items a group, a group for each `piece` rows. Local memory: GROUP * UNROLL packs of 16 bytes, GROUP
// accumulators, and OTHERS numbers.
#include "reduce/input.clh"
#include "common/work_group.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef TEAM
#define TEAM 4  // work-items of a row: a power of two
#endif
#ifndef UNROLL
#define UNROLL 4  // packs in flight of a work-item
#endif
#ifndef TEAM_REDUCTION
#define TEAM_REDUCTION 0  // 0: in local memory, 2: by NVIDIA's shuffles
#endif
#if TEAM_REDUCTION == 2
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE(team_reduce, accumulator, combine)
#else
DEFINE_TEAM_REDUCE(team_reduce, accumulator, combine)
#endif

#ifndef STEP
#define STEP 1  // neighbours that a work-item takes at once: rows begin at multiples of so many elements
#endif
#ifndef NARROW_SUMS
#define NARROW_SUMS 0  // 1: sums of a row fit VALUE
#endif
#ifndef OTHERS
#define OTHERS 1024  // room for the elements of the vector, of a product
#endif

// Elements as they are in memory, PACK of which have 16 bytes.
#if ELEMENT_HALF
typedef ushort raw_element;
#else
typedef ELEMENT raw_element;
#endif
#if STEP == 1
typedef raw_element raw_step;
#else
#if ELEMENT_HALF
typedef JOIN(ushort, STEP) raw_step;
#else
typedef JOIN(ELEMENT, STEP) raw_step;
#endif
#endif
#if ELEMENT_HALF && STEP > 1 && defined(__NV_CL_C_VERSION)
#include "nvidia/half.clh"
#define WORDS_OF_STEP 1
#else
#define WORDS_OF_STEP 0
#endif

#if STEP == 1
typedef VALUE value_vector;
#else
typedef JOIN(VALUE, STEP) value_vector;
#endif
typedef union {
  value_vector all;
  VALUE each[STEP];
} value_step;

// The numbers of STEP elements.
static inline void load_step(VALUE* v, local const raw_element* from) {
  union {
    raw_step all;
    raw_element each[STEP];
#if WORDS_OF_STEP
    uint words[STEP / 2];
#endif
  } raw;
  raw.all = *(local const raw_step*)from;
#pragma unroll
  for (uint k = 0; k < STEP; ++k) {
#if WORDS_OF_STEP
    v[k] = half_of(raw.words[k / 2], k % 2);
#elif ELEMENT_HALF
    v[k] = vload_half(k, (const half*)raw.each);
#else
    v[k] = (VALUE)raw.each[k];
#endif
  }
}

// Loads `count` elements from an aligned address on.
GROUP_FUNCTION void read_rows(local uint4* tile, global const raw_element* from, uint count, uint item) {
  uint4 packs[UNROLL];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if ((u * GROUP + item + 1) * PACK <= count) packs[u] = ((global const uint4*)from)[u * GROUP + item];
#pragma unroll
  for (uint u = 0; u < UNROLL; ++u)
    if ((u * GROUP + item + 1) * PACK <= count) tile[u * GROUP + item] = packs[u];
  // The last pack may end behind the buffer.
  if (item < count % PACK) ((local raw_element*)tile)[count - count % PACK + item] = from[count - count % PACK + item];
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_rows(global const ELEMENT* restrict in, ulong in_offset, global const ELEMENT* restrict other, ulong other_offset, ulong rows,
                 uint cols, uint piece, global RESULT* restrict out, ulong out_offset) {
  local uint4 tile[GROUP * UNROLL];
#if TEAM > 1
  local accumulator scratch[GROUP];
#endif
  const uint item = get_local_id(0);
  const ulong first = get_group_id(0) * (ulong)piece, begin = in_offset + first * cols;
  const uint count = (uint)min(rows - first, (ulong)piece), shift = (uint)(begin % PACK);
  read_rows(tile, (global const raw_element*)in + (begin - shift), shift + count * cols, item);
#if OPERATION == OP_DOT
  local VALUE factors[OTHERS] __attribute__((aligned(16)));
  for (uint i = item; i < cols; i += GROUP) factors[i] = load_value(other, other_offset + i);
#else
  (void)other, (void)other_offset;
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint turn = 0; turn < count; turn += GROUP / TEAM) {
    // A team without a row reaches the barriers too.
    const uint number = turn + item / TEAM;
    accumulator mine = identity();
#if NARROW_SUMS
    VALUE sum = 0;
#endif
    if (number < count) {
      local const raw_element* row = (local const raw_element*)tile + shift + number * cols;
#pragma unroll 4
      for (uint i = item % TEAM * STEP; i < cols; i += TEAM * STEP) {
        VALUE v[STEP];
        load_step(v, row + i);
#if OPERATION == OP_DOT
        value_step x;
        x.all = *(local const value_vector*)(factors + i);
#endif
#pragma unroll
        for (uint k = 0; k < STEP; ++k) {
#if OPERATION == OP_DOT
          const term t = {(ACC)v[k], (ACC)x.each[k]};
          mine = accumulate(mine, t, i + k);
#elif NARROW_SUMS
          sum += v[k];
#else
          mine = accumulate(mine, v[k], i + k);
#endif
        }
      }
#if NARROW_SUMS
      mine = (accumulator)sum;
#endif
    }
#if TEAM > 1
    team_reduce(&mine, scratch, item, TEAM);
#endif
    if (item % TEAM == 0 && number < count) write_result(out + out_offset, first + number, mine, cols);
  }
}
