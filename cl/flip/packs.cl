// Copy of a matrix of small elements whose rows, columns or both run backwards, in packs of 16 bytes.
//
// As in vector.cl the caller reverses the order of rows. A work-item writes aligned packs of the output. The bytes of one lie in two
// aligned packs of the input, whatever the alignment of either row; their elements are shifted and reversed in registers. Where rows
// have no gaps between them, a pack of the output in which a row ends also has the first elements of the next one.
//
// Launch: one dimension. A row has a slot for each aligned pack that it may touch; a group has GROUP * PACKS slots of a matrix, which follow
// each other. Groups beyond the batch do nothing. All elements of the input lie in [in_begin, in_end).
#include "common/element.clh"
#include "common/divisor.clh"

#ifndef GROUP
#define GROUP 128  // work-items
#endif
#ifndef PACKS
#define PACKS 2  // of a work-item
#endif
#ifndef REVERSE
#define REVERSE 1  // 1: each row is written backwards
#endif
#define PACK 16  // bytes

// A pack of the output at `to`, a multiple of PACK: bytes [begin, split) are of one row, [split, end) of the next one. The input has the
// elements of either row from `from` and `next` on, if both rows went on in both directions. Places are in bytes.
typedef struct {
  long to, from, next;
  uint begin, split, end;
} pack_place;

// The elements in [from, from + PACK), a place in two aligned packs, in the order of the output.
static inline uint4 turned(uint4 low, uint4 high, uint byte) {
  const uint8 both = (uint8)(low, high);
  const uint8 of_two = byte & 8 ? both.s23456777 : both;
  const uint8 of_one = byte & 4 ? of_two.s12345677 : of_two;
#if ELEMENT_BYTES < 4
  const uint bits = byte % 4 * 8;
  const uint4 v = (uint4)((uint)((((ulong)of_one.s1 << 32) | of_one.s0) >> bits), (uint)((((ulong)of_one.s2 << 32) | of_one.s1) >> bits),
                          (uint)((((ulong)of_one.s3 << 32) | of_one.s2) >> bits), (uint)((((ulong)of_one.s4 << 32) | of_one.s3) >> bits));
#else
  const uint4 v = of_one.s0123;
#endif
#if !REVERSE || ELEMENT_BYTES == 16
  return v;
#elif ELEMENT_BYTES == 1  // NVIDIA's and AMD's compilers make six instructions a word of a swizzle of bytes
  return bitselect(rotate(v.s3210, (uint4)24), rotate(v.s3210, (uint4)8), (uint4)0x00ff00ff);
#elif ELEMENT_BYTES == 2
  return rotate(v.s3210, (uint4)16);
#elif ELEMENT_BYTES == 4
  return v.s3210;
#else
  return v.s2301;
#endif
}

// Whether the aligned packs that contain [from, from + PACK) lie in [low, high), the whole packs of the input.
static inline bool is_inside(long from, long low, long high) {
  const uint byte = (uint)from % PACK;
  return from - byte >= low && from - byte + (byte != 0 ? 2 * PACK : PACK) <= high;
}

static inline uint4 load_low(global const uchar* in, long from) { return *(global const uint4*)(in + (from - (uint)from % PACK)); }
static inline uint4 load_high(global const uchar* in, long from) {
  const uint byte = (uint)from % PACK;
  return *(global const uint4*)(in + (from - byte + (byte != 0 ? PACK : 0)));
}

// The first `split` bytes of one pack, and the others of another one.
static inline uint bytes_below(int bytes) { return bytes >= 4 ? 0xffffffffu : bytes <= 0 ? 0 : (1u << (8 * bytes)) - 1; }
static inline uint4 joined(uint4 first, uint4 second, uint split) {
  const int n = (int)split;
  return bitselect(second, first, (uint4)(bytes_below(n), bytes_below(n - 4), bytes_below(n - 8), bytes_below(n - 12)));
}

// A pack without its first bytes, below 16.
static inline ulong2 without(ulong2 pack, uint bytes) {
  const uint bits = bytes % 8 * 8;
  const ulong2 words = bytes & 8 ? (ulong2)(pack.y, 0) : pack;
  return (ulong2)((words.x >> bits) | ((words.y << 1) << (63 - bits)), words.y >> bits);
}

static inline void store_bytes(global uchar* to, ulong bytes, uint size) {
  if (size == 1) *to = (uchar)bytes;
  if (size == 2) *(global ushort*)to = (ushort)bytes;
  if (size == 4) *(global uint*)to = (uint)bytes;
  if (size == 8) *(global ulong*)to = bytes;
}

// Stores bytes [begin, end) of a pack.
static inline void store_part(global uchar* to, uint4 pack, uint begin, uint end) {
  ulong2 left = without(as_ulong2(pack), begin);
  uint at = begin;
#pragma unroll
  for (uint size = ELEMENT_BYTES; size < PACK; size *= 2) {
    if ((at & size) == 0 || at + size > end) continue;
    store_bytes(to + at, left.x, size);
    left = without(left, size);
    at += size;
  }
#pragma unroll
  for (uint size = PACK / 2; size >= ELEMENT_BYTES; size /= 2) {
    if (at + size > end) continue;
    store_bytes(to + at, left.x, size);
    left = without(left, size);
    at += size;
  }
}

// A pack whose aligned packs of the input are not all there: element by element.
static inline void copy_elements(global uchar* out, global const uchar* in, pack_place p) {
  for (uint k = p.begin; k < p.end; k += ELEMENT_BYTES) {
    const long from = k < p.split ? p.from : p.next;
    *(global element*)(out + (p.to + k)) = *(global const element*)(in + (from + (REVERSE ? PACK - ELEMENT_BYTES - k : k)));
  }
}

// A side of a matrix: where it begins, and from row to row, in bytes.
typedef struct {
  long first, pitch;
} matrix_side;
static inline matrix_side side_of(uint phase, ulong offset, long pitch, ulong stride, uint matrix) {
  matrix_side s;
  s.first = (long)(offset + matrix * stride) * ELEMENT_BYTES + phase;
  s.pitch = pitch * ELEMENT_BYTES;
  return s;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void flip_packs(global const element* restrict in, ulong in_offset, long in_pitch, ulong in_stride,
                global element* restrict out, ulong out_offset, long out_pitch, ulong out_stride,
                ulong rows, ulong cols, ulong batch, ulong in_begin, ulong in_end, divisor by_slots, divisor by_tiles) {
  const uint in_phase = (uint)(size_t)in % PACK, out_phase = (uint)(size_t)out % PACK;
  global const uchar* from_bytes = (global const uchar*)in - in_phase;
  global uchar* to_bytes = (global uchar*)out - out_phase;
  const uint matrix = divided(get_group_id(0), by_tiles);
  if (matrix >= batch) return;  // no barrier follows
  const uint first_slot = (get_group_id(0) - matrix * by_tiles.value) * (GROUP * PACKS), last_row = (uint)rows - 1;
  const matrix_side source = side_of(in_phase, in_offset, in_pitch, in_stride, matrix);
  const matrix_side result = side_of(out_phase, out_offset, out_pitch, out_stride, matrix);
  const long row_bytes = (long)(cols * ELEMENT_BYTES);
  const uint whole = (uint)(row_bytes / PACK), rest = (uint)row_bytes % PACK;
  const bool joins = row_bytes >= PACK && result.pitch == row_bytes;  // so that a pack has elements of two rows at most

  pack_place places[PACKS];
#pragma unroll
  for (uint n = 0; n < PACKS; ++n) {
    const uint at = first_slot + get_local_id(0) + n * GROUP, wanted_row = divided(at, by_slots), row = min(wanted_row, last_row);
    const long in_row = source.first + row * source.pitch, out_row = result.first + row * result.pitch;
    const uint phase = (uint)out_row % PACK;
    const uint last = whole + (uint)((int)(rest + phase + PACK - 1) / PACK - 1);  // slot of the row
    const uint wanted = at - wanted_row * by_slots.value, slot = min(wanted, last);
    pack_place p;
    p.to = out_row - phase + (long)slot * PACK;
    p.from = REVERSE ? in_row + (row_bytes - PACK + phase) - (long)slot * PACK : in_row - phase + (long)slot * PACK;
    p.begin = slot == 0 ? phase : 0;
    p.split = p.end = slot == last ? (rest + phase + PACK - 1) % PACK + 1 : PACK;
    p.next = in_row + source.pitch + (REVERSE ? row_bytes - PACK + (long)p.split : -(long)p.split);
    if (joins && row < last_row) p.end = PACK;
    const bool is_of_row_before = joins && p.begin > 0 && row > 0;
    if (wanted_row > last_row || wanted > last || is_of_row_before) p.begin = p.split = p.end = 0;
    places[n] = p;
  }

  // Packs beside the input's first and last element may lie outside of its buffer. Up to two packs beside a row are read.
  const long low = (long)in_begin * ELEMENT_BYTES + in_phase, high = (long)in_end * ELEMENT_BYTES + in_phase;
  const uint next_row = divided(first_slot + (GROUP * PACKS - 1), by_slots) + 1;  // which the last pack may have elements of
  const long first = source.first + divided(first_slot, by_slots) * source.pitch, end = source.first + next_row * source.pitch;
  if (min(first, end) - 2 * PACK < low || max(first, end) + row_bytes + 2 * PACK > high) {
    bool inside = true;
#pragma unroll
    for (uint n = 0; n < PACKS; ++n) {
      inside = inside && is_inside(places[n].from, low, high) &&
               (places[n].split == places[n].end || is_inside(places[n].next, low, high));
    }
    if (!inside) {
      for (uint n = 0; n < PACKS; ++n) copy_elements(to_bytes, from_bytes, places[n]);
      return;
    }
  }

  // All loads first, so that they are in flight together: the compiler cannot move them behind a branch both of whose sides use them.
  uint4 lows[PACKS], highs[PACKS], v[PACKS];
  bool has_ends = false;
#pragma unroll
  for (uint n = 0; n < PACKS; ++n) {
    lows[n] = load_low(from_bytes, places[n].from);
    highs[n] = load_high(from_bytes, places[n].from);
    has_ends = has_ends || places[n].split < places[n].end;
  }
  if (has_ends) {
    uint4 next_lows[PACKS], next_highs[PACKS];
#pragma unroll
    for (uint n = 0; n < PACKS; ++n) {
      places[n].next = places[n].split < places[n].end ? places[n].next : places[n].from;
      next_lows[n] = load_low(from_bytes, places[n].next);
      next_highs[n] = load_high(from_bytes, places[n].next);
    }
#pragma unroll
    for (uint n = 0; n < PACKS; ++n) {
      v[n] = joined(turned(lows[n], highs[n], (uint)places[n].from % PACK),
                    turned(next_lows[n], next_highs[n], (uint)places[n].next % PACK), places[n].split);
    }
  } else {
#pragma unroll
    for (uint n = 0; n < PACKS; ++n) v[n] = turned(lows[n], highs[n], (uint)places[n].from % PACK);
  }
#pragma unroll
  for (uint n = 0; n < PACKS; ++n) {
    const pack_place p = places[n];
    if (p.begin == 0 && p.end == PACK) {
      *(global uint4*)(to_bytes + p.to) = v[n];
    } else if (p.begin < p.end) {
      store_part(to_bytes + p.to, v[n], p.begin, p.end);
    }
  }
}
