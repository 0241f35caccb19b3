// Attention of few queries to many keys, of half and bfloat16, by the matrix units of NVIDIA's sm_80 and later. Work is divided as in
// attention/split_keys.cl: groups walk over equal ranges of the chunks of all tiles, and the last group of a tile combines its sums.
//
// A warp has KEYS_EACH sixteens of keys of a turn, which it alone copies, by cp.async, to a ring of STAGES turns. Keys are the left factor of the
// units and values, transposed, too; queries and weights are the right one, so that a tile has 8 rows at no cost. The copies of the next tile
// begin while the last turns of a tile are multiplied. A warp has online softmaxes of its own.
// T. Dao et al., "Flash-Decoding for long-context inference", 2023.
//
// Launch: GROUP work-items a group, any number of groups. Local memory: see the arrays. Memory of partial sums: 2 * SLOT floats a group. All
// vectors of q, k and v begin at multiples of 16 bytes.
#ifndef GROUP
#define GROUP 128  // work-items: whole warps
#endif
#ifndef ROWS
#define ROWS 4  // of a tile: 1, 2, 4, 8
#endif
#ifndef KEYS_EACH
#define KEYS_EACH 1  // sixteens of keys of a warp in a turn
#endif
#ifndef STAGES
#define STAGES 3  // turns in local memory or on their way to it
#endif
#define ONE_LAUNCH 1
#include "nvidia/attention/pieces.clh"
#include "nvidia/mma.clh"
#include "nvidia/shuffle.clh"
#include "common/hand_over.clh"
#include "attention/split.clh"

#define WARPS (GROUP / 32)
#define KEYS_HERE (16 * KEYS_EACH)  // of a warp in a turn
#define TURN (WARPS * KEYS_HERE)
// Vectors in local memory are as those of nvidia/attention/mma.cl.
#define Q_PIECES ((HEAD_SIZE + 15) / 16 * 2)
#define V_PIECES ((VALUE_SIZE + 15) / 16 * 2)
#define Q_PITCH ((HEAD_SIZE + 63) / 64 * 128)
#define V_PITCH ((VALUE_SIZE + 63) / 64 * 128)
#define STAGE_BYTES (KEYS_HERE * (Q_PITCH + V_PITCH))  // of a warp
#define KS (Q_PIECES / 2)                              // steps of 16 elements of queries and keys
#define VS (V_PIECES / 2)                              // sixteens of elements of values
#define PART_PITCH (V_PIECES * 8 + 4)                  // of the sums of a row in local memory; with it, those of a warp are in different banks

static inline uint piece_place(uint row, uint piece, const uint pitch) { return row * pitch + (piece ^ (row % 8)) * 16; }

// A range of keys of a tile, which a group has: those of number [from, to) of the ones that are seen.
typedef struct {
  uint next, stop;                // its chunks
  uint s, before;                 // its sequence, and the first chunk of that
  uint first_chunk, end_chunk;    // of the tile
  uint from, to;
  place at;
  key_range seen;
} key_piece;
// Finds the piece that begins with chunk p.next, of sequence p.s or a later one.
#define FIND_PIECE(p)                                        \
  {                                                          \
    uint s = (p).s, before = (p).before;                     \
    SKIP_SEQUENCES((p).next)                                 \
    FIND_TILE((p).next)                                      \
    (p).s = s, (p).before = before;                          \
    (p).first_chunk = first_chunk, (p).end_chunk = end_chunk; \
    (p).stop = min(end, end_chunk);                          \
    (p).from = ((p).next - first_chunk) * chunk;             \
    (p).to = min(((p).stop - first_chunk) * chunk, seen.count); \
    (p).at = at, (p).seen = seen;                            \
  }
// Goes on to the next turn that has keys.
#define NEXT_TURN                                            \
  while (more && t_ahead >= ahead.to) {                      \
    ahead.next = ahead.stop;                                 \
    more = ahead.next < end;                                 \
    if (more) {                                              \
      FIND_PIECE(ahead)                                      \
      t_ahead = ahead.from;                                  \
    }                                                        \
  }

#if HEAD_SIZE > 128 || VALUE_SIZE > 128
#define COPIES_UNROLLED _Pragma("unroll 2")  // registers hold not all addresses at once
#else
#define COPIES_UNROLLED UNROLLED
#endif
// Starts the copies of the warp's keys or values of a turn to `tile`; zeros behind the last one.
#define START_VECTORS(tile, view, pieces, pitch, size)                                                 \
  {                                                                                                    \
    const uint lines = 32 / (pieces), row = lane / (pieces), piece = lane % (pieces);                  \
    COPIES_UNROLLED                                                                                    \
    for (uint r = 0; r < KEYS_HERE; r += lines) {                                                      \
      const uint number = t_ahead + first_key + r + row, j = key_at(&ahead.seen, min(number, ahead.to - 1)); \
      if (32 % (pieces) + KEYS_HERE % lines == 0 || (row < lines && r + row < KEYS_HERE))              \
        copy_piece(tile + piece_place(r + row, piece, pitch), (ulong)(view + KEY_PLACE(ahead.at, j, view)), piece, size, number < ahead.to); \
    }                                                                                                  \
  }
#define START_TURN(stage)                                                                              \
  if (more) {                                                                                          \
    const uint k_tile = ring + (stage) * STAGE_BYTES, v_tile = k_tile + KEYS_HERE * Q_PITCH;           \
    START_VECTORS(k_tile, k, Q_PIECES, Q_PITCH, HEAD_SIZE)                                             \
    START_VECTORS(v_tile, v, V_PIECES, V_PITCH, VALUE_SIZE)                                            \
    t_ahead += TURN;                                                                                   \
    NEXT_TURN                                                                                          \
  }                                                                                                    \
  end_copies();

// Two elements of a query as a word; 0 for those behind its last one.
static inline uint two_elements(global const ELEMENT* row, uint d) {
  if (d + 1 < HEAD_SIZE) return *(global const uint*)((global const ushort*)row + d);
  return d < HEAD_SIZE ? ((global const ushort*)row)[d] : 0;
}

static inline float largest_of_keys(float x, uint lane) {
  UNROLLED
  for (uint apart = 4; apart < 32; apart *= 2) x = fmax(x, as_float(shuffle_from(as_uint(x), lane ^ apart)));
  return x;
}
static inline float sum_of_keys(float x, uint lane) {
  UNROLLED
  for (uint apart = 4; apart < 32; apart *= 2) x += as_float(shuffle_from(as_uint(x), lane ^ apart));
  return x;
}

// Weights of 8 keys, of key lane / 4 for rows lane % 4 * 2 and the next, become those of keys lane % 4 * 2 and the next for row lane / 4.
static inline uint transposed_weights(uint word, uint lane) {
  const uint from = lane % 4 * 8 + lane / 8, even = shuffle_from(word, from), odd = shuffle_from(word, from + 4);
  return lane / 4 % 2 == 0 ? (even & 0xffff) | odd << 16 : even >> 16 | (odd & 0xffff0000);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void attention_split_mma(SPLIT_ARGUMENTS) {
  local uchar vectors[WARPS * STAGES * STAGE_BYTES] __attribute__((aligned(1024)));
  local float parts[WARPS * ROWS * PART_PITCH] __attribute__((aligned(16)));
  local float largest_of_warps[2 * WARPS * 8], total_of_warps[2 * WARPS * 8];
#if RAGGED || KEY_LENGTHS
  local uint counts[GROUP];
#endif
  local uint is_last;
  const uint item = get_local_id(0), warp = item / 32, lane = item % 32, first_key = warp * KEYS_HERE;
  const uint ring = local_address(vectors) + warp * (STAGES * STAGE_BYTES);
  uint all = 0, groups = 0, begin = 0, end = 0, s = 0, before = 0;
  FIND_WORK(false)

  key_piece ahead, here;
  ahead.next = here.next = begin, ahead.s = here.s = s, ahead.before = here.before = before;
  bool more = begin < end;  // whether turns remain that have not been copied
  uint t_ahead = 0;
  if (more) {
    FIND_PIECE(ahead)
    t_ahead = ahead.from;
    NEXT_TURN
  }
#pragma unroll 1
  for (uint i = 0; i + 1 < STAGES; ++i) {
    START_TURN(i)
  }

  uint stage = 0, parity = 0;
#pragma unroll 1
  for (; here.next < end; here.next = here.stop, parity ^= 1) {  // uniform in the group
    FIND_PIECE(here)
    const place at = here.at;
    // Row lane / 4 of the tile is a column of the right factor; the lane's results are of rows lane % 4 * 2 and the next.
    uint queries_kept[KS][2];
    {
      const ulong row = ROW_PLACE(at, at.row + min(lane / 4, at.rows - 1), q);
      UNROLLED
      for (uint i = 0; i < KS * 2; ++i)
        queries_kept[i / 2][i % 2] = lane / 4 < at.rows ? two_elements(q + row, i * 8 + lane % 4 * 2) : 0;
    }
    int first_of[2], end_of[2], own[2];
    float slopes_of[2], largest[2], total[2], sums[VS][4];
    global const bias_element* biases[2];
    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      const uint row = at.row + min(lane % 4 * 2 + h, at.rows - 1);
      own[h] = own_key(&at, row / group), first_of[h] = first_seen(own[h], left), end_of[h] = end_seen(own[h], at.keys, right);
      slopes_of[h] = SLOPES ? OF_HEAD(at, row, slopes) : 0;
      biases[h] = bias + BIAS_PLACE(at, row);
      largest[h] = -INFINITY;
      total[h] = 0;
    }
    UNROLLED
    for (uint n = 0; n < VS * 4; ++n) sums[n / 4][n % 4] = 0;

#pragma unroll 1
    for (uint t = here.from; t < here.to; t += TURN) {
      WAIT_COPIES(STAGES - 2);
      sync_warp();  // all lanes' copies are there, and the stage before was read
      const uint free_stage = stage == 0 ? STAGES - 1 : stage - 1;
      START_TURN(free_stage)
      const uint k_tile = ring + stage * STAGE_BYTES, v_tile = k_tile + KEYS_HERE * Q_PITCH;
      stage = stage + 1 == STAGES ? 0 : stage + 1;

      float logits[KEYS_EACH][4];
      UNROLLED
      for (uint e = 0; e < KEYS_EACH; ++e) {
        float odd[4];  // of odd steps, so that two products are under way
        UNROLLED
        for (uint i = 0; i < 4; ++i) logits[e][i] = odd[i] = 0;
        UNROLLED
        for (uint x = 0; x < KS; ++x) {
          uint four[4];
          load_matrices(four, k_tile + piece_place(e * 16 + lane % 16, x * 2 + lane / 16, Q_PITCH));
          multiply_add(x % 2 == 0 ? logits[e] : odd, four, queries_kept[x]);
        }
        UNROLLED
        for (uint i = 0; i < 4; ++i) {
          const uint number = t + first_key + e * 16 + i / 2 * 8 + lane / 4, h = i % 2;
          const int j = (int)key_at(&here.seen, number);
          const float x = logit_of(logits[e][i] + odd[i], min(j, (int)at.keys - 1), own[h], scale, cap, slopes_of[h], biases[h]);
          logits[e][i] = number >= here.to || is_hidden(j, first_of[h], end_of[h], sinks) ? -INFINITY : x;
        }
      }
      // Weights. Rows beyond the tile have weights too; their sums are not read.
      UNROLLED
      for (uint h = 0; h < 2; ++h) {
        float most = largest[h];
        UNROLLED
        for (uint i = 0; i < KEYS_EACH * 2; ++i) most = fmax(most, logits[i / 2][i % 2 * 2 + h]);
        most = largest_of_keys(most, lane);
        const float shift = shift_of(most), factor = fast_exp2(largest[h] - shift);
        largest[h] = most;
        total[h] *= factor;
        UNROLLED
        for (uint i = 0; i < KEYS_EACH * 2; ++i) {
          const float weight = fast_exp2(logits[i / 2][i % 2 * 2 + h] - shift);
          logits[i / 2][i % 2 * 2 + h] = weight;
          total[h] += weight;
        }
        UNROLLED
        for (uint n = 0; n < VS * 2; ++n) sums[n / 2][n % 2 * 2 + h] *= factor;
      }
      UNROLLED
      for (uint e = 0; e < KEYS_EACH; ++e) {
        uint weights[2];
        UNROLLED
        for (uint i = 0; i < 2; ++i) weights[i] = transposed_weights(word_of(logits[e][i * 2], logits[e][i * 2 + 1]), lane);
        UNROLLED
        for (uint n = 0; n < VS; ++n) {
          uint four[4];
          load_matrices_transposed(four, v_tile + piece_place(e * 16 + lane / 16 * 8 + lane % 8, n * 2 + lane / 8 % 2, V_PITCH));
          multiply_add(sums[n], four, weights);
        }
      }
    }

    // All warps together.
    local float *const all_largest = largest_of_warps + parity * (WARPS * 8), *const all_total = total_of_warps + parity * (WARPS * 8);
    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      total[h] = sum_of_keys(total[h], lane);
      if (lane < 4) all_largest[warp * 8 + lane * 2 + h] = largest[h], all_total[warp * 8 + lane * 2 + h] = total[h];
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // also before `parts` is overwritten
    UNROLLED
    for (uint h = 0; h < 2; ++h) {
      const uint r = lane % 4 * 2 + h;
      float most = -INFINITY;
      UNROLLED
      for (uint w = 0; w < WARPS; ++w) most = fmax(most, all_largest[w * 8 + r]);
      const float factor = fast_exp2(largest[h] - shift_of(most));
      if (r < ROWS) {
        UNROLLED
        for (uint n = 0; n < VS * 2; ++n) parts[(warp * ROWS + r) * PART_PITCH + n * 8 + lane / 4] = sums[n / 2][n % 2 * 2 + h] * factor;
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint first_group = group_of_chunk(here.first_chunk, all, groups);
    const uint groups_here = group_of_chunk(here.end_chunk - 1, all, groups) - first_group + 1;
    global float* const slot = slots + (2 * get_group_id(0) + (get_group_id(0) == first_group)) * SLOT;
    for (uint n = item; n < ROWS * (V_SLOT / 4); n += GROUP) {
      const uint r = n / (V_SLOT / 4), c = n % (V_SLOT / 4) * 4;
      float most = -INFINITY, total_here = 0;
      float4 sum = 0;
      UNROLLED
      for (uint w = 0; w < WARPS; ++w) most = fmax(most, all_largest[w * 8 + r]);
      UNROLLED
      for (uint w = 0; w < WARPS; ++w) {
        total_here += fast_exp2(all_largest[w * 8 + r] - shift_of(most)) * all_total[w * 8 + r];
        sum += *(local const float4*)(parts + (w * ROWS + r) * PART_PITCH + c);
      }
      if (groups_here > 1) {
        *(global float4*)(slot + r * V_SLOT + c) = sum;
        if (c == 0) *(global float2*)(slot + ROWS * V_SLOT + 2 * r) = (float2)(most, total_here);
      } else if (r < at.rows) {
        float each[4];
        vstore4(sum, 0, each);
        WRITE_ROW(r, c, 4, each, most, total_here)
      }
    }
    if (groups_here > 1) {  // uniform in the group
      barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // the slot is complete
      if (item == 0) is_last = hand_over(counters + first_group) == groups_here - 1;
      barrier(CLK_LOCAL_MEM_FENCE);
      if (is_last) {  // uniform in the group
        take_over();
        COMBINE(first_group, groups_here)
        if (item == 0) counters[first_group] = 0;  // ready for the next launch
      }
      barrier(CLK_LOCAL_MEM_FENCE);  // before is_last is overwritten
    }
  }
}
