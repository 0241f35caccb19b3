// Attention: views -> problem -> launches.
#include <smem/attention.hpp>

#include "formatted.hpp"
#include "ops/divisor.hpp"
#include "ops/heads.hpp"
#include "ops/run.hpp"
#include "ops/sequences.hpp"
#include "ops/views.hpp"
#include "plan/attention_checks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace smem {

namespace {

using ops::refuse;

constexpr const char* kAttention = "attention";
constexpr double kLog2E = 1.4426950408889634;

/// A call, as the caller gave it.
struct AttentionCall {
  const ConstHeads &q, &k, &v;
  const Heads& out;
  const Vector* lse;  ///< null: not wanted
  const Attention& how;

  bool ragged() const { return how.ragged.queries.buffer != nullptr; }
  bool paged() const { return how.cache.table.buffer != nullptr; }
  /// Sequences.
  std::size_t batch() const { return ragged() ? how.ragged.queries.size - 1 : q.shape.batch; }
  /// Keys of a sequence, or of all ragged ones.
  std::size_t keys() const {
    if (!paged()) return k.shape.tokens;
    return k.shape.batch == 0 ? 0 : detail::size_product(how.cache.table.cols, k.shape.tokens);
  }
  /// Keys after a query's own that it attends to.
  std::size_t right() const { return how.causal ? 0 : how.window.right; }
};

void require_float(const char* argument, const ElementType& type) {
  if (type != Scalar::float32)
    refuse(kAttention, argument, "float32", name_of(ops::number_type(kAttention, argument, type)));
}

void check_options(const Attention& how) {
  const auto require_finite = [](const char* argument, double value) {
    if (!std::isfinite(static_cast<float>(value * kLog2E)))
      refuse(kAttention, argument, "a number that float32 has", value);
  };
  require_finite("scale", how.scale);
  require_finite("soft_cap", how.soft_cap);
  if (how.soft_cap < 0) refuse(kAttention, "soft_cap", "a positive number, or 0 for none", how.soft_cap);
}

/// The lists that say where sequences are.
void check_sequences(const AttentionCall& call) {
  const Attention& how = call.how;
  const bool ragged_keys = how.ragged.keys.buffer != nullptr;
  if (call.ragged()) {
    ops::SequenceLists::require_whole(kAttention, "ragged.queries", how.ragged.queries.type);
    if (how.ragged.queries.size == 0)
      refuse(kAttention, "ragged.queries", "one offset more than there are sequences", "none");
    if (call.q.shape.batch != 1)
      refuse(kAttention, "q", "a batch of 1, which has all ragged sequences", call.q.shape.batch);
  }
  if (ragged_keys && (!call.ragged() || call.paged()))
    refuse(kAttention, "ragged.keys", "none without offsets of queries, or with pages", "some");
  if (call.ragged() && !call.paged()) {
    if (!ragged_keys) refuse(kAttention, "ragged.keys", "offsets of keys", "none");
    ops::SequenceLists::require_whole(kAttention, "ragged.keys", how.ragged.keys.type);
    ops::check_size(kAttention, "ragged.keys", how.ragged.keys.size, how.ragged.queries.size,
                    "ragged.queries");
  }
  if (how.key_lengths.buffer != nullptr) {
    ops::SequenceLists::require_whole(kAttention, "key_lengths", how.key_lengths.type);
    if (how.key_lengths.size != call.batch())
      refuse(kAttention, "key_lengths", formatted("{}, one a sequence", call.batch()), how.key_lengths.size);
  }
  if (!call.paged()) return;
  ops::SequenceLists::require_whole(kAttention, "cache.table", how.cache.table.type);
  if (how.cache.table.batch != 1) refuse(kAttention, "cache.table", "one matrix", how.cache.table.batch);
  if (how.cache.table.rows != call.batch()) {
    refuse(kAttention, "cache.table", formatted("{} rows, one a sequence", call.batch()),
           how.cache.table.rows);
  }
}

void check_shapes(const AttentionCall& call) {
  const HeadsShape &q = call.q.shape, &k = call.k.shape;
  ops::check_type(kAttention, "k", call.k.type, call.q.type, "q");
  ops::check_type(kAttention, "v", call.v.type, call.q.type, "q");
  ops::require_shape(kAttention, "k", call.k, {call.paged() ? k.batch : q.batch, k.heads, k.tokens, q.size});
  ops::require_shape(kAttention, "v", call.v, {k.batch, k.heads, k.tokens, call.v.shape.size});
  ops::require_shape(kAttention, "out", call.out, {q.batch, q.heads, q.tokens, call.v.shape.size});
  const ConstHeads& bias = call.how.bias;
  if (bias.buffer != nullptr) {
    const auto either = [](std::size_t got, std::size_t all) { return got == 1 ? 1 : all; };
    ops::require_shape(kAttention, "bias", bias,
                       {either(bias.shape.batch, q.batch), either(bias.shape.heads, q.heads),
                        either(bias.shape.tokens, q.tokens), call.keys()});
  }
  const auto of_heads = [&](const char* argument, const ConstVector& numbers) {
    if (numbers.buffer == nullptr) return;
    require_float(argument, numbers.type);
    if (numbers.size != q.heads)
      refuse(kAttention, argument, formatted("{}, one for each head of q", q.heads), numbers.size);
  };
  of_heads("slopes", call.how.slopes);
  of_heads("sink_logits", call.how.sink_logits);
  if (call.lse == nullptr) return;
  require_float("lse", call.lse->type);
  ops::check_room(kAttention, "lse", call.lse->size, detail::size_product(q.batch, q.heads, q.tokens));
}

AttentionProblem problem_of(const Context& context, const AttentionCall& call) {
  const Attention& how = call.how;
  AttentionProblem p;
  p.in = ops::number_type(kAttention, "q", call.q.type);
  p.out = ops::number_type(kAttention, "out", call.out.type);
  p.batch = call.batch();
  p.heads = call.q.shape.heads;
  p.kv_heads = call.k.shape.heads;
  p.queries = call.q.shape.tokens;
  p.keys = call.keys();
  p.head_size = call.q.shape.size;
  p.value_size = call.v.shape.size;
  p.right_limit = call.right() < p.queries + p.keys;
  p.left_limit = how.window.left < p.queries + p.keys;
  p.soft_cap = how.soft_cap != 0;
  p.lse = call.lse != nullptr;
  p.bias = how.bias.buffer != nullptr;
  p.bias_type = p.bias ? ops::number_type(kAttention, "bias", how.bias.type) : p.in;
  p.slopes = how.slopes.buffer != nullptr;
  p.sink_logits = how.sink_logits.buffer != nullptr;
  p.key_lengths = how.key_lengths.buffer != nullptr;
  p.ragged = call.ragged();
  p.paged = call.paged();
  plan::check_attention(context.device(), p);
  return p;
}

/// Checks where the views are. \returns the alignments.
void check_places(const Context& context, const AttentionCall& call, AttentionProblem& problem) {
  const ops::Memory out = ops::check_heads(context, kAttention, "out", call.out, true);
  problem.out_alignment = std::min<std::size_t>(16, ops::vector_alignment(call.out, out));
  problem.alignment = 16;
  ConstMatrix lse_view;
  ops::Memory lse;
  if (call.lse != nullptr) {
    const std::size_t rows =
        detail::size_product(call.q.shape.batch, call.q.shape.heads, call.q.shape.tokens);
    lse_view = {call.lse->buffer, call.lse->type, 1, rows, {.offset = call.lse->offset}};
    lse = ops::check_view(context, kAttention, "lse", lse_view, true);
    ops::check_apart(kAttention, ops::span_of(call.out), out, lse_view, lse, "out", "lse");
  }
  const auto apart = [&](const char* argument, const ConstMatrix& in, const ops::Memory& memory) {
    ops::check_apart(kAttention, in, memory, ops::span_of(call.out), out, argument, "out");
    if (call.lse != nullptr) ops::check_apart(kAttention, in, memory, lse_view, lse, argument, "lse");
  };
  const auto check_heads = [&](const char* argument, const ConstHeads& view) -> std::size_t {
    if (ops::is_empty(view)) return 64;
    const ops::Memory memory = ops::check_heads(context, kAttention, argument, view, false);
    apart(argument, ops::span_of(view), memory);
    return ops::vector_alignment(view, memory);
  };
  const auto check_list = [&](const char* argument, const ConstMatrix& view) {
    if (view.buffer == nullptr || ops::is_empty(view)) return;
    apart(argument, view, ops::check_view(context, kAttention, argument, view, false));
  };
  problem.alignment = std::min(
      {problem.alignment, check_heads("q", call.q), check_heads("k", call.k), check_heads("v", call.v)});
  const Attention& how = call.how;
  if (how.bias.buffer != nullptr) check_heads("bias", how.bias);
  check_list("key_lengths", ops::as_matrix(how.key_lengths));
  check_list("ragged.queries", ops::as_matrix(how.ragged.queries));
  check_list("ragged.keys", ops::as_matrix(how.ragged.keys));
  check_list("slopes", ops::as_matrix(how.slopes));
  check_list("sink_logits", ops::as_matrix(how.sink_logits));
  check_list("cache.table", how.cache.table);
}

/// Reads the lists that say where sequences are. \throws Error naming the one with a number out of its range.
void check_lists(const Context& context, const AttentionCall& call, const CallOptions& options) {
  ops::overrides_of(context.runtime(), kAttention, options);  // the events to wait for
  const ops::SequenceLists lists(context, kAttention, options.wait_for);
  const Attention& how = call.how;
  if (call.ragged()) lists.counts_of("ragged.queries", how.ragged.queries, call.q.shape.tokens);
  std::vector<std::size_t> keys(call.batch(), call.keys());
  if (how.ragged.keys.buffer != nullptr)
    keys = lists.counts_of("ragged.keys", how.ragged.keys, call.k.shape.tokens);
  if (how.key_lengths.buffer != nullptr)
    keys = lists.lengths_of("key_lengths", how.key_lengths, [&](std::size_t s) { return keys[s]; });
  if (!call.paged()) return;
  const std::size_t page = std::max<std::size_t>(call.k.shape.tokens, 1);
  lists.check_table("cache.table", how.cache.table, call.k.shape.batch, [&](std::size_t s) {
    return ops::SequenceLists::Entries{0, plan::divide_up(keys[s], page)};
  });
}

/// Keys, as kernels count them.
cl_int clamped(std::size_t keys) { return static_cast<cl_int>(std::min(keys, plan::kMostTokens)); }

/// What logits are multiplied by, in units of log2, and the cap: see cl/attention/operation.clh.
struct AttentionFactors {
  cl_float scale, cap;

  AttentionFactors(const Attention& how, std::size_t head_size) {
    const double usual = 1 / std::sqrt(static_cast<double>(head_size));
    const double factor = how.scale == 0 ? usual : how.scale;
    scale = static_cast<cl_float>(how.soft_cap == 0 ? factor * kLog2E : factor / how.soft_cap);
    cap = static_cast<cl_float>(how.soft_cap * kLog2E);
  }
};

/// How groups take turns at the tiles of causal sequences: see cl/nvidia/attention/wgmma.cl.
struct Turns {
  std::size_t heads, steps;

  Turns(std::size_t tiles, std::size_t groups)
      : heads(plan::at_least_1(2 * groups / plan::at_least_1(tiles))),
        steps(plan::divide_up(heads * tiles, 2 * groups) * 2) {}
};

/// Gives a launch its arguments.
void bind(const ops::Launching& launch, const AttentionCall& call, const AttentionProblem& problem) {
  const ops::KernelHeads q(call.q), k(call.k), v(call.v), out(call.out), bias(call.how.bias);
  const Attention& how = call.how;
  const auto number = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const auto offset = [](const ConstVector& list) { return static_cast<cl_ulong>(list.offset); };
  const AttentionFactors factors(how, problem.head_size);
  const ConstMatrix& table = how.cache.table;
  const bool is_naive = launch.plan().variant == "naive";
  const std::size_t shared = problem.heads / problem.kv_heads;
  const std::size_t tiles = launch.plan().number("tiles");
  const std::size_t kv_heads = is_naive ? problem.heads : problem.kv_heads;
  const Turns turns(tiles, launch.launch().groups());
  const ops::Divisor by_tiles(tiles), by_kv_heads(kv_heads), by_turn_heads(turns.heads),
      by_turn_steps(turns.steps), by_parts(launch.plan().number("parts")), by_page(call.k.shape.tokens);
  const auto with = [&](const auto&... more) {
    launch(runtime::packed(
               q.buffer, q.offset, q.batch, q.head, q.token, k.buffer, k.offset, k.batch, k.head, k.token,
               v.buffer, v.offset, v.batch, v.head, v.token, out.buffer, out.offset, out.batch, out.head,
               out.token, call.lse != nullptr ? call.lse->buffer : cl_mem{},
               static_cast<cl_ulong>(call.lse != nullptr ? call.lse->offset : 0), number(problem.batch),
               number(kv_heads), number(is_naive ? 1 : shared), number(problem.queries), number(problem.keys),
               number(tiles), by_tiles.value, by_tiles.inverse, by_tiles.shift, by_kv_heads.value,
               by_kv_heads.inverse, by_kv_heads.shift, by_turn_heads.value, by_turn_heads.inverse,
               by_turn_heads.shift, by_turn_steps.value, by_turn_steps.inverse, by_turn_steps.shift,
               by_parts.value, by_parts.inverse, by_parts.shift, factors.scale, factors.cap,
               clamped(how.window.left), clamped(call.right()), clamped(how.window.sinks), bias.buffer,
               bias.offset, bias.batch, bias.head, bias.token, how.slopes.buffer, offset(how.slopes),
               how.sink_logits.buffer, offset(how.sink_logits), how.key_lengths.buffer,
               offset(how.key_lengths), how.ragged.queries.buffer, offset(how.ragged.queries),
               how.ragged.keys.buffer, offset(how.ragged.keys), table.buffer,
               static_cast<cl_ulong>(table.offset), static_cast<cl_ulong>(table.pitch), by_page.value,
               by_page.inverse, by_page.shift, number(call.k.shape.batch)),
           more...);
  };
  if (is_naive) {
    const std::size_t slice = launch.plan().number("slice"), first = launch.round() * slice;
    with(number(shared), number(first), number(std::min(slice, launch.plan().number("rows") - first)),
         launch.scratch(0));
  } else if (launch.plan().variant.starts_with("split_")) {
    with(number(launch.plan().number("chunk")), launch.scratch(0), launch.counters());
  } else if (launch.plan().number("parts") != 0) {
    with(launch.scratch(0), launch.counters());
  } else if (const std::size_t maps = launch.plan().number("maps_area"); maps != 0) {
    with(launch.scratch(maps - 1));
  } else {
    with();
  }
}

cl::Event run(const Context& context, const AttentionCall& call, const CallOptions& options) {
  check_options(call.how);
  check_sequences(call);
  check_shapes(call);
  AttentionProblem problem = problem_of(context, call);
  if (ops::is_empty(call.out) || problem.batch == 0)
    return ops::run_empty(context, kAttention, plan_attention, problem, options);
  check_places(context, call, problem);
  if (call.how.check) check_lists(context, call, options);
  return ops::run(context, kAttention, plan_attention, problem, options,
                  [&](const ops::Launching& launch) { bind(launch, call, problem); });
}

}  // namespace

cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                    const Heads& out, const Attention& how, const CallOptions& options) {
  return run(context, {q, k, v, out, nullptr, how}, options);
}

cl::Event attention(const Context& context, const ConstHeads& q, const ConstHeads& k, const ConstHeads& v,
                    const Heads& out, const Vector& lse, const Attention& how, const CallOptions& options) {
  return run(context, {q, k, v, out, &lse, how}, options);
}

}  // namespace smem
