// Packs A and B, of elements of 2 bytes, into a buffer in which all lines begin at multiples of 16 bytes: nvidia/gemm/wgmma.cl reads
// such lines several times as fast. A line is a row or column that is contiguous in memory.
//
// A work-item writes pieces of 16 bytes, the same piece of LINES lines, each from the two aligned pieces that contain it. All loads
// are in flight before the first shift. The last piece of a line is filled with zeros.
//
// Launch: one dimension, work-items for the pieces and blocks of LINES lines of A's matrix, then of B's, fewer than 2^32; and
// the second dimension, the matrices of A or B, whichever has more. No local memory.
#include "gemm/packed.clh"

#ifndef GROUP
#define GROUP 128  // work-items: a multiple of 32
#endif
#ifndef LINES
#define LINES 4  // of a work-item: 1 to 8
#endif

// Of one operand. `packed`: its place in the packed buffer, from which its lines follow each other without gaps.
typedef struct {
  global const ushort* from;
  ulong pitch, stride;  // elements
  ulong lines, along;   // lines of a matrix, and elements of a line
  ulong packed, packed_pitch;
} operand;

// Loads an aligned piece; elements beyond `end` are zeros.
static inline uint4 read_piece(ulong at, ulong end) {
  if (at + 16 <= end) return *(global const uint4*)at;
  uint words[4] = {0, 0, 0, 0};
#pragma unroll
  for (uint i = 0; i < 8; ++i)
    if (at + 2 * i < end) words[i / 2] |= (uint)((global const ushort*)at)[i] << i % 2 * 16;
  return (uint4)(words[0], words[1], words[2], words[3]);
}

static inline uint pick(uint by, uint a, uint b, uint c, uint d) { return by & 2 ? (by & 1 ? d : c) : by & 1 ? b : a; }
// The two halves of the pair of words from bit `bits`, 0 or 16, on.
static inline uint shift_pair(uint low, uint high, uint bits) { return bits ? low >> 16 | high << 16 : low; }
// Of elements `first` and the next, those before `inside`.
static inline uint cut_pair(uint x, ulong first, ulong inside) {
  return inside >= first + 2 ? x : inside == first + 1 ? x & 0xffff : 0;
}

static inline __attribute__((always_inline)) void pack_pieces(const operand* x, uint place, ulong matrix,
                                                              global ushort* packed) {
  const uint pieces = (uint)((x->along + 7) / 8), block = place / pieces;
  const ulong line = (ulong)block * LINES, first = (ulong)(place - block * pieces) * 8, inside = x->along - first;
  global const ushort* begin = x->from + matrix * x->stride;
  const ulong end = (ulong)(begin + (x->lines - 1) * x->pitch + x->along), from = (ulong)(begin + line * x->pitch + first);
  uint4 low[LINES], high[LINES];
#pragma unroll
  for (uint j = 0; j < LINES; ++j) {
    const ulong at = from + j * x->pitch * 2, low_at = at & ~15ul;
    low[j] = high[j] = 0;
    if (line + j < x->lines) {
      low[j] = read_piece(low_at, end);
      if (at != low_at && low_at + 16 < end) high[j] = read_piece(low_at + 16, end);
    }
  }
  global ushort* to = packed + x->packed + (matrix * x->lines + line) * x->packed_pitch + first;
#pragma unroll
  for (uint j = 0; j < LINES; ++j)
    if (line + j < x->lines) {
      const uint at = (uint)(from + j * x->pitch * 2), words = at / 4 % 4, bits = at % 4 * 8;
      const uint a = pick(words, low[j].x, low[j].y, low[j].z, low[j].w),
                 b = pick(words, low[j].y, low[j].z, low[j].w, high[j].x),
                 c = pick(words, low[j].z, low[j].w, high[j].x, high[j].y),
                 d = pick(words, low[j].w, high[j].x, high[j].y, high[j].z),
                 e = pick(words, high[j].x, high[j].y, high[j].z, high[j].w);
      *(global uint4*)(to + j * x->packed_pitch) =
          (uint4)(cut_pair(shift_pair(a, b, bits), 0, inside), cut_pair(shift_pair(b, c, bits), 2, inside),
                  cut_pair(shift_pair(c, d, bits), 4, inside), cut_pair(shift_pair(d, e, bits), 6, inside));
    }
}

static inline operand operand_of(global const ushort* buffer, pack_source from, pack_target to) {
  operand x;
  x.from = buffer + from.offset;
  x.pitch = from.pitch, x.stride = from.stride, x.lines = from.lines, x.along = from.along;
  x.packed = to.offset, x.packed_pitch = to.pitch;
  return x;
}

// Work-items of an operand.
static inline ulong work_of(const operand* x) { return (x->along + 7) / 8 * ((x->lines + LINES - 1) / LINES); }

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_pack(global const ushort* restrict a, global const ushort* restrict b, global ushort* packed, pack_numbers numbers) {
  const operand of_a = operand_of(a, numbers.a, numbers.packed_a), of_b = operand_of(b, numbers.b, numbers.packed_b);
  const ulong place = get_global_id(0), of_a_all = work_of(&of_a);
  // A grid-stride loop, because the second dimension of a launch is limited.
  for (ulong matrix = get_global_id(1); matrix < max(numbers.a.matrices, numbers.b.matrices); matrix += get_global_size(1)) {
    if (place < of_a_all) {
      if (matrix < numbers.a.matrices) pack_pieces(&of_a, (uint)place, matrix, packed);
    } else if (place - of_a_all < work_of(&of_b)) {
      if (matrix < numbers.b.matrices) pack_pieces(&of_b, (uint)(place - of_a_all), matrix, packed);
    }
  }
}
