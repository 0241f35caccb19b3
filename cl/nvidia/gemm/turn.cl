// Packs A and B, of elements of 1 or 4 bytes, into a buffer in which all lines begin at multiples of 16 bytes: with k contiguous, as
// nvidia/gemm/wgmma.cl takes such elements, and in no other way; or of floats with k outermost, as nvidia/gemm/multistage.cl reads
// them fastest.
//
// With k contiguous, a line of the packed matrix is a row of A or a column of B; with k outermost, it is the numbers of all rows or
// columns at one k. Where neighbours of a packed line are neighbours in memory already, lines are copied from whatever address they
// begin at. Else a group transposes a block of LINES lines by BLOCK_WORDS words in local memory. A word's place in its line there is
// swizzled, so that writes and reads access all banks. The last piece of 16 bytes of a line is filled with zeros.
//
// Launch: GROUP work-items a group; a group for each block of A, then of B. Local memory: LINES * BLOCK_WORDS words.
#ifndef GROUP
#define GROUP 256  // work-items: 64, 128, 256
#endif
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 4  // 1 or 4
#endif
#ifndef A_TURNED
#define A_TURNED 1  // 1: lines of the packed A are not contiguous in memory
#endif
#ifndef B_TURNED
#define B_TURNED 1
#endif
#ifndef ALIGNMENT
#define ALIGNMENT 1  // bytes, of each line of A and B in memory: 4, 1
#endif
#include "gemm/packed.clh"
#include "common/work_group.clh"

#define LINES 128       // of a block
#define BLOCK_WORDS 32  // of a line in a block
#define EACH (4 / ELEMENT_BYTES)  // elements of a word
#define BLOCK_ALONG (BLOCK_WORDS * EACH)

// Of one operand: `lines` packed lines of `along` elements.
typedef struct {
  global const uchar* from;
  ulong pitch;  // bytes
  ulong lines, along;
  global uint* packed;
  ulong packed_pitch;  // words
} operand;

// Loads the aligned word at `at`; bytes beyond `end` are zeros.
static inline uint read_word(ulong at, ulong end) {
  if (at + 4 <= end) return *(global const uint*)at;
  uint word = 0;
  for (uint i = 0; i < 4; ++i)
    if (at + i < end) word |= (uint) * (global const uchar*)(at + i) << 8 * i;
  return word;
}
// Loads the first `bytes` of a word from any address, with zeros after them.
static inline uint gather_word(ulong at, ulong bytes, ulong end) {
  if (bytes == 0) return 0;
  const ulong aligned = at & ~3ul;
  const uint shift = (uint)at % 4;
  uint word = read_word(aligned, end);
  if (shift != 0) {
    const uint next = aligned + 4 < end ? read_word(aligned + 4, end) : 0;
    word = word >> 8 * shift | next << (32 - 8 * shift);
  }
  return bytes >= 4 ? word : word & ((1u << 8 * bytes) - 1);
}
static inline uint load_word(ulong at, ulong bytes, ulong end) {
  return ALIGNMENT >= 4 && bytes >= 4 ? *(global const uint*)at : gather_word(at, bytes, end);
}

#if ELEMENT_BYTES == 1
// Byte i of four words.
static inline uint bytes_of(const uint w[4], uint i) {
  return (w[0] >> 8 * i & 0xff) | (w[1] >> 8 * i & 0xff) << 8 | (w[2] >> 8 * i & 0xff) << 16 | (w[3] >> 8 * i & 0xff) << 24;
}
#endif

// The place of word `word` of line `line` in local memory.
static inline uint place_of(uint line, uint word) {
  return line * BLOCK_WORDS + (word ^ (ELEMENT_BYTES == 1 ? line / 4 : line) % BLOCK_WORDS);
}

// Reads the block at `line` and its element `first` into local memory, transposed: lines in memory lie across the packed ones.
GROUP_FUNCTION void read_turned(const operand* x, ulong line, ulong first, local uint* block, uint item) {
  const ulong end = (ulong)(x->from + (x->along - 1) * x->pitch + x->lines * ELEMENT_BYTES);
#if ELEMENT_BYTES == 4 && ALIGNMENT >= 4 && GROUP % LINES == 0
  if (line + LINES <= x->lines && first + BLOCK_WORDS <= x->along) {  // all loads of a whole block are in flight at once
    uint words[LINES * BLOCK_WORDS / GROUP];
    global const uchar* at = x->from + (first + item / LINES) * x->pitch + (line + item % LINES) * 4;
#pragma unroll
    for (uint i = 0; i < LINES * BLOCK_WORDS / GROUP; ++i, at += GROUP / LINES * x->pitch) words[i] = *(global const uint*)at;
#pragma unroll
    for (uint i = 0; i < LINES * BLOCK_WORDS / GROUP; ++i) block[place_of(item % LINES, item / LINES + i * (GROUP / LINES))] = words[i];
    return;
  }
#endif
#pragma unroll 4
  for (uint i = item; i < LINES / EACH * BLOCK_WORDS; i += GROUP) {
    const uint column = i % (LINES / EACH) * EACH, word = i / (LINES / EACH);
    const ulong inside = line + column < x->lines ? min(x->lines - line - column, (ulong)EACH) * ELEMENT_BYTES : 0;
    uint words[4];
#pragma unroll
    for (uint j = 0; j < EACH; ++j) {
      const ulong p = first + word * EACH + j;
      words[j] =
          p < x->along ? load_word((ulong)(x->from + p * x->pitch + (line + column) * ELEMENT_BYTES), inside, end) : 0;
    }
#if ELEMENT_BYTES == 4
    block[place_of(column, word)] = words[0];
#else
#pragma unroll
    for (uint j = 0; j < 4; ++j) block[place_of(column + j, word)] = bytes_of(words, j);
#endif
  }
}

// Writes the block from local memory, or from memory as it lies there: 4 words of a line at a time.
GROUP_FUNCTION void write_block(const operand* x, ulong line, ulong begin, const int turned, local const uint* block, uint item) {
  const ulong end = (ulong)(x->from + (x->lines - 1) * x->pitch + x->along * ELEMENT_BYTES);
#pragma unroll 4
  for (uint i = item; i < LINES * BLOCK_WORDS / 4; i += GROUP) {
    // 8 pieces of 4 lines for 32 work-items: lines whose words are swizzled differently.
    const uint piece = i % 8, rest = i / 8;
    const uint down = ELEMENT_BYTES == 1 ? rest / 16 * 16 + rest % 4 * 4 + rest / 4 % 4 : rest;
    const ulong first = begin + piece * (4 * EACH);
    if (line + down < x->lines && first < x->along) {
      uint words[4];
#pragma unroll
      for (uint j = 0; j < 4; ++j) {
        if (turned) {
          words[j] = block[place_of(down, piece * 4 + j)];
        } else {
          const ulong p = first + j * EACH, bytes = p < x->along ? min(x->along - p, (ulong)EACH) * ELEMENT_BYTES : 0;
          words[j] = load_word((ulong)(x->from + (line + down) * x->pitch + p * ELEMENT_BYTES), bytes, end);
        }
      }
      *(global uint4*)(x->packed + (line + down) * x->packed_pitch + first / EACH) =
          (uint4)(words[0], words[1], words[2], words[3]);
    }
  }
}

// Groups that have a block of the operand.
static inline ulong blocks_of(const operand* x) {
  return (x->lines + LINES - 1) / LINES * ((x->along + BLOCK_ALONG - 1) / BLOCK_ALONG);
}

GROUP_FUNCTION void turn(const operand* x, ulong number, const int turned, local uint* block, uint item) {
  const ulong down = (x->lines + LINES - 1) / LINES;
  const ulong line = number % down * LINES, first = number / down * BLOCK_ALONG;
  if (turned) {
    read_turned(x, line, first, block, item);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  write_block(x, line, first, turned, block, item);
}

static inline operand operand_of(global const uchar* buffer, pack_source from, const int turned, global uint* packed, pack_target to) {
  operand x;
  x.from = buffer + from.offset * ELEMENT_BYTES;
  x.pitch = from.pitch * ELEMENT_BYTES;
  x.lines = turned ? from.along : from.lines, x.along = turned ? from.lines : from.along;
  x.packed = packed + to.offset / EACH;
  x.packed_pitch = to.pitch / EACH;
  return x;
}

// Of one matrix each.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void gemm_turn(global const uchar* restrict a, global const uchar* restrict b, global uint* packed, pack_numbers numbers) {
  local uint block[LINES * BLOCK_WORDS];
  const uint item = get_local_id(0);
  const operand of_a = operand_of(a, numbers.a, A_TURNED, packed, numbers.packed_a);
  const operand of_b = operand_of(b, numbers.b, B_TURNED, packed, numbers.packed_b);
  const ulong number = get_group_id(0), of_a_all = numbers.a.matrices > 0 ? blocks_of(&of_a) : 0;
  if (number < of_a_all)
    turn(&of_a, number, A_TURNED, block, item);
  else if (numbers.b.matrices > 0)
    turn(&of_b, number - of_a_all, B_TURNED, block, item);
}
