// Transpose of packed arrays with a short side: many rows of few elements, few long rows, or many small matrices.
//
// A group's elements are one contiguous run of the side whose rows are short, and on the other side one run a row. All runs
// are read and written by neighbouring work-items, whatever the number of rows and columns; local memory does the permutation.
// Elements of less than four bytes are moved as words, by the alignment that each run happens to have: only the elements at the
// ends of a run are moved one at a time.
//
// SHAPE TALL: `strip` rows of all columns a group: one run in, one run of each column out. WIDE: all rows of `strip` columns:
// one run of each row in, one run out. WHOLE: as many whole matrices as CHUNK elements hold, at least one: one run in, one out.
//
// Launch: one dimension, GROUP work-items a group; TALL and WIDE: a group for each strip of each matrix. Local memory:
// LOCAL_WORDS words: those of CHUNK elements, padded.
#include "common/word.clh"

#define TALL 0
#define WIDE 1
#define WHOLE 2
#ifndef SHAPE
#define SHAPE TALL
#endif
#ifndef GROUP
#define GROUP 256  // work-items
#endif
#ifndef CHUNK
#define CHUNK 4096  // elements of a group, about
#endif
#ifndef LOCAL_WORDS
#define LOCAL_WORDS 5000  // words of local memory
#endif
#ifndef MULTIPLE
#define MULTIPLE 64  // elements that divide a strip
#endif
#ifndef UNROLL
#define UNROLL 8  // words in flight of a work-item
#endif
#ifndef PADDED
#define PADDED 1  // 0: TALL, of so many columns that neighbouring rows lie in different banks anyway
#endif
#ifndef IN_PLACE
#define IN_PLACE 0  // 1: in and out are the same square matrices; WHOLE only
#endif

#if IN_PLACE
#define RESTRICT
#else
#define RESTRICT restrict
#endif

// Division of numbers below 2^16 by one of them.
typedef struct {
  uint by, factor;
} divisor;
static inline divisor divisor_of(uint by) {
  divisor d;
  d.by = by;
  d.factor = 0xffffffffu / by + 1;  // 0 for 1
  return d;
}
static inline uint divided(uint n, divisor d) { return d.factor == 0 ? n : mul_hi(n, d.factor); }

// Elements of a strip: see plan/transpose_strips.cpp.
static inline uint strip_of(uint thin) {
  const uint strip = CHUNK / thin / MULTIPLE * MULTIPLE;
  return strip < MULTIPLE ? MULTIPLE : strip;
}

#if SHAPE != TALL
// Words of a run of `count` elements that begins with element `phase` of its first word.
static inline uint words_of(uint count, uint phase) { return (count + phase + WORD_ELEMENTS - 1) / WORD_ELEMENTS; }
#endif

// The place in local memory of word w of one contiguous run: a word of padding after 32 spreads rows over the banks.
static inline uint padded(uint w) { return PADDED ? w + w / 32 : w; }

#if WORD_ELEMENTS > 1 && SHAPE != WIDE
// The place of element `at` of such a run, in elements.
static inline uint padded_element(uint at) { return PADDED ? at + at / (32 * WORD_ELEMENTS) * WORD_ELEMENTS : at; }
#endif

#if WORD_ELEMENTS > 1 && SHAPE != WHOLE
// Element k of a word, the first one in the lowest bits.
static inline word shifted(element one, uint k) { return (word)one << (8 * ELEMENT_BYTES * k); }
#endif

#if SHAPE != TALL
static inline element element_of(local const word* tile, uint word_at, uint part) {
#if WORD_ELEMENTS > 1
  return ((local const element*)tile)[word_at * WORD_ELEMENTS + part];
#else
  (void)part;
  return tile[word_at];
#endif
}
#endif

#if SHAPE == WIDE
// Loads word w of the run of `count` elements from in[begin] on. Elements outside of the run are not read.
static inline word load_word(global const element* in, ulong begin, uint phase, uint w, uint count) {
#if WORD_ELEMENTS > 1
  const int first = (int)(w * WORD_ELEMENTS) - (int)phase;
  if (first >= 0 && first + WORD_ELEMENTS <= (int)count) return ((global const word*)in)[(begin + (ulong)first) / WORD_ELEMENTS];
  word result = 0;
  for (int k = 0; k < WORD_ELEMENTS; ++k)
    if (first + k >= 0 && first + k < (int)count) result |= (word)in[begin + (ulong)(long)(first + k)] << (8 * ELEMENT_BYTES * k);
  return result;
#else
  (void)phase, (void)count;
  return in[begin + w];
#endif
}
#endif

#if SHAPE != TALL
// Stores the elements of word w of such a run.
static inline void store_word(global element* out, ulong begin, uint phase, uint w, uint count, word value) {
#if WORD_ELEMENTS > 1
  const int first = (int)(w * WORD_ELEMENTS) - (int)phase;
  if (first >= 0 && first + WORD_ELEMENTS <= (int)count) {
    ((global word*)out)[(begin + (ulong)first) / WORD_ELEMENTS] = value;
  } else {
    for (int k = 0; k < WORD_ELEMENTS; ++k)
      if (first + k >= 0 && first + k < (int)count) out[begin + (ulong)(long)(first + k)] = (element)(value >> (8 * ELEMENT_BYTES * k));
  }
#else
  (void)phase, (void)count;
  out[begin + w] = value;
#endif
}
#endif

#if SHAPE != TALL || WORD_ELEMENTS > 1
static inline uint phase_of(ulong begin) { return (uint)begin % WORD_ELEMENTS; }
#endif

#if WORD_ELEMENTS > 1 && SHAPE != WIDE
// Small elements are loaded in pieces: words, or packs of 16 bytes where nothing lies between them in local memory.
#if PADDED
typedef word piece;
#define AHEAD UNROLL
#else
typedef uint4 piece;
#define AHEAD (UNROLL / 2)
#endif
#define PIECE (sizeof(piece) / ELEMENT_BYTES)  // elements

// How many elements lie before element `begin` in its piece, which is also their place in local memory.
static inline uint before_run(global const element* in, ulong begin) { return (uint)((size_t)(in + begin) / ELEMENT_BYTES % PIECE); }

// Loads a contiguous run into local memory. Elements outside of the run are not read.
static inline void load_run(local word* tile, global const element* in, ulong begin, uint count) {
  const uint before = before_run(in, begin), first = before > 0, end = (before + count) / PIECE;  // pieces that lie in the run
  global const piece* pieces = (global const piece*)(in + begin - before);
  for (uint p = first + get_local_id(0); p < end; p += GROUP * AHEAD) {
    piece v[AHEAD];
#pragma unroll
    for (uint u = 0; u < AHEAD; ++u) v[u] = pieces[min(p + u * GROUP, end - 1)];
#pragma unroll
    for (uint u = 0; u < AHEAD; ++u)
      if (p + u * GROUP < end) ((local piece*)tile)[padded(p + u * GROUP)] = v[u];
  }
  // The elements beside these pieces: of the first one, if the run begins inside of it, and of the last one.
  local element* cells = (local element*)tile;
  const uint head = first != 0 ? min((uint)PIECE - before, count) : 0, tail = max(end * (uint)PIECE, before + head) - before;
  for (uint i = get_local_id(0); i < head; i += GROUP) cells[padded_element(before + i)] = in[begin + i];
  for (uint i = tail + get_local_id(0); i < count; i += GROUP) cells[padded_element(before + i)] = in[begin + i];
}
#elif SHAPE != WIDE
static inline uint before_run(global const element* in, ulong begin) {
  (void)in, (void)begin;
  return 0;
}
static inline void load_run(local word* tile, global const element* in, ulong begin, uint count) {
  for (uint first = get_local_id(0); first < count; first += GROUP * UNROLL) {
    word w[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) w[u] = in[begin + min(first + u * GROUP, count - 1)];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u)
      if (first + u * GROUP < count) tile[padded(first + u * GROUP)] = w[u];
  }
}
#endif

#if SHAPE == WIDE
// Loads `runs` runs of `count` elements, `pitch` elements apart; run r is at word r * stride of local memory. `slots`: at least
static inline void load_runs(local word* tile, global const element* in, ulong begin, long pitch, uint runs, uint count, divisor slots,
                             uint stride) {
  const uint all = runs * slots.by;
  for (uint first = get_local_id(0); first < all; first += GROUP * UNROLL) {
    word w[UNROLL];
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = min(first + u * GROUP, all - 1), run = divided(n, slots);
      const ulong from = begin + (ulong)((long)run * pitch);
      const uint phase = phase_of(from);
      w[u] = load_word(in, from, phase, min(n - run * slots.by, words_of(count, phase) - 1), count);
    }
#pragma unroll
    for (uint u = 0; u < UNROLL; ++u) {
      const uint n = first + u * GROUP, run = divided(n, slots);
      if (n < all) tile[run * stride + n - run * slots.by] = w[u];
    }
  }
}
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void transpose_strips(global const element* RESTRICT in, ulong in_offset, long in_pitch, ulong in_stride,
                      global element* RESTRICT out, ulong out_offset, long out_pitch, ulong out_stride,
                      ulong rows, ulong cols, ulong batch) {
  local word tile[LOCAL_WORDS] __attribute__((aligned(16)));
  const uint item = get_local_id(0);
#if SHAPE == WHOLE
  (void)in_pitch, (void)out_pitch, (void)in_stride, (void)out_stride;
  const uint height = (uint)rows, width = (uint)cols, size = height * width;
  const uint most = size >= CHUNK ? 1 : CHUNK / size;
  const ulong matrix = (ulong)get_group_id(0) * most;
  const uint count = size * (uint)min((ulong)most, batch - matrix);
  const ulong from = in_offset + matrix * size, to = out_offset + matrix * size;
#else
  // The launch has a group for each strip of the batch.
  (void)batch, (void)in_pitch, (void)out_pitch;
  const ulong length = SHAPE == TALL ? rows : cols;
  const uint thin = SHAPE == TALL ? (uint)cols : (uint)rows, strip = strip_of(thin);
  const uint strips = (uint)((length + strip - 1) / strip);
  const uint matrix = get_group_id(0) / strips;
  const ulong begin = (ulong)(get_group_id(0) - matrix * strips) * strip;
  const uint here = (uint)min((ulong)strip, length - begin), count = here * thin;
  const ulong from = in_offset + matrix * in_stride + (SHAPE == TALL ? begin * cols : begin);
  const ulong to = out_offset + matrix * out_stride + (SHAPE == TALL ? begin : begin * rows);
  const divisor slots = divisor_of(strip / WORD_ELEMENTS + (WORD_ELEMENTS > 1));  // words of a run, whatever its alignment
#endif

#if SHAPE == WIDE
  // Lanes read `thin` rows side by side, each at 32 / thin columns: rows are as far apart, counted in banks.
  const uint apart = (31 + thin) / thin % 32, stride = slots.by + (apart + 32 - slots.by % 32) % 32;
  load_runs(tile, in, from, in_pitch, thin, here, slots, stride);
#else
  load_run(tile, in, from, count);
#endif
  barrier(CLK_LOCAL_MEM_FENCE | (IN_PLACE ? CLK_GLOBAL_MEM_FENCE : 0));

#if SHAPE == TALL
  const uint before = before_run(in, from), all = thin * slots.by;
  for (uint n = item; n < all; n += GROUP) {
    const uint col = divided(n, slots), w = n - col * slots.by;
    const ulong run = to + (ulong)((long)col * out_pitch);
#if WORD_ELEMENTS > 1
    local const element* cells = (local const element*)tile;
    const int first = (int)(w * WORD_ELEMENTS) - (int)phase_of(run);  // row
    if (first >= 0 && first + WORD_ELEMENTS <= (int)here) {
      const uint at = (uint)first * thin + col + before;
      word value = 0;
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) value |= shifted(cells[padded_element(at + k * thin)], k);
      *(global word*)(out + run + (uint)first) = value;
    } else {
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) {
        const uint row = (uint)(first + (int)k);  // before the run a large number
        if (row < here) out[run + row] = cells[padded_element(row * thin + col + before)];
      }
    }
#else
    (void)before;
    if (w < here) out[run + w] = tile[padded(w * thin + col)];
#endif
  }
#else
  const uint phase = phase_of(to), words = words_of(count, phase);
#if SHAPE == WIDE
  const divisor across = divisor_of(thin);
  const uint first_phase = phase_of(from), step = (uint)in_pitch % WORD_ELEMENTS;
#else
  const divisor whole = divisor_of(size), across = divisor_of(height);
  const uint before = before_run(in, from);
#endif
  for (uint w = item; w < words; w += GROUP) {
    word value = 0;
#if SHAPE == WIDE && WORD_ELEMENTS > 1
    const int first = (int)(w * WORD_ELEMENTS) - (int)phase;
    if (first >= 0 && first + WORD_ELEMENTS <= (int)count) {
      uint col = divided((uint)first, across), row = (uint)first - col * thin;
#pragma unroll
      for (uint k = 0; k < WORD_ELEMENTS; ++k) {
        const uint part = (first_phase + row * step) % WORD_ELEMENTS;
        value |= shifted(((local const element*)tile)[row * (stride * WORD_ELEMENTS) + col + part], k);
        const uint wraps = row + 1 == thin;
        col += wraps;
        row = wraps ? 0 : row + 1;
      }
      store_word(out, to, phase, w, count, value);
      continue;
    }
#endif
#pragma unroll
    for (uint k = 0; k < WORD_ELEMENTS; ++k) {
      const uint e = clamp((int)(w * WORD_ELEMENTS + k) - (int)phase, 0, (int)count - 1);
#if SHAPE == WIDE
      const uint col = divided(e, across), row = e - col * thin;
      const uint part = col + (first_phase + row * step) % WORD_ELEMENTS;
      const element one = element_of(tile, row * stride + part / WORD_ELEMENTS, part % WORD_ELEMENTS);
#else
      const uint matrix_first = divided(e, whole) * size, rest = e - matrix_first;
      const uint col = divided(rest, across), row = rest - col * height;
      const uint at = matrix_first + row * width + col + before;
      const element one = element_of(tile, padded(at / WORD_ELEMENTS), at % WORD_ELEMENTS);
#endif
#if WORD_ELEMENTS > 1
      value |= (word)one << (8 * ELEMENT_BYTES * k);
#else
      value = one;
#endif
    }
    store_word(out, to, phase, w, count, value);
  }
#endif
}
