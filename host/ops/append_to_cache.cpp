// Appending to caches: views -> problem -> launch.
#include <smem/append_to_cache.hpp>

#include "formatted.hpp"
#include "ops/heads.hpp"
#include "ops/rotation.hpp"
#include "ops/run.hpp"
#include "ops/sequences.hpp"
#include "ops/views.hpp"
#include "plan/append_to_cache_checks.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace smem {

namespace {

using ops::refuse;
using plan::kAppendToCacheName;

/// A call, as the caller gave it.
struct AppendCall {
  const ConstHeads &k, &v;
  const Heads &keys, &values;
  const CacheAppend& how;

  bool ragged() const { return how.offsets.buffer != nullptr; }
  bool paged() const { return how.cache.table.buffer != nullptr; }
  /// Sequences.
  std::size_t batch() const { return ragged() ? how.offsets.size - 1 : k.shape.batch; }
  /// Keys of a sequence that a cache has room for.
  std::size_t capacity() const {
    return paged() ? plan::size_product(how.cache.table.cols, keys.shape.tokens) : keys.shape.tokens;
  }
};

void check_shapes(const AppendCall& call) {
  const auto whole = [](const char* argument, const ElementType& type) {
    ops::SequenceLists::require_whole(kAppendToCacheName, argument, type);
  };
  const CacheAppend& how = call.how;
  if (call.ragged()) {
    whole("offsets", how.offsets.type);
    if (how.offsets.size == 0)
      refuse(kAppendToCacheName, "offsets", "one more than there are sequences", "none");
    if (call.k.shape.batch != 1)
      refuse(kAppendToCacheName, "k", "a batch of 1, which has all ragged sequences", call.k.shape.batch);
  }
  if (how.lengths.buffer == nullptr)
    refuse(kAppendToCacheName, "lengths", "the length of each sequence", "none");
  whole("lengths", how.lengths.type);
  if (how.lengths.size != call.batch())
    refuse(kAppendToCacheName, "lengths", formatted("{}, one a sequence", call.batch()), how.lengths.size);
  if (call.paged()) {
    const ConstMatrix& table = how.cache.table;
    whole("cache.table", table.type);
    if (table.batch != 1) refuse(kAppendToCacheName, "cache.table", "one matrix", table.batch);
    if (table.rows != call.batch()) {
      refuse(kAppendToCacheName, "cache.table", formatted("{} rows, one a sequence", call.batch()),
             table.rows);
    }
  }
  ops::check_type(kAppendToCacheName, "v", call.v.type, call.k.type, "k");
  ops::check_type(kAppendToCacheName, "key_cache", call.keys.type, call.k.type, "k");
  ops::check_type(kAppendToCacheName, "value_cache", call.values.type, call.k.type, "k");
  const HeadsShape &k = call.k.shape, &cache = call.keys.shape;
  ops::require_shape(kAppendToCacheName, "v", call.v, {k.batch, k.heads, k.tokens, call.v.shape.size});
  ops::require_shape(kAppendToCacheName, "key_cache", call.keys,
                     {call.paged() ? cache.batch : call.batch(), k.heads, cache.tokens, k.size});
  ops::require_shape(kAppendToCacheName, "value_cache", call.values,
                     {cache.batch, k.heads, cache.tokens, call.v.shape.size});
}

void check_rotary(const AppendCall& call) {
  if (!call.how.rotary) return;
  const Rotary& what = *call.how.rotary;
  ops::check_rotation(kAppendToCacheName, what);
  if (what.head_size != 0 && what.head_size != call.k.shape.size)
    refuse(kAppendToCacheName, "head_size", formatted("{}, as k has", call.k.shape.size), what.head_size);
  if (what.positions.buffer != nullptr)
    refuse(kAppendToCacheName, "positions", "none: lengths say them", "some");
}

AppendToCacheProblem problem_of(const Context& context, const AppendCall& call) {
  AppendToCacheProblem p{.type = ops::number_type(kAppendToCacheName, "k", call.k.type),
                         .batch = call.batch(),
                         .heads = call.k.shape.heads,
                         .tokens = call.k.shape.tokens,
                         .head_size = call.k.shape.size,
                         .value_size = call.v.shape.size,
                         .ragged = call.ragged(),
                         .paged = call.paged()};
  if (call.how.rotary) {
    const Rotary& what = *call.how.rotary;
    p.rotated = what.rotated == 0 ? p.head_size : what.rotated;
    p.pairs = what.pairs;
  }
  plan::check_append_to_cache(context.device(), p);
  if (call.capacity() > plan::kMostElements)
    refuse(kAppendToCacheName, "key_cache", "room that is counted in 52 bits", call.capacity());
  return p;
}

/// Checks where the views are. \returns the alignment of all vectors.
std::size_t check_places(const Context& context, const AppendCall& call) {
  const ops::Memory keys = ops::check_heads(context, kAppendToCacheName, "key_cache", call.keys, true);
  const ops::Memory values = ops::check_heads(context, kAppendToCacheName, "value_cache", call.values, true);
  const ConstMatrix all_keys = ops::span_of(call.keys), all_values = ops::span_of(call.values);
  ops::check_apart(kAppendToCacheName, all_keys, keys, all_values, values, "key_cache", "value_cache");
  const auto apart = [&](const char* argument, const ConstMatrix& in) {
    const ops::Memory memory = ops::check_view(context, kAppendToCacheName, argument, in, false);
    ops::check_apart(kAppendToCacheName, in, memory, all_keys, keys, argument, "key_cache");
    ops::check_apart(kAppendToCacheName, in, memory, all_values, values, argument, "value_cache");
    return memory;
  };
  const ops::Memory k = apart("k", ops::span_of(call.k)), v = apart("v", ops::span_of(call.v));
  apart("lengths", ops::as_matrix(call.how.lengths));
  if (call.ragged()) apart("offsets", ops::as_matrix(call.how.offsets));
  if (call.paged()) apart("cache.table", call.how.cache.table);
  return std::min({std::size_t{16}, ops::vector_alignment(call.k, k), ops::vector_alignment(call.v, v),
                   ops::vector_alignment(call.keys, keys), ops::vector_alignment(call.values, values)});
}

/// Reads the lists that say where sequences are. \throws Error naming the one with a number out of its range.
void check_lists(const Context& context, const AppendCall& call, const CallOptions& options) {
  ops::overrides_of(context.runtime(), kAppendToCacheName, options);  // the events to wait for
  const ops::SequenceLists lists(context, kAppendToCacheName, options.wait_for);
  std::vector<std::size_t> tokens(call.batch(), call.k.shape.tokens);
  if (call.ragged()) tokens = lists.counts_of("offsets", call.how.offsets, call.k.shape.tokens);
  const std::size_t capacity = call.capacity();
  const std::vector<std::size_t> lengths = lists.lengths_of("lengths", call.how.lengths, [&](std::size_t s) {
    if (tokens[s] > capacity)
      refuse(kAppendToCacheName, "k", formatted("at most the {} tokens of the cache", capacity), tokens[s]);
    return capacity - tokens[s];
  });
  if (!call.paged()) return;
  const std::size_t page = call.keys.shape.tokens;
  lists.check_table("cache.table", call.how.cache.table, call.keys.shape.batch, [&](std::size_t s) {
    return ops::SequenceLists::Entries{lengths[s] / page, plan::divide_up(lengths[s] + tokens[s], page)};
  });
}

}  // namespace

cl::Event append_to_cache(const Context& context, const ConstHeads& k, const ConstHeads& v,
                          const Heads& key_cache, const Heads& value_cache, const CacheAppend& how,
                          const CallOptions& options) {
  const AppendCall call{k, v, key_cache, value_cache, how};
  check_shapes(call);
  check_rotary(call);
  AppendToCacheProblem problem = problem_of(context, call);
  if (ops::is_empty(k) || problem.batch == 0 || ops::is_empty(key_cache) || call.capacity() == 0)
    return ops::run_empty(context, kAppendToCacheName, plan_append_to_cache, problem, options);
  problem.alignment = check_places(context, call);
  if (how.check) check_lists(context, call, options);
  cl::Buffer turns;
  if (how.rotary) {
    const std::vector<cl_ulong> numbers = ops::rotation_turns(*how.rotary, problem.rotated);
    turns = context.runtime().constants().get(std::as_bytes(std::span(numbers)));
  }
  const ops::KernelHeads from_k(k), from_v(v), keys(key_cache), values(value_cache);
  const auto number = [](std::size_t value) { return static_cast<cl_uint>(value); };
  const auto large = [](std::size_t value) { return static_cast<cl_ulong>(value); };
  const ConstMatrix& table = how.cache.table;
  return ops::run(
      context, kAppendToCacheName, plan_append_to_cache, problem, options, [&](const ops::Launching& launch) {
        launch(runtime::packed(
            from_k.buffer, from_k.offset, from_k.batch, from_k.head, from_k.token, from_v.buffer,
            from_v.offset, from_v.batch, from_v.head, from_v.token, keys.buffer, keys.offset, keys.batch,
            keys.head, keys.token, values.buffer, values.offset, values.batch, values.head, values.token,
            number(problem.batch), number(problem.heads), number(problem.tokens), large(call.capacity()),
            how.lengths.buffer, large(how.lengths.offset), call.ragged() ? how.offsets.buffer : cl_mem{},
            large(how.offsets.offset), call.paged() ? table.buffer : cl_mem{}, large(table.offset),
            large(table.pitch), number(key_cache.shape.tokens), number(key_cache.shape.batch), turns(),
            static_cast<cl_long>(how.rotary ? how.rotary->first_position : 0)));
      });
}

}  // namespace smem
