// Appends keys and values of new tokens to a cache, in packs: a work-item rotates two packs of a key, or copies one of a key or a value.
// With PACK 1 this is the first step of the ladder.
//
// Launch: one dimension; a grid-stride loop over the packs of all tokens. No local memory.
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef HEAD_SIZE
#define HEAD_SIZE 64  // elements of a key
#endif
#ifndef VALUE_SIZE
#define VALUE_SIZE 64  // elements of a value
#endif
#ifndef ROTATED
#define ROTATED 0  // elements of a key that are rotated, from the first on; an even number
#endif
#ifndef RAGGED
#define RAGGED 0  // 1: offsets say where tokens of sequences begin
#endif
#ifndef PAGED
#define PAGED 0  // 1: a table says where keys are
#endif
#include "common/rows.clh"
#include "common/rotation.clh"

#define PAIR_PACKS (ROTATED / 2 / PACK)
#define KEY_ITEMS (PAIR_PACKS + (HEAD_SIZE - ROTATED) / PACK)
#define ITEMS (KEY_ITEMS + VALUE_SIZE / PACK)  // of a token of a head

// Elements as they are in memory.
#if ELEMENT_HALF || ELEMENT_BFLOAT16
#define BITS ushort
#else
#define BITS uint
#endif
#if PACK == 1
typedef BITS pack_bits;
#else
typedef JOIN(BITS, PACK) pack_bits;
#endif
static inline void copy_pack(global ELEMENT* to, global const ELEMENT* from) { *(global pack_bits*)to = *(global const pack_bits*)from; }

// Offsets are cut to the tokens that there are.
static inline uint begin_of(global const uint* offsets, uint s, uint tokens) { return min(offsets[s], tokens); }
// The last sequence that begins at the token or before it.
UNUSED static inline uint sequence_of(global const uint* offsets, uint sequences, uint token, uint tokens) {
  uint low = 0, above = sequences;
  while (above - low > 1) {
    const uint middle = low + (above - low) / 2;
    if (begin_of(offsets, middle, tokens) <= token)
      low = middle;
    else
      above = middle;
  }
  return low;
}

// The numbers of a call, as one argument: see gemm/operation.clh.
typedef struct {
  ulong k_offset, k_batch, k_head, k_token, v_offset, v_batch, v_head, v_token, keys_offset, keys_batch, keys_head, keys_token;
  ulong values_offset, values_batch, values_head, values_token;
  uint sequences, heads, tokens;
  ulong capacity, lengths_offset, offsets_offset, table_offset, table_pitch;
  uint page_size, pages;
  long first_position;
} append_numbers;

// `tokens` of each sequence, or of all ragged ones. A cache has room for `capacity` keys of a sequence. turns[i]: of a rotation of pair i by one
// position, in 2^-64 turns.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void append_to_cache(global const ELEMENT* k, global const ELEMENT* v, global ELEMENT* keys, global ELEMENT* values,
                     global const uint* lengths, UNUSED global const uint* offsets, UNUSED global const uint* table,
                     UNUSED global const ulong* turns, append_numbers numbers) {
  const ulong vectors = (ulong)(RAGGED ? 1 : numbers.sequences) * numbers.tokens * numbers.heads;
  for (ulong id = get_global_id(0); id < vectors * ITEMS; id += get_global_size(0)) {
    const ulong vector = id / ITEMS, line = vector / numbers.heads;
    const uint item = (uint)(id - vector * ITEMS), head = (uint)(vector - line * numbers.heads);
    const ulong batch = line / numbers.tokens;  // of k and v
    const uint token = (uint)(line - batch * numbers.tokens);
#if RAGGED
    const uint sequence = sequence_of(offsets + numbers.offsets_offset, numbers.sequences, token, numbers.tokens);
    const uint begin = begin_of(offsets + numbers.offsets_offset, sequence, numbers.tokens);
    if (token < begin || token >= begin_of(offsets + numbers.offsets_offset, sequence + 1, numbers.tokens)) continue;  // of no sequence
    const uint number = token - begin;
#else
    const uint sequence = (uint)batch, number = token;
#endif
    const ulong at = (ulong)lengths[numbers.lengths_offset + sequence] + number;
    if (at >= numbers.capacity) continue;
#if PAGED
    const ulong matrix = table[numbers.table_offset + sequence * numbers.table_pitch + at / numbers.page_size], place = at % numbers.page_size;
    if (matrix >= numbers.pages) continue;
#else
    const ulong matrix = sequence, place = at;
#endif
    if (item >= KEY_ITEMS) {
      const uint d = (item - KEY_ITEMS) * PACK;
      copy_pack(values + numbers.values_offset + matrix * numbers.values_batch + head * numbers.values_head + place * numbers.values_token + d,
                v + numbers.v_offset + batch * numbers.v_batch + head * numbers.v_head + token * numbers.v_token + d);
      continue;
    }
    global const ELEMENT* const from = k + numbers.k_offset + batch * numbers.k_batch + head * numbers.k_head + token * numbers.k_token;
    global ELEMENT* const to = keys + numbers.keys_offset + matrix * numbers.keys_batch + head * numbers.keys_head + place * numbers.keys_token;
#if ROTATED
    if (item < PAIR_PACKS) {
      pack angles;
#pragma unroll
      for (uint i = 0; i < PACK; ++i) angles.each[i] = angle_at(turns[item * PACK + i], (long)at + numbers.first_position);
      const uint one = NEIGHBOURS ? 2 * item * PACK : item * PACK, two = NEIGHBOURS ? one + PACK : one + ROTATED / 2;
      packed_vector x = load_pack(from, one), y = load_pack(from, two);
      rotate_packs(&x, &y, cospi(angles.all), sinpi(angles.all));
      store_row_pack(to, one, HEAD_SIZE, 1, x);
      store_row_pack(to, two, HEAD_SIZE, 1, y);
      continue;
    }
#endif
    const uint d = ROTATED + (item - PAIR_PACKS) * PACK;
    copy_pack(to + d, from + d);
  }
}
