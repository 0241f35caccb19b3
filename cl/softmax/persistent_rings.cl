// softmax and log_softmax of long rows by persistent groups, one or a few a multiprocessor, which go from row to row: rows are in local memory
// (common/row_ring.clh), where results take their places. As softmax/persistent.cl, but for rows of which local memory holds one and a part, too.
//
// Launch: one dimension, GROUP work-items a group, at most one for each row. Local memory: WARPS * SLOTS pieces.
#ifndef PACK
#define PACK 1  // elements of a word
#endif
#include "softmax/operation.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a multiple of 32, and a power of two
#endif
#ifndef SHUFFLES
#define SHUFFLES 0  // 1: a group combines by NVIDIA's shuffles; 0: in local memory
#endif
#include "common/row_words.clh"
#if SHUFFLES
#include "nvidia/copy_async.clh"
#endif
#include "common/row_ring.clh"
#include "common/fetched_rows.clh"
#include "softmax/word_exp.clh"
#include "softmax/ring_pieces.clh"
#include "softmax/group_statistics.clh"

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void softmax_persistent_rings(SOFTMAX_ARGUMENTS, global uint* counter) {
  local uint4 kept[WARPS * SLOTS * PIECE_CHUNKS] __attribute__((aligned(128)));
  local statistics scratch[SHUFFLES ? 2 * WARPS : GROUP];
  local uint fetched[2];
  const int item = get_local_id(0), lane = item % LANES, warp = item / LANES;
  const ulong all = rows * batch;
  local uint4* const chunks = kept + warp * (SLOTS * PIECE_CHUNKS) + lane;
  ulong r = get_group_id(0), later = r + get_num_groups(0);
  int first = warp;           // piece of row r
  uint slot = 0, parity = 0;  // of that piece
#if BULK_COPIES
  local ulong arrivals[WARPS * SLOTS];
  const uint arrived = local_address(arrivals + warp * SLOTS);
  ring_loader ring = {local_address(kept + warp * (SLOTS * PIECE_CHUNKS)), arrived, 0, warp, SLOTS, 0};
  if (lane == 0) {
    for (int k = 0; k < SLOTS; ++k) init_mbarrier(arrived + 8 * k, 1);
    fence_mbarriers();
    load_pieces(&ring, RING_ROW(r), in, cols);
  }
  sync_warp();
#endif
  for (uint turn = 0; r < all; ++turn) {
    fetch_row(fetched, counter, later, all, turn, item);
    const ring_row row = RING_ROW(r);
    const int after_first = next_first_piece(first);
#if BULK_COPIES
    const ring_row next = RING_ROW(min(later, all - 1));
    sync_warp();
    if (lane == 0) {
      FREE_SLOTS(&ring, PENDING);
      load_pieces(&ring, row, in, cols);  // its last pieces take the places of the last results of the row before
      if (ring.piece < PIECES) {
        FREE_SLOTS(&ring, 0);
        load_pieces(&ring, row, in, cols);
      }
      ring.piece = later < all ? after_first : PIECES;
      load_pieces(&ring, next, in, cols);
    }
#endif
    VALUE largest = LEAST, sum = 0;
    uint counted = slot, counted_parity = parity;
    for (int piece = first; piece < PIECES; piece += WARPS) {
#if BULK_COPIES
      wait_phase(arrived + 8 * counted, counted_parity);
#endif
      count_piece(chunks + counted * PIECE_CHUNKS, in, row, piece, cols, lane, &largest, &sum);
#if BULK_COPIES
      if (lane == 0 && piece == first) {
        FREE_SLOTS(&ring, 0);
        load_pieces(&ring, next, in, cols);
      }
#endif
      counted = next_slot(counted);
      counted_parity ^= counted == 0;
    }
    (void)counted_parity;
    const statistics found = group_statistics(largest, sum, scratch, item, turn);
    const ulong after = fetched_row(fetched, later, all, turn);
    const VALUE moved = shift_of(found.x), sum_of_row = OPERATION == OP_SOFTMAX ? found.y : exact_sum(found.y, moved);
    const VALUE finish = finish_of(moved, sum_of_row, masked);
    const ulong to = row_place(r, rows, batch, out_offset, out_pitch, out_stride);
    const int is_bulk = BULK_COPIES && to % CHUNK == (ulong)(row.shift % CHUNK);
    for (int piece = first; piece < PIECES; piece += WARPS) {
      local uint4* const at = chunks + slot * PIECE_CHUNKS;
      write_piece(at, out, to, row, piece, cols, is_bulk, lane, moved, finish);
#if BULK_COPIES
      fence_async();
      sync_warp();
      if (!is_bulk) store_elements(at - lane, out, to, row, piece, cols, lane);
      if (lane == 0) {
        if (is_bulk) store_whole_chunks(local_address(at), row, out, to, piece, cols);
        end_bulk_stores();
        ++ring.leaving;
        if (ring.piece < PIECES) {
          FREE_SLOTS(&ring, PENDING);
          load_pieces(&ring, next, in, cols);
        }
      }
#endif
      slot = next_slot(slot);
      parity ^= slot == 0;
    }
    first = after_first;
    r = later;
    later = after;
  }
#if BULK_COPIES
  if (lane == 0) WAIT_BULK_READS(0);
#endif
}
