// Copies A and B, of elements of 2 bytes, to where all lines begin at multiples of 16 bytes: gemm/wgmma.cl reads such lines several times as
// fast as others. A line is what is contiguous in memory.
//
// A work-item writes a piece of 16 bytes, from the two aligned pieces in which it lies. What a line's last piece has beyond the line is zeros.
//
// Launch: two dimensions of work-items: pieces of a line, lines; those of A in all its matrices, then those of B. No local memory.
#ifndef GROUP
#define GROUP 128  // work-items: a multiple of 32
#endif

// Of one operand. `packed`: its place in the packed buffer, from which its lines follow each other without gaps.
typedef struct {
  global const ushort* from;
  ulong pitch, stride;  // elements
  ulong lines, along;   // lines of a matrix, and elements of a line
  ulong packed, packed_pitch;
} operand;

// An aligned piece; of one that goes beyond `end` only the elements before, and zeros.
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
static inline uint cut_pair(uint x, ulong first, ulong inside) { return inside >= first + 2 ? x : inside == first + 1 ? x & 0xffff : 0; }

static inline void pack_piece(const operand* x, ulong line, ulong piece, global ushort* packed) {
  const ulong matrix = line / x->lines, first = piece * 8;
  if (first >= x->along) return;
  global const ushort* begin = x->from + matrix * x->stride;
  const ulong at = (ulong)(begin + (line - matrix * x->lines) * x->pitch + first), end = (ulong)(begin + (x->lines - 1) * x->pitch + x->along);
  const ulong low_at = at & ~15ul, inside = x->along - first;
  const uint words = (uint)at / 4 % 4, bits = (uint)at % 4 * 8;
  const uint4 low = read_piece(low_at, end);
  uint4 high = 0;
  if (at != low_at && low_at + 16 < end) high = read_piece(low_at + 16, end);
  const uint a = pick(words, low.x, low.y, low.z, low.w), b = pick(words, low.y, low.z, low.w, high.x), c = pick(words, low.z, low.w, high.x, high.y),
             d = pick(words, low.w, high.x, high.y, high.z), e = pick(words, high.x, high.y, high.z, high.w);
  *(global uint4*)(packed + x->packed + line * x->packed_pitch + first) =
      (uint4)(cut_pair(shift_pair(a, b, bits), 0, inside), cut_pair(shift_pair(b, c, bits), 2, inside), cut_pair(shift_pair(c, d, bits), 4, inside),
              cut_pair(shift_pair(d, e, bits), 6, inside));
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_pack(global const ushort* restrict a, ulong a_offset, ulong a_pitch, ulong a_stride, ulong a_lines, ulong a_along, ulong a_matrices,
               global const ushort* restrict b, ulong b_offset, ulong b_pitch, ulong b_stride, ulong b_lines, ulong b_along, ulong b_matrices,
               global ushort* packed, ulong packed_a, ulong packed_a_pitch, ulong packed_b, ulong packed_b_pitch) {
  operand of_a, of_b;
  of_a.from = a + a_offset, of_a.pitch = a_pitch, of_a.stride = a_stride, of_a.lines = a_lines, of_a.along = a_along;
  of_a.packed = packed_a, of_a.packed_pitch = packed_a_pitch;
  of_b.from = b + b_offset, of_b.pitch = b_pitch, of_b.stride = b_stride, of_b.lines = b_lines, of_b.along = b_along;
  of_b.packed = packed_b, of_b.packed_pitch = packed_b_pitch;
  const ulong piece = get_global_id(0), lines_of_a = a_lines * a_matrices, lines = lines_of_a + b_lines * b_matrices;
  // The second dimension of a launch is limited: what exceeds it is a loop.
  for (ulong line = get_global_id(1); line < lines; line += get_global_size(1)) {
    if (line < lines_of_a)
      pack_piece(&of_a, line, piece, packed);
    else
      pack_piece(&of_b, line - lines_of_a, piece, packed);
  }
}
