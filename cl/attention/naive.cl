// Attention as the textbook has it, in three launches: all logits, their softmax, and its product with the values. The whole matrix of
// weights goes through global memory five times.
//
// Launch: one dimension. A row is one query of one head; attention_logits and attention_results have a work-item for each key or column
// of each row, attention_weights one for each row. Tiles are of one row, `group` is 1 and `kv_heads` are those of q; `shared` are the heads
// of q that share one of k. The launches have `rows` of all rows, from `first_row` on. `logits`: `keys` numbers for each of them.
#include "attention/operation.clh"

#define NAIVE_ARGUMENTS ATTENTION_ARGUMENTS, UNUSED uint shared, uint first_row, uint rows, global float* logits

kernel void attention_logits(NAIVE_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  for (ulong n = get_global_id(0); n < (ulong)rows * a.keys; n += get_global_size(0)) {
    const uint j = (uint)(n % a.keys);
    place at;
    place_of_tile(&at, &a, first_row + (uint)(n / a.keys), 1);
    if (at.rows == 0) continue;
    const uint r = at.row;
    logit_row row;
    logit_row_of(&row, &a, &at, r, own_key(&at, r));
    float x = -INFINITY;
    if (j < at.keys && !is_hidden(&row, j, &a)) {
      const ulong q_row = row_place(&a, &at, r, &a.of_q);
      at.head /= shared;
      const ulong k_row = key_place(&a, &at, j, &a.of_k);
      float sum = 0;
      for (uint d = 0; d < HEAD_SIZE; ++d) sum += load_value(q, q_row + d) * load_value(k, k_row + d);
      x = logit_of(sum, j, &row, &a);
    }
    logits[n] = x;
  }
}

kernel void attention_weights(NAIVE_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  for (ulong n = get_global_id(0); n < rows; n += get_global_size(0)) {
    place at;
    place_of_tile(&at, &a, first_row + (uint)n, 1);
    if (at.rows == 0) continue;
    global float* row = logits + n * a.keys;
    const float first = first_largest(&a, &at, at.row);
    float largest = first;
    for (uint j = 0; j < at.keys; ++j) largest = fmax(largest, row[j]);
    float sum = first_sum(first, largest);
    for (uint j = 0; j < at.keys; ++j) sum += row[j] = exp2(row[j] - shift_of(largest));
    const float share = share_of(sum);
    for (uint j = 0; j < at.keys; ++j) row[j] *= share;
    if (LSE) lse[lse_place(&a, &at, at.row)] = lse_of(largest, sum);
  }
}

kernel void attention_results(NAIVE_ARGUMENTS) {
  const attention_arguments a = ATTENTION_ALL_ARGUMENTS;
  for (ulong n = get_global_id(0); n < (ulong)rows * VALUE_SIZE; n += get_global_size(0)) {
    const uint c = (uint)(n % VALUE_SIZE);
    const ulong row = n / VALUE_SIZE;
    place at;
    place_of_tile(&at, &a, first_row + (uint)row, 1);
    if (at.rows == 0) continue;
    const ulong out_row = row_place(&a, &at, at.row, &a.of_out);
    at.head /= shared;
    float sum = 0;
    for (uint j = 0; j < at.keys; ++j) sum += logits[row * a.keys + j] * load_value(v, key_place(&a, &at, j, &a.of_v) + c);
    store_result(out, out_row + c, sum);
  }
}
