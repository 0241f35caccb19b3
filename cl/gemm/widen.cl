// Writes factors of fp8 to a buffer as halves, or with WIDE_FLOAT as floats, which have all their values. Lines begin at multiples of
// 8 elements there, and end with zeros up to such a multiple.
//
// Launch: a work-item for 8 neighbouring elements of a line of A, then of B; the second dimension is the batch, in a grid-stride loop.
#ifndef ELEMENT_TYPE
#define ELEMENT_TYPE 6  // of A: e4m3, or 7: e5m2
#endif
#ifndef B_TYPE
#define B_TYPE ELEMENT_TYPE
#endif
#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef WIDE_FLOAT
#define WIDE_FLOAT 0  // 1: to floats
#endif
#ifndef A_ALIGNED
#define A_ALIGNED 0  // 1: all lines of A begin at multiples of 8 bytes
#endif
#ifndef B_ALIGNED
#define B_ALIGNED 0
#endif
#include "gemm/packed.clh"
#include "common/work_group.clh"
#include "gemm/fp8.clh"

#if WIDE_FLOAT
typedef float wide;
typedef float8 wide8;
#define WIDE(code, type) fp8_value(code, type)
#else
typedef ushort wide;  // the bits of a half
typedef ushort8 wide8;
#define WIDE(code, type) fp8_half(code, type)
#endif

// Of one factor: lines that are contiguous in memory, of `along` elements.
typedef struct {
  global const uchar* from;
  ulong pitch, stride, lines, along;
  ulong packed, packed_pitch;  // elements of the buffer
} operand;

static inline ulong pieces_of(const operand* x) { return (x->along + 7) / 8; }

// Converts piece `place` of a matrix.
GROUP_FUNCTION void widen_piece(const operand* x, uint place, ulong matrix, global wide* packed, const uint type, const int aligned) {
  const uint pieces = (uint)pieces_of(x), line = place / pieces, piece = place - line * pieces;
  const ulong first = (ulong)piece * 8;
  global const uchar* from = x->from + matrix * x->stride + line * x->pitch + first;
  uchar8 codes = 0;
  if (first + 8 <= x->along) {
    codes = aligned ? *(global const uchar8*)from : vload8(0, from);
  } else {
    const uint left = (uint)(x->along - first);
    codes.s0 = from[0];
    if (left > 1) codes.s1 = from[1];
    if (left > 2) codes.s2 = from[2];
    if (left > 3) codes.s3 = from[3];
    if (left > 4) codes.s4 = from[4];
    if (left > 5) codes.s5 = from[5];
    if (left > 6) codes.s6 = from[6];
  }
  global wide8* to = (global wide8*)(packed + x->packed + (matrix * x->lines + line) * x->packed_pitch + first);
  *to = (wide8)(WIDE(codes.s0, type), WIDE(codes.s1, type), WIDE(codes.s2, type), WIDE(codes.s3, type), WIDE(codes.s4, type),
                WIDE(codes.s5, type), WIDE(codes.s6, type), WIDE(codes.s7, type));
}

static inline operand operand_of(global const uchar* buffer, pack_source from, pack_target to) {
  operand x;
  x.from = buffer + from.offset;
  x.pitch = from.pitch, x.stride = from.stride, x.lines = from.lines, x.along = from.along;
  x.packed = to.offset, x.packed_pitch = to.pitch;
  return x;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_widen(global const uchar* restrict a, global const uchar* restrict b, global wide* packed, pack_numbers numbers) {
  const operand of_a = operand_of(a, numbers.a, numbers.packed_a), of_b = operand_of(b, numbers.b, numbers.packed_b);
  const ulong place = get_global_id(0), of_a_all = numbers.a.lines * pieces_of(&of_a), of_b_all = numbers.b.lines * pieces_of(&of_b);
  for (ulong matrix = get_global_id(1); matrix < max(numbers.a.matrices, numbers.b.matrices); matrix += get_global_size(1)) {
    if (place < of_a_all) {
      if (matrix < numbers.a.matrices) widen_piece(&of_a, (uint)place, matrix, packed, ELEMENT_TYPE, A_ALIGNED);
    } else if (place - of_a_all < of_b_all) {
      if (matrix < numbers.b.matrices) widen_piece(&of_b, (uint)(place - of_a_all), matrix, packed, B_TYPE, B_ALIGNED);
    }
  }
}
