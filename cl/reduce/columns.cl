// Reduce along the columns of matrices: one result a column.
//
// A work-group has ACROSS * PACK neighbouring columns, each work-item PACK of them: neighbours, which it loads as a pack, or where packs would
// not be aligned every ACROSS-th column (INTERLEAVED). Either way loads are coalesced. The GROUP / ACROSS rows of work-items of a group share
// the matrix's rows: each work-item accumulates PACK columns in registers; then the accumulators of the same columns are combined in local
// memory. If that is too few work-groups, `parts` of them share the columns: part p has rows p * DOWN, (p + parts) * DOWN, ... and the
// DOWN - 1 rows after each, and a second launch combines the partial results. Operations that do not commute (KEEP_ORDER): row d of
// work-items of part p has chunk p * DOWN + d of the matrix's rows, and the chunks are combined in their order.
// LANES = PACK: a work-item has an accumulator for each of its columns. Sums of small integers are numbers of 32 bits before they are combined
// (NARROW_SUMS), if a work-item has few enough rows. The place of the least or greatest byte is found by numbers that have the byte above the number
// of the row (PLACE_KEYS): the least of them is that of the first of equal bytes.
// FOLDS: rows without gaps are read as rows `fold` times as long, whose packs are aligned and fill a group. The last of them, number `rows`, has
// `tail` elements. Each result then has `fold` columns in each part, which the second launch combines: they lie as so many parts do. FOLDS 2: a tile
// has several columns of a result, which the group combines. The only group of a matrix has all of them, and writes the results.
//
// Launch: one dimension, GROUP work-items a group; group g computes jobs g, g + groups, ... Local memory: GROUP * PACK
// accumulators.
#define COLUMNS 1
#include "reduce/input.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef ACROSS
#define ACROSS 32  // packs of a row that a group loads: a power of two, at most GROUP
#endif
#ifndef UNROLL
#define UNROLL 4  // loads of packs in flight of a work-item
#endif
#ifndef INTERLEAVED
#define INTERLEAVED 0  // 1: a work-item's columns are ACROSS apart
#endif
#ifndef NARROW_SUMS
#define NARROW_SUMS 0  // 1: sums of a work-item fit VALUE
#endif
#ifndef PLACE_KEYS
#define PLACE_KEYS 0  // 1: elements have a byte, and rows are fewer than 2^24
#endif
#ifndef FOLDS
#define FOLDS 0  // 1 or 2: a row is `fold` rows of the matrix
#endif
#define APART (INTERLEAVED ? ACROSS : 1)                         // columns of a work-item
#define FIRST_COLUMN(i) (INTERLEAVED ? (i) : (i) * PACK)         // of work-item i of a row of them
#define PLACE(c) [INTERLEAVED ? (c) / ACROSS : (c) % PACK][INTERLEAVED ? (c) % ACROSS : (c) / PACK]  // of column c in local memory
#define DOWN (GROUP / ACROSS)
// The last step of the tree. Where it has one step alone, compilers unroll its loop. PoCL 5.0 crashes on barriers of the loop over the jobs if no
// loop within it has barriers, so that such a tree has a second step, which combines nothing.
#define LAST_STEP (DOWN == 2 && ACROSS > 1 ? ACROSS / 2 : ACROSS)

// Loads the elements of a row in a work-item's columns from `from` on, which are number `place` of the elements of their results.
static inline void load_columns(term_pack* p, global const ELEMENT* from, row_source columns, ulong place) {
#if INTERLEAVED
#pragma unroll
  for (uint k = 0; k < PACK; ++k) p->first.each[k] = (packed_value)load_value(from, k * ACROSS);
#else
  p->first.all = load_pack(from, 0);
#endif
#if OPERATION == OP_DOT
  const VALUE same = load_value(columns.other, place);
#pragma unroll
  for (uint k = 0; k < PACK; ++k) p->other.each[k] = (packed_value)same;
#else
  (void)columns, (void)place;
#endif
}

#if NARROW_SUMS
typedef struct { VALUE sum[PACK]; } column_set;
static inline void begin_columns(column_set* set) {
#pragma unroll
  for (uint k = 0; k < PACK; ++k) set->sum[k] = 0;
}
static inline void add_columns(column_set* set, const term_pack* p, ulong row) {
  (void)row;
#pragma unroll
  for (uint k = 0; k < PACK; ++k) set->sum[k] += (VALUE)p->first.each[k];
}
static inline void add_column(column_set* set, uint k, term t, ulong row) {
  (void)row;
  set->sum[k] += t;
}
static inline accumulator get_column(const column_set* set, uint k) { return (accumulator)set->sum[k]; }
#elif PLACE_KEYS
typedef struct { uint key[PACK]; } column_set;
// A byte in the order of keys, and back.
#define FLIPPED (OPERATION == OP_ARGMIN ? (SMALLEST < 0 ? 0x80000000u : 0) : (SMALLEST < 0 ? 0x7f000000u : 0xff000000u))
static inline uint key_of(VALUE value, ulong row) { return ((uint)value << 24 ^ FLIPPED) | (uint)row; }
static inline void begin_columns(column_set* set) {
#pragma unroll
  for (uint k = 0; k < PACK; ++k) set->key[k] = UINT_MAX;
}
static inline void add_columns(column_set* set, const term_pack* p, ulong row) {
#pragma unroll
  for (uint k = 0; k < PACK; ++k) set->key[k] = min(set->key[k], key_of((VALUE)p->first.each[k], row));
}
static inline void add_column(column_set* set, uint k, term t, ulong row) { set->key[k] = min(set->key[k], key_of(t, row)); }
static inline accumulator get_column(const column_set* set, uint k) {
  const uint key = set->key[k];
  accumulator a = identity();
  if (key == UINT_MAX) return a;
  a.index = key & 0xffffff;
  a.best = (ACC)(ELEMENT)((key ^ FLIPPED) >> 24);
  return a;
}
#else
typedef lane_set column_set;
static inline void begin_columns(column_set* set) {
#pragma unroll
  for (uint k = 0; k < PACK; ++k) put_lane(set, k, identity());
}
static inline void add_columns(column_set* set, const term_pack* p, ulong row) {
#pragma unroll
  for (uint k = 0; k < PACK; ++k) put_lane(set, k, accumulate(get_lane(set, k), term_of(p, k), row));
}
static inline void add_column(column_set* set, uint k, term t, ulong row) { put_lane(set, k, accumulate(get_lane(set, k), t, row)); }
static inline accumulator get_column(const column_set* set, uint k) { return get_lane(set, k); }
#endif

#if FOLDS && (OPERATION == OP_ARGMIN || OPERATION == OP_ARGMAX)
// The place among the rows of the matrix.
static inline accumulator unfold(accumulator a, ulong fold, uint col, uint cols) {
  a.index = a.index == NO_INDEX ? NO_INDEX : (index_type)(a.index * fold + col / (cols / (uint)fold));
  return a;
}
#else
static inline accumulator unfold(accumulator a, ulong fold, uint col, uint cols) {
  (void)fold, (void)col, (void)cols;
  return a;
}
#endif

// Stores what part `part` of `parts` makes of a column.
static inline void store_column(global RESULT* out, global accumulator* partials, ulong part, ulong parts, ulong results, ulong result,
                                accumulator all, ulong rows) {
#if FOLDS
  (void)out, (void)parts, (void)rows;
#else
  if (parts == 1) {
    write_result(out, result, all, rows);
    return;
  }
#endif
  partials[part * results + result] = all;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_columns(REDUCE_ARGUMENTS) {
  USE_REDUCE_ARGUMENTS;
  (void)bounds, (void)bounds_offset, (void)counters;
#if DOWN > 1
  local accumulator scratch[PACK][GROUP];
#endif
  const uint item = get_local_id(0);
  // 64-bit divisions are calls on GPUs. The plan limits the number of tiles to 32 bits.
  const uint tiles = (uint)((cols + ACROSS * PACK - 1) / (ACROSS * PACK));
  const ulong results = cols * batch;
  for (ulong job = get_group_id(0); job < (ulong)tiles * parts * batch; job += get_num_groups(0)) {
#if DOWN > 1
    // Before scratch is overwritten. PoCL 5.0 crashes if this barrier is at the loop's end.
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    const uint tile = (uint)job % tiles, place = (uint)job / tiles;
    const ulong part = place % (uint)parts, matrix = place / (uint)parts;
    const ulong col = (ulong)tile * (ACROSS * PACK) + FIRST_COLUMN(item % ACROSS);
    const row_source columns = find_columns(in, in_offset, stride, other, other_offset, rows, matrix, col);

    // Registers: rows row, row + step, ... of PACK columns.
    column_set mine;
    begin_columns(&mine);
#if KEEP_ORDER
    const ulong step = 1, share = (rows + parts * DOWN - 1) / (parts * DOWN);
    ulong row = min((part * DOWN + item / ACROSS) * share, rows);
    const ulong end = min(row + share, rows);
#else
    const ulong step = parts * DOWN, end = rows;
    ulong row = part * DOWN + item / ACROSS;
#endif
    const ulong stride = step * pitch;
    global const ELEMENT* from = columns.first + row * pitch;
    if (col + (PACK - 1) * APART < cols) {
      for (; row + (UNROLL - 1) * step < end; row += UNROLL * step) {
        term_pack p[UNROLL];
#pragma unroll
        for (uint u = 0; u < UNROLL; ++u, from += stride) load_columns(&p[u], from, columns, row + u * step);
#pragma unroll
        for (uint u = 0; u < UNROLL; ++u) add_columns(&mine, &p[u], row + u * step);
      }
      for (; row < end; row += step, from += stride) {
        term_pack p;
        load_columns(&p, from, columns, row);
        add_columns(&mine, &p, row);
      }
    } else {  // the last columns of the matrix
      for (; row < end; row += step) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k)
          if (col + k * APART < cols) add_column(&mine, k, load_term(columns, row * pitch + k * APART, row), row);
      }
    }
#if FOLDS
#pragma unroll
    for (uint k = 0; k < PACK; ++k)
      if (row == rows && col + k * APART < tail) add_column(&mine, k, load_term(columns, row * pitch + k * APART, row), row);
#endif

#if DOWN == 1
    // One row of work-items has the results.
#pragma unroll
    for (uint k = 0; k < PACK; ++k)
      if (col + k * APART < cols)
        store_column(out + out_offset, partials, part, parts, results, matrix * cols + col + k * APART,
                     unfold(get_column(&mine, k), fold, (uint)col + k * APART, (uint)cols), rows);
#else
    // Local memory: a tree over the rows of work-items.
#pragma unroll
    for (uint k = 0; k < PACK; ++k) scratch[k][item] = unfold(get_column(&mine, k), fold, (uint)col + k * APART, (uint)cols);
#if KEEP_ORDER
    // Combines neighbours and compacts the results, so that the order is kept.
    accumulator left_and_right[PACK];
    const uint right = item + item / ACROSS * ACROSS + ACROSS;
    for (uint left = GROUP / 2; left >= LAST_STEP; left /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < left && left >= ACROSS) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) left_and_right[k] = combine(scratch[k][right - ACROSS], scratch[k][right]);
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before scratch is overwritten
      if (item < left && left >= ACROSS) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) scratch[k][item] = left_and_right[k];
      }
    }
#else
    for (uint apart = GROUP / 2; apart >= LAST_STEP; apart /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < apart && apart >= ACROSS) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) scratch[k][item] = combine(scratch[k][item], scratch[k][item + apart]);
      }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

    // Neighbouring work-items write neighbouring columns.
    const ulong first = (ulong)tile * (ACROSS * PACK);
#if FOLDS == 2
    const uint own = (uint)cols / (uint)fold, width = (uint)min((ulong)(ACROSS * PACK), cols - first);
    for (uint r = item; r < own; r += GROUP) {
      accumulator all = identity();
      for (uint c = (r + own - (uint)first % own) % own; c < width; c += own) all = combine(all, scratch PLACE(c));
      if (parts == 1 && tiles == 1) {
        write_result(out + out_offset, r, all, rows * fold + tail / own);
      } else {
        partials[(part * tiles + tile) * own + r] = all;
      }
    }
#else
    for (uint c = item; c < ACROSS * PACK && first + c < cols; c += GROUP) {
      store_column(out + out_offset, partials, part, parts, results, matrix * cols + first + c, scratch PLACE(c), rows);
    }
#endif
#endif
  }
}
