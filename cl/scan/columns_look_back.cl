// Scan along the columns of matrices in a single pass, with decoupled look-back as in scan/look_back.cl. Tiles are WIDTH columns of DOWN * ITEMS
// rows; those below each other are a chain, whose states are rows of WIDTH numbers: each column has a status of its own beside its neighbours'.
//
// A work-item has ITEMS rows of PACK neighbouring columns in registers. Its aggregates go through local memory, where TEAM work-items of a column
// scan those of the tile. Then each of them waits for tiles of its block and for one block before it.
//
// BLOCK tiles of a chain are a block. A tile's entry has its AGGREGATE. A block's entry has the block's AGGREGATE, and later its PREFIX; its last
// tile publishes both, and nothing at its own entry. A group looks at the TEAM blocks before its own: all have published once the nearest has. From
// the nearest PREFIX on they are joined strictly from left to right, and so are the tiles of the block: so results have the same bits in every run.
//
// All predecessors of a tile have started before it. Without fallback (scan/states.clh): a launch ends if all groups that have started go on.
//
// Launch: one dimension, GROUP work-items a group, a group for each tile; `parts` tiles of `piece` rows in a chain. Local memory: GROUP * PACK and
// (1 + BLOCK) * WIDTH + 2 * GROUP numbers, and GROUP bytes. Scratch: a line, then entries of all tiles, then of all blocks.
#define FALLS_BACK 0
#include "scan/operation.clh"
#include "scan/states.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#ifndef WIDTH
#define WIDTH 32  // columns of a tile: a power of two, at most GROUP
#endif
#ifndef ITEMS
#define ITEMS 8  // rows of a work-item
#endif
#ifndef PACK_WORDS
#define PACK_WORDS 0  // of 32 bits, of elements that take less than the numbers they become
#endif
#define BLOCK 32  // tiles
#define EACH(i, count) _Pragma("unroll") for (uint i = 0; i < (count); ++i)
#define ACROSS (WIDTH / PACK)
#define DOWN (GROUP / ACROSS)
#define TEAM (GROUP / WIDTH)  // work-items of a column
#define ENTRY_WORDS (WIDE_STATUS ? 4 : 1)

// Elements as they are in memory.
#if ELEMENT_HALF
typedef ushort raw_element;
#define RAW_ELEMENT ushort
#else
typedef ELEMENT raw_element;
#define RAW_ELEMENT ELEMENT
#endif
#if PACK == 1
typedef raw_element raw_row;
typedef result_value result_row;
#elif RESULT_HALF
typedef JOIN(RAW_ELEMENT, PACK) raw_row;
typedef JOIN(float, PACK) result_row;
#else
typedef JOIN(RAW_ELEMENT, PACK) raw_row;
typedef JOIN(RESULT, PACK) result_row;
#endif
typedef union {
  raw_row all;
  raw_element each[PACK];
#if PACK_WORDS
  uint words[PACK_WORDS];
#endif
} raw_pack;

// Hides what a pack is from the compiler, so that its elements are converted at each use, and take no registers between.
#if PACK_WORDS && DEVICE_FENCE == 2
static inline void hide(raw_pack* p) {
  EACH(w, PACK_WORDS) __asm__ volatile("" : "+r"(p->words[w]));
}
#else
#define hide(p)
#endif

static inline ACC number_of(const raw_pack* p, uint k) {
#if ELEMENT_HALF && PACK_OF_WORDS
  return lift(half_of(p->words[k / 2], k % 2));
#elif ELEMENT_HALF
  return lift(vload_half(k, (const half*)p->each));
#else
  return lift((VALUE)p->each[k]);
#endif
}

// Stores a row of a work-item's results.
static inline void store_row(global RESULT* results, const ACC a[PACK]) {
#if PACK == 1
  store_result(results, 0, (result_value)a[0]);
#else
  union {
    result_row all;
    result_value each[PACK];
  } row;
  EACH(k, PACK) row.each[k] = (result_value)a[k];
#if RESULT_HALF
  JOIN(store_halves, PACK)(row.all, results);
#else
  *(global result_row*)results = row.all;
#endif
#endif
}

// Waits until an entry has published for a column: at least `least`.
INLINED uint await(volatile global ulong* from, uint least, ACC* value, uint epoch) {
  uint status;
  do status = load_status(from, value, epoch);
  while (status < least);
  return status;
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void scan_columns_look_back(SCAN_ARGUMENTS) {
  USE_SCAN_ARGUMENTS;
  local ACC sums[DOWN][WIDTH], of_team[TEAM][WIDTH], of_tiles[BLOCK][WIDTH], of_blocks[TEAM][WIDTH], found[WIDTH];
  local uchar of_status[TEAM][WIDTH];
  local uint taken[1];
  (void)marks;
  const uint item = get_local_id(0), x = item % WIDTH, team = item / WIDTH, down = item / ACROSS, first = item % ACROSS * PACK;
  const uint job = take_tile(scratch, taken, item);
  // The plan limits the number of tiles to 32 bits. Neighbouring groups have neighbouring columns.
  const uint strips = (uint)((cols + WIDTH - 1) / WIDTH), chains = strips * (uint)batch;
  const uint place = job / chains, chain = job - place * chains, matrix = chain / strips;
  const uint block = place / BLOCK, within = place % BLOCK, blocks = ((uint)parts + BLOCK - 1) / BLOCK;
  volatile global ulong* const tiles = scratch + LINE + ((ulong)chain * parts + block * BLOCK) * (WIDTH * ENTRY_WORDS) + x * ENTRY_WORDS;
  volatile global ulong* const of_chain = scratch + LINE + ((ulong)chains * parts + (ulong)chain * blocks) * (WIDTH * ENTRY_WORDS) + x * ENTRY_WORDS;
  const ulong col = (ulong)(chain - matrix * strips) * WIDTH + first, row = (ulong)place * piece + down * ITEMS;
  const uint count = row < rows ? (uint)min((ulong)ITEMS, rows - row) : 0, width = col < cols ? (uint)min((ulong)PACK, cols - col) : 0;
  global const ELEMENT* from = in + in_offset + matrix * in_stride + row * in_pitch + col;
  global RESULT* to = out + out_offset + matrix * out_stride + row * out_pitch + col;

  // The elements, and the aggregates of the work-item's rows.
  raw_pack p[ITEMS];
  ACC a[PACK];
  EACH(k, PACK) a[k] = identity();
  if (count == ITEMS && width == PACK) {
#pragma unroll
    for (uint i = 0; i < ITEMS; ++i, from += in_pitch) p[i].all = *(global const raw_row*)from;
    EACH(i, ITEMS)
      EACH(k, PACK) a[k] = combine(a[k], number_of(&p[i], k));
  } else {
    EACH(i, ITEMS) {
      EACH(k, PACK) {
        p[i].each[k] = 0;
        if (i >= count || k >= width) continue;
        p[i].each[k] = ((global const raw_element*)from)[i * in_pitch + k];
        a[k] = combine(a[k], number_of(&p[i], k));
      }
    }
  }
  EACH(k, PACK) sums[down][first + k] = a[k];
  barrier(CLK_LOCAL_MEM_FENCE);

  // What precedes each work-item's rows in the tile, and the tile's aggregate.
  ACC part[PACK], all = identity();
  EACH(d, PACK) part[d] = sums[team * PACK + d][x];
  EACH(d, PACK) all = combine(all, part[d]);
  of_team[team][x] = all;
  barrier(CLK_LOCAL_MEM_FENCE);
  ACC before = identity(), own = identity();
  EACH(t, TEAM) {
    if (t == team) before = own;
    own = combine(own, of_team[t][x]);
  }
  EACH(d, PACK) {
    sums[team * PACK + d][x] = before;
    before = combine(before, part[d]);
  }

  // The tiles of the block before this one, and then the blocks before.
  if (team == 0 && within != BLOCK - 1 && parts > 1) store_status(tiles + within * (WIDTH * ENTRY_WORDS), AGGREGATE, own, epoch);
  for (uint t = team; t < within; t += TEAM) {
    ACC value;
    await(tiles + t * (WIDTH * ENTRY_WORDS), AGGREGATE, &value, epoch);
    of_tiles[t][x] = value;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  ACC up_to = identity();
  if (team == 0) {
    for (uint t = 0; t < within; ++t) up_to = t == 0 ? of_tiles[0][x] : combine(up_to, of_tiles[t][x]);
    own = within == 0 ? own : combine(up_to, own);
    if (within == BLOCK - 1) store_status(of_chain + block * (WIDTH * ENTRY_WORDS), AGGREGATE, own, epoch);
  }
  ACC value = start_value(initial_bits, has_initial);
  uint status = PREFIX;
  // The farthest is waited for until it has a PREFIX.
  if (team < block)
    status = await(of_chain + (block - 1 - team) * (WIDTH * ENTRY_WORDS), team == TEAM - 1 ? PREFIX : AGGREGATE, &value, epoch);
  of_blocks[team][x] = value;
  of_status[team][x] = (uchar)status;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (team == 0) {
    uint t = 0;
    while (of_status[t][x] != PREFIX) ++t;
    ACC prefix = of_blocks[t][x];
    while (t > 0) prefix = combine(prefix, of_blocks[--t][x]);
    if (within == BLOCK - 1) store_status(of_chain + block * (WIDTH * ENTRY_WORDS), PREFIX, combine(prefix, own), epoch);
    found[x] = within == 0 ? prefix : combine(prefix, up_to);
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  // The results.
  EACH(i, ITEMS) hide(&p[i]);
  EACH(k, PACK) a[k] = combine(found[first + k], sums[down][first + k]);
  if (count == ITEMS && width == PACK) {
#pragma unroll
    for (uint i = 0; i < ITEMS; ++i, to += out_pitch) {
      if (EXCLUSIVE) store_row(to, a);
      EACH(k, PACK) a[k] = combine(a[k], number_of(&p[i], k));
      if (!EXCLUSIVE) store_row(to, a);
    }
  } else {
    EACH(i, ITEMS) {
      EACH(k, PACK) {
        if (i >= count || k >= width) continue;
        if (EXCLUSIVE) store_result(to, i * out_pitch + k, (result_value)a[k]);
        a[k] = combine(a[k], number_of(&p[i], k));
        if (!EXCLUSIVE) store_result(to, i * out_pitch + k, (result_value)a[k]);
      }
    }
  }
}
