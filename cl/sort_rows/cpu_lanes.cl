// Sorts of rows of keys alone for a CPU: a thread sorts LANES rows at once, each in a lane of vectors, by a network of their images.
//
// The image of a key is the integer that sorts as it does, of the key's own bits, from which the key is made again. Zeros of both signs have
// one image, and so have all NaNs: of rows that have negative zeros or NaNs, the keys are read once more and take their places in their order.
//
// Launch: one dimension, local size 1, any number of groups. Rows have at most MOST_KEYS keys, a multiple of 8.
#define MANY_ROWS 1  // a thread has more than one
#include "sort/keys.clh"
#include "sort_rows/rows.clh"

#ifndef LANES
#define LANES 8
#endif
#ifndef MOST_KEYS
#define MOST_KEYS 64
#endif
#if LANES == 16
#define HALF_LANES 8
#elif LANES == 8
#define HALF_LANES 4
#elif LANES == 4
#define HALF_LANES 2
#else
#error "4, 8 or 16 lanes"
#endif
#define NETWORK_BLOCK 256  // vectors
#define IMAGE KEY
#include "sort_rows/lane_network.clh"
#define vector images
#define UNROLLED _Pragma("unroll")
#define PLAIN_LOOP _Pragma("clang loop vectorize(disable)")  // gathers and scatters are slower
#include "common/transpose_square.clh"

typedef struct __attribute__((packed)) { images v; } loose_images;
typedef struct __attribute__((packed)) { JOIN(IMAGE, HALF_LANES) v; } loose_half;
#define IMAGE_SIGN ((IMAGE)SIGN)
#define IMAGE_ALL ((IMAGE)ALL_BITS)
#define IMAGE_OF_ZERO (DESCENDING ? (IMAGE)(SIGN - 1) : IMAGE_SIGN)
#define IMAGE_OF_NAN (DESCENDING != NAN_LEAST ? (IMAGE)0 : IMAGE_ALL)

// order_of() of vectors.
static inline images images_of(images x) {
#if ORDER == 1
  x ^= IMAGE_SIGN;
#elif ORDER == 2
  const images magnitude = x & (IMAGE)(SIGN - 1);
  x = x >= IMAGE_SIGN ? IMAGE_SIGN - magnitude : IMAGE_SIGN + magnitude;
  x = magnitude > (IMAGE)INFINITE ? (images)(NAN_LEAST ? (IMAGE)0 : IMAGE_ALL) : x;
#elif ORDER == 3
  x ^= x >= IMAGE_SIGN ? (images)IMAGE_ALL : (images)IMAGE_SIGN;
#endif
  return DESCENDING ? ~x : x;
}

static inline images keys_of(images x) {
  if (DESCENDING) x = ~x;
#if ORDER == 1
  x ^= IMAGE_SIGN;
#elif ORDER == 2
  x = x >= IMAGE_SIGN ? x - IMAGE_SIGN : (IMAGE)0 - x;  // -m and SIGN - (SIGN - m) have the same bits but for SIGN
#elif ORDER == 3
  x ^= x >= IMAGE_SIGN ? (images)IMAGE_SIGN : (images)IMAGE_ALL;
#endif
  return x;
}

// Loads rows of `count` keys as their images, a row a lane. Returns in which lanes there are negative zeros or NaNs.
__attribute__((noinline)) uint load_rows(local images* v, global const KEY* const* rows, uint count) {
  union { images all; IMAGE each[LANES]; } special;
  special.all = 0;
  if (count < LANES / 2) {
    for (uint l = 0; l < LANES; ++l)
      PLAIN_LOOP for (uint i = 0; i < count; ++i) ((local IMAGE*)(v + i))[l] = rows[l][i];
  } else if (count < LANES) {
    images square[LANES];
    UNROLLED for (uint l = 0; l < LANES; ++l) {
      square[l].lo = ((global const loose_half*)(rows[l]))->v;
      square[l].hi = ((global const loose_half*)(rows[l] + count - LANES / 2))->v;
    }
    transpose(square);
    UNROLLED for (uint i = 0; i < LANES / 2; ++i) v[i] = square[i], v[count - LANES / 2 + i] = square[LANES / 2 + i];
  } else {
    for (uint i = 0; i < count; i += LANES) {
      const uint at = min(i, count - LANES);  // the last ones overlap
      images square[LANES];
      UNROLLED for (uint l = 0; l < LANES; ++l) square[l] = ((global const loose_images*)(rows[l] + at))->v;
      transpose(square);
      UNROLLED for (uint l = 0; l < LANES; ++l) v[at + l] = square[l];
    }
  }
  for (uint i = 0; i < count; ++i) {
#if ORDER == 2
    const images magnitude = v[i] & (IMAGE)(SIGN - 1);
    special.all |= magnitude > (IMAGE)INFINITE || v[i] == IMAGE_SIGN ? (images)1 : (images)0;
#endif
    v[i] = images_of(v[i]);
  }
  for (uint i = count; i % 8 != 0; ++i) v[i] = IMAGE_ALL;
  uint lanes = 0;
  for (uint l = 0; l < LANES; ++l) lanes |= (special.each[l] != 0 ? 1u : 0u) << l;
  return lanes;
}

#if ORDER == 2
// Puts the zeros and NaNs of a row into its sorted keys, in their order.
__attribute__((noinline)) void put_special(local KEY* sorted, global const KEY* row, uint count) {
  uint zero = 0, nan = 0;
  for (uint i = 0; i < count; ++i) {
    const sortable image = order_of(row[i]);
    zero += image < IMAGE_OF_ZERO, nan += image < IMAGE_OF_NAN;
  }
  for (uint i = 0; i < count; ++i) {
    const KEY key = row[i], magnitude = key & (KEY)(SIGN - 1);
    if (magnitude == 0) sorted[zero++ * LANES] = key;
    if (magnitude > INFINITE) sorted[nan++ * LANES] = key;
  }
}
#endif

__attribute__((noinline)) void store_rows(local const images* v, global KEY* const* rows, uint there, uint count) {
  if (count < LANES / 2) {
    for (uint l = 0; l < there; ++l)
      PLAIN_LOOP for (uint i = 0; i < count; ++i) rows[l][i] = ((local const IMAGE*)(v + i))[l];
  } else if (count < LANES) {
    images square[LANES];
    UNROLLED for (uint i = 0; i < LANES / 2; ++i) square[i] = v[i], square[LANES / 2 + i] = v[count - LANES / 2 + i];
    transpose(square);
    UNROLLED for (uint l = 0; l < LANES; ++l)
      if (l < there) {
        ((global loose_half*)(rows[l]))->v = square[l].lo;
        ((global loose_half*)(rows[l] + count - LANES / 2))->v = square[l].hi;
      }
  } else {
    for (uint i = 0; i < count; i += LANES) {
      const uint at = min(i, count - LANES);
      images square[LANES];
      UNROLLED for (uint l = 0; l < LANES; ++l) square[l] = v[at + l];
      transpose(square);
      UNROLLED for (uint l = 0; l < LANES; ++l)
        if (l < there) ((global loose_images*)(rows[l] + at))->v = square[l];
    }
  }
}

kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void sort_rows_cpu_lanes(SORT_ROWS_ARGUMENTS) {
  USE_SORT_ROWS_ARGUMENTS;
  local images v[MOST_KEYS];
  for (ulong first = get_group_id(0) * LANES; first < all_rows; first += get_num_groups(0) * LANES) {
    const uint there = (uint)min(all_rows - first, (ulong)LANES), count = (uint)size;
    global const KEY* from[LANES];
    global KEY* to[LANES];
    for (uint l = 0; l < LANES; ++l) {
      const ulong row = first + min(l, there - 1);  // lanes without a row have the last one too
      from[l] = KEYS_OF(row), to[l] = OUT_OF(row);
    }
    const uint special = load_rows(v, from, count);
    sort_lanes(v, (count + 7) / 8 * 8);
    for (uint i = 0; i < count; ++i) v[i] = keys_of(v[i]);
#if ORDER == 2
    for (uint l = 0; l < there; ++l)
      if (special >> l & 1) put_special((local KEY*)v + l, from[l], count);
#else
    (void)special;
#endif
    store_rows(v, to, there, count);
  }
}
