// layer_norm and rms_norm of long rows, which groups share: see common/row_parts.clh. Mean and squares of a part are found at once, as its packs
// arrive. A group has the weights of its part in local memory for all rows.
//
// Launch: one dimension, GROUP work-items a group; teams of `parts` groups, as many as run at once, in a loop over the rows. Local memory: STAGES
// times PACKS packs of ELEMENTs, for each vector of weights WEIGHT_PACKS packs of WEIGHTs, GROUP values, or with COPY_ASYNC 32, and one more, and
// MOST_PARTS + 1 words. Global memory: `statuses`.
#include "norm/operation.clh"
#include "norm/statistics.clh"

#ifndef GROUP
#define GROUP 256  // work-items: a power of two
#endif
#define STATISTICS 3  // an element of the part, the mean less it, the sum of squares
#include "common/hand_over.clh"
#include "common/row_ahead.clh"
#include "common/row_parts.clh"
#include "norm/kept_weights.clh"

static inline VALUE sum_of(VALUE a, VALUE b) { return a + b; }
#if COPY_ASYNC
#include "nvidia/shuffle.clh"
DEFINE_TEAM_SHUFFLE_ALL(team_sum, VALUE, sum_of)
#else
DEFINE_TEAM_REDUCE(team_sum, VALUE, sum_of)
#endif

// Merges packs that begin with element i of the row with its statistics so far.
INLINED statistics merge_packs(statistics before, packed_vector* v, int i, int cols) {
  statistics more = (statistics)(0, 0, 0, before.w);
  count_packs(&more, v, AT_ONCE, i, GROUP * PACK, cols, cols);
  return merge(before, more);
}

// The statistics of the work-item's packs of a part: of a part that is kept, or else is read. One function for both, so that the compiler makes the
// same bits of them; on NVIDIA not inlined, for its registers.
COLD_FUNCTION statistics count_part(local const raw_pack* kept, int is_kept, global const ELEMENT* row, int shift, int cols, int item) {
  statistics mine = 0;
#if OPERATION == OP_LAYER
  mine.w = middle_of_row(row, cols);
#endif
  ROLLED
  for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
    packed_vector v[AT_ONCE];
    if (is_kept) {
      WAIT_PART_CHUNK();
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = kept_pack(kept, first + k * GROUP, shift, cols, 0);
      END_CHUNK();
    } else {
      UNROLLED
      for (int k = 0; k < AT_ONCE; ++k) v[k] = load_row_pack(row, (first + k * GROUP) * PACK - shift, cols, 0);
    }
    mine = merge_packs(mine, v, first * PACK - shift, cols);
  }
  return mine;
}

// Merges the statistics of a team's work-items, all with the same w; all of them receive the result.
GROUP_FUNCTION void merge_team(statistics* all, local VALUE* scratch, uint item, uint team) {
  VALUE squares = all->z;
#if OPERATION == OP_LAYER
  VALUE number = all->x, sum = all->x * all->y;
  team_sum(&number, scratch, item, team);
  team_sum(&sum, scratch, item, team);
  sum /= number > 0 ? number : 1;
  const VALUE apart = all->y - sum;
  squares += all->x * (apart * apart);
  all->x = number;
  all->y = sum;
#endif
  team_sum(&squares, scratch, item, team);
  all->z = squares;
}

// Merges the statistics of the group's work-items; the first POLLERS receive the result.
GROUP_FUNCTION void merge_items(statistics* all, local VALUE* scratch, uint item) {
#if COPY_ASYNC
  merge_team(all, scratch, item, WARP);
  if (item % WARP == 0) vstore4(*all, item / WARP, scratch);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item >= WARP) return;
  const VALUE w = all->w;
  *all = item < GROUP / WARP ? vload4(item, scratch) : (statistics)(0);
  all->w = w;
#endif
  merge_team(all, scratch, item, POLLERS);
}

// Merges the statistics of all parts of row `row`, for what finishes it: the mean in two numbers, and the factor. By the first POLLERS work-items.
GROUP_FUNCTION void finish_row(local VALUE* finished, local const part_statistics* of_parts, uint parts, ulong row, int cols, VALUE epsilon,
                               local VALUE* scratch, uint item) {
  const VALUE origin = of_parts[0].values[0];  // which means of parts are taken less
  statistics all = (statistics)(0, 0, 0, origin);
  for (uint p = item; p < parts; p += POLLERS) {
    const VALUE number = (VALUE)part_of_row(row, p, cols).cols;
    const VALUE mean = number > 0 ? (of_parts[p].values[0] - origin) + of_parts[p].values[1] : 0;
    all = merge(all, (statistics)(number, mean, of_parts[p].values[2], origin));
  }
  merge_team(&all, scratch, item, POLLERS);
  if (item != 0) return;
  finished[0] = cols > 0 ? mean_of(all) : (VALUE)NAN;
  finished[1] = rest_of_mean(all, finished[0]);
  finished[2] = factor_of(all.z, cols, epsilon);
}

#if HAS_WEIGHT
#define TIMES_WEIGHTS(i) *kept_weights(kept_weight, i, part)
#else
#define TIMES_WEIGHTS(i)
#endif
#if HAS_BIAS
#define PLUS_BIAS(i) +kept_weights(kept_bias, i, part)
#else
#define PLUS_BIAS(i)
#endif

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void norm_cooperative(NORM_ARGUMENTS, uint parts, uint epoch, volatile global ulong* statuses) {
  USE_NORM_ARGUMENTS;
  local raw_pack kept[STAGES * PACKS] __attribute__((aligned(16)));
  local VALUE scratch[COPY_ASYNC ? 128 : GROUP], finished[3];
  local part_statistics of_parts[MOST_PARTS];
  local uint is_late[MOST_PARTS], late_turn[1];  // late_turn: the last one in which a part was late
#if HAS_WEIGHT
  local weight_pack kept_weight[WEIGHT_PACKS] __attribute__((aligned(16)));
#endif
#if HAS_BIAS
  local weight_pack kept_bias[WEIGHT_PACKS] __attribute__((aligned(16)));
#endif
  const uint item = get_local_id(0), part = get_group_id(0) % parts;
  const ulong all = rows * batch, teams = get_num_groups(0) / parts, team = get_group_id(0) / parts;
  const bool in_place = (global const void*)(in + in_offset) == (global const void*)(out + out_offset);
  if (item == 0) late_turn[0] = 0;
  copy_first_rows(kept, in, team, teams, all, part, item, rows, cols, batch, in_offset, in_pitch, in_stride);
#if HAS_WEIGHT
  keep_weights(kept_weight, weight + weight_offset, part, item, cols);
#endif
#if HAS_BIAS
  keep_weights(kept_bias, bias + bias_offset, part, item, cols);
#endif
  row_part before = {0, 0, 0};  // the part that is written, of the row before
  VALUE mean = 0, left = 0, factor = 0;
  uint turn = 1, stage = 0;
  for (ulong r = team; r < all + teams; r += teams) {
    const bool is_row = r < all;
    const ulong row = is_row ? row_place(r, rows, batch, in_offset, in_pitch, in_stride) : 0;
    const row_part mine = part_of_row(row, part, is_row ? cols : 0);
    local raw_pack* const counted = kept + stage * PACKS;
    local raw_pack* const written = kept + (stage == 0 ? STAGES - 1 : stage - 1) * PACKS;
    volatile global ulong* const status = statuses + r * ROW_STATUSES(parts);
    // Its own part, and then those that are late: one loop for both, so that the compiler makes the same bits of them.
    int end = 0;
    for (int n = -1; n < end; ++n) {
      if (n >= 0 && !is_late[n]) continue;  // uniform in the group
      const row_part p = n < 0 ? mine : part_of_row(row, n, cols);
      statistics found = count_part(counted, n < 0, in + p.at, p.at % LINE, p.cols, item);
      merge_items(&found, scratch, item);
      const part_statistics own = {{found.w, found.y, found.z}};
      if (n < 0) {
        if (item == 0) of_parts[part] = own;
        if (is_row && parts > 1 && item == 0) publish_part(status + part * STATUS_WORDS, own, epoch);
        if (in_place && item == 0) device_fence();  // before the first result
        // The results of the row before, and copies of a later one.
        const row_part next = part_of(r + (STAGES - 1) * teams, all, part, rows, cols, batch, in_offset, in_pitch, in_stride);
        const ulong to = before.first + row_place(turn > 1 ? r - teams : r, rows, batch, out_offset, out_pitch, out_stride);
        const int apart = before.at % LINE, aligned = ARE_ALIGNED(to, apart % PACK);
        ROLLED
        for (int first = item; first < CHUNKS * CHUNK; first += CHUNK) {
          UNROLLED
          for (int k = 0; k < AT_ONCE; ++k) {
            const int i = (first + k * GROUP) * PACK - apart;
            if (i >= before.cols) continue;
            const packed_vector x = (kept_pack(written, first + k * GROUP, apart, before.cols, 0) - mean - left) * factor;
            store_row_pack(out + to, i, before.cols, aligned, x TIMES_WEIGHTS(before.first + i) PLUS_BIAS(before.first + i));
          }
          UNROLLED
          for (int k = 0; k < AT_ONCE; ++k) copy_pack(written, first + k * GROUP, in + next.at, next.at % LINE, next.cols);
          END_CHUNK();
        }
        if (item < POLLERS) {
          const int late = poll_parts(of_parts, is_late, late_turn, turn, status, part, is_row ? parts : 0, epoch, item);
          FINISH_EARLY(late, finish_row(finished, of_parts, parts, row, cols, epsilon, scratch, item));
        }
      } else if (item == 0) {
        take_over();  // the elements were read before
        part_statistics theirs = own;
        poll_part(status + n * STATUS_WORDS, &theirs, epoch, 1);
        of_parts[n] = theirs;
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (n < 0 && late_turn[0] == turn) end = (int)parts;
    }
    if (!COPY_ASYNC || end > 0) {  // uniform in the group
      if (!COPY_ASYNC || item < POLLERS) finish_row(finished, of_parts, parts, row, cols, epsilon, scratch, item);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    mean = finished[0];
    left = finished[1];
    factor = finished[2];
    if (is_row && part == 0 && item == 0) {
      if (flags & STORES_MEAN) means[means_offset + r] = mean;
      if (flags & STORES_FACTOR) factors[factors_offset + r] = factor;
    }
    before = mine;
    stage = stage == STAGES - 1 ? 0 : stage + 1;
    ++turn;
  }
}
