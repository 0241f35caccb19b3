// Reduce along the columns of matrices: one result a column.
//
// A work-group has ACROSS * PACK neighbouring columns, and reads whole packs of each row, so that global memory sees long
// pieces of rows. Its GROUP / ACROSS rows of work-items share the matrix's rows: in registers each accumulates PACK
// columns; then those of the same columns meet in local memory. Where that makes too few work-groups, `parts` of them
// share the columns, part p with rows p * DOWN, (p + parts) * DOWN, ... and DOWN - 1 after each, and another launch
// combines the parts. Operations that do not commute (KEEP_ORDER): row d of work-items of part p has stretch p * DOWN + d of
// the matrix's rows, and the stretches meet in their order.
// LANES = PACK: a work-item has an accumulator for each of its columns.
//
// Launch: one dimension, GROUP work-items a group; group g does jobs g, g + groups, ... Local memory: GROUP * PACK
// accumulators.
#define COLUMNS 1
#include "reduce/input.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef ACROSS
#define ACROSS 32  // packs of a row that a group reads: a power of two, at most GROUP
#endif
#ifndef UNROLL
#define UNROLL 4  // packs that a work-item reads at once
#endif
#define DOWN (GROUP / ACROSS)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void reduce_columns(REDUCE_ARGUMENTS) {
  (void)bounds, (void)bounds_offset, (void)counters;
  local accumulator scratch[PACK][GROUP];
  const uint item = get_local_id(0);
  // 64-bit divisions are calls on GPUs. 32 bits are enough for tiles: the plan sees to it.
  const uint tiles = (uint)((cols + ACROSS * PACK - 1) / (ACROSS * PACK));
  const ulong results = cols * batch;
  for (ulong job = get_group_id(0); job < (ulong)tiles * parts * batch; job += get_num_groups(0)) {
    // Scratch is used again. PoCL 5.0 dies where this barrier is at the loop's end and no other loop has one.
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint tile = (uint)job % tiles, place = (uint)job / tiles;
    const ulong part = place % (uint)parts, matrix = place / (uint)parts;
    const ulong col = (ulong)tile * (ACROSS * PACK) + item % ACROSS * PACK;
    const row_source columns = find_columns(in, in_offset, stride, other, other_offset, rows, matrix, col);

    // Registers: rows row, row + step, ... of PACK columns.
    lane_set mine;
#pragma unroll
    for (uint k = 0; k < PACK; ++k) put_lane(&mine, k, identity());
#if KEEP_ORDER
    const ulong step = 1, share = (rows + parts * DOWN - 1) / (parts * DOWN);
    ulong row = min((part * DOWN + item / ACROSS) * share, rows);
    const ulong end = min(row + share, rows);
#else
    const ulong step = parts * DOWN, end = rows;
    ulong row = part * DOWN + item / ACROSS;
#endif
    if (col + PACK <= cols) {
      for (; row + (UNROLL - 1) * step < end; row += UNROLL * step) {
        term_pack p[UNROLL];
#pragma unroll
        for (uint u = 0; u < UNROLL; ++u) load_terms(&p[u], columns, (row + u * step) * pitch, row + u * step);
#pragma unroll
        for (uint u = 0; u < UNROLL; ++u)
#pragma unroll
          for (uint k = 0; k < PACK; ++k)
            put_lane(&mine, k, accumulate(get_lane(&mine, k), term_of(&p[u], k), row + u * step));
      }
      for (; row < end; row += step) {
        term_pack p;
        load_terms(&p, columns, row * pitch, row);
#pragma unroll
        for (uint k = 0; k < PACK; ++k) put_lane(&mine, k, accumulate(get_lane(&mine, k), term_of(&p, k), row));
      }
    } else {  // the matrix's last columns
      for (; row < end; row += step) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k)
          if (col + k < cols)
            put_lane(&mine, k, accumulate(get_lane(&mine, k), load_term(columns, row * pitch + k, row), row));
      }
    }

    // Local memory: the rows of work-items meet, as in a tree. A loop that never runs is left out: PoCL 5.0 dies of its barrier.
#pragma unroll
    for (uint k = 0; k < PACK; ++k) scratch[k][item] = get_lane(&mine, k);
#if GROUP <= ACROSS
    // One row of work-items.
#elif KEEP_ORDER
    // Neighbours are combined, and what they make moves together.
    const uint right = item + item / ACROSS * ACROSS + ACROSS;
    for (uint left = GROUP / 2; left >= ACROSS; left /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < left) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) put_lane(&mine, k, combine(scratch[k][right - ACROSS], scratch[k][right]));
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // all have read what is now replaced
      if (item < left) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) scratch[k][item] = get_lane(&mine, k);
      }
    }
#else
    for (uint apart = GROUP / 2; apart >= ACROSS; apart /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (item < apart) {
#pragma unroll
        for (uint k = 0; k < PACK; ++k) scratch[k][item] = combine(scratch[k][item], scratch[k][item + apart]);
      }
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);

    // Neighbouring work-items write neighbouring columns.
    const ulong first = (ulong)tile * (ACROSS * PACK);
    for (uint c = item; c < ACROSS * PACK && first + c < cols; c += GROUP) {
      const accumulator all = scratch[c % PACK][c / PACK];
      const ulong result = matrix * cols + first + c;
      if (parts == 1) {
        write_result(out + out_offset, result, all, rows);
      } else {
        partials[part * results + result] = all;
      }
    }
  }
}
