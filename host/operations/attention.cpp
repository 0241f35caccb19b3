// attention, described_attention.
#include "operations/heads.hpp"
#include "operations/matrices.hpp"
#include "operations/operation.hpp"
#include "operations/peers.hpp"

#include "formatted.hpp"
#include "plan/attention_checks.hpp"

#include <smem/attention.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace smem::operations {

namespace {

/// Numbers from -2 to 2 that all types hold.
double attention_number(std::uint64_t random) { return static_cast<double>(random >> 57) * 0x1p-5 - 2; }

/// A call in words.
struct DescribedAttention {
  AttentionProblem p;
  std::size_t sequences = 1, queries = 0, keys = 0;  ///< the longest of a sequence
  std::size_t page = 0;                              ///< keys of a page; 0: none
  bool causal = false, tokens_first = false, zipf = false;
  AttentionWindow window = {};
  double soft_cap = 0;

  /// Where ragged sequence s begins: those of odd number begin earlier than if all had `tokens`.
  static std::size_t begin_of(std::size_t s, std::size_t tokens, std::size_t sequences) {
    return s * tokens - (s % 2 == 1 && s < sequences ? tokens / 3 : 0);
  }
  /// Keys of sequence s of a cache. By Zipf's law, the one of rank r has 1 / r of the longest one's.
  std::size_t length_of(std::size_t s) const {
    if (zipf) return std::max<std::size_t>(keys / (s * 37 % sequences + 1), 1);
    return keys - (s * 37) % (keys / 2 + 1);
  }

  std::size_t pages_of_sequence() const { return (keys + page - 1) / page; }
  /// Columns of the bias: keys that a sequence has room for.
  std::size_t bias_keys() const { return page != 0 ? pages_of_sequence() * page : keys; }
  HeadsShape q() const { return {p.ragged ? 1 : sequences, p.heads, p.queries, p.head_size}; }
  HeadsShape k() const {
    if (page != 0) return {sequences * pages_of_sequence(), p.kv_heads, page, p.head_size};
    return {p.ragged ? 1 : sequences, p.kv_heads, p.keys, p.head_size};
  }
  static HeadsShape with(HeadsShape shape, std::size_t size) {
    shape.size = size;
    return shape;
  }
  HeadsLayout layout(const HeadsShape& shape) const {
    return tokens_first ? tokens_before_heads(shape) : HeadsLayout{};
  }
};

ConstHeads view_of(const DescribedAttention& of, const PlacedArray& array, const HeadsShape& shape) {
  HeadsLayout layout = of.layout(shape);
  layout.offset = array.first;
  return {array.buffer, array.type, shape, layout};
}

/// The place of the first element of a vector in its packed array.
std::size_t place_in(const DescribedAttention& of, const HeadsShape& shape, std::size_t b, std::size_t h,
                     std::size_t t) {
  const ConstHeads view(nullptr, Scalar::float32, shape, of.layout(shape));
  return b * view.batch_stride + h * view.head_stride + t * view.token_stride;
}

/// One query of one head of one sequence.
struct Query {
  std::size_t s, h, i;
};

/// The inputs by name; what a call has not is null.
const HostArray* find(const Case& of, const HostArrays& arrays, std::string_view name) {
  for (std::size_t i = 0; i < of.in.size(); ++i)
    if (of.in[i].name == name) return &arrays.in[i];
  return nullptr;
}

void compute_query(const DescribedAttention& of, const Case& c, const HostArrays& arrays, const Query& at) {
  const AttentionProblem& p = of.p;
  const std::size_t begin_q = p.ragged ? DescribedAttention::begin_of(at.s, of.queries, of.sequences) : 0;
  const std::size_t begin_k =
      p.ragged && of.page == 0 ? DescribedAttention::begin_of(at.s, of.keys, of.sequences) : 0;
  std::size_t queries = of.queries, keys = of.keys;
  if (p.ragged) queries = DescribedAttention::begin_of(at.s + 1, of.queries, of.sequences) - begin_q;
  if (p.ragged && of.page == 0)
    keys = DescribedAttention::begin_of(at.s + 1, of.keys, of.sequences) - begin_k;
  if (p.key_lengths) keys = std::min(keys, of.length_of(at.s));
  if (at.i >= queries) return;
  const std::size_t batch = p.ragged ? 0 : at.s, shared = p.heads / p.kv_heads;
  const auto place_of_key = [&](std::size_t j, std::size_t size) {
    const HeadsShape shape = DescribedAttention::with(of.k(), size);
    if (of.page == 0) return place_in(of, shape, batch, at.h / shared, begin_k + j);
    const HostArray& table = *find(c, arrays, "table");
    const auto page = static_cast<std::size_t>(table.number(at.s * of.pages_of_sequence() + j / of.page));
    return place_in(of, shape, page, at.h / shared, j % of.page);
  };
  const auto of_head = [&](const char* name, double otherwise) {
    const HostArray* numbers = find(c, arrays, name);
    return numbers != nullptr ? numbers->number(at.h) : otherwise;
  };
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const HostArray &q = arrays.in[0], &k = arrays.in[1], &v = arrays.in[2], *bias = find(c, arrays, "bias");
  const std::size_t q_place = place_in(of, of.q(), batch, at.h, begin_q + at.i);
  const auto own = static_cast<std::ptrdiff_t>(at.i + keys) - static_cast<std::ptrdiff_t>(queries);
  const double sink = of_head("sink_logits", kHidden), slope = of_head("slopes", 0);
  std::vector<double> logits(keys, kHidden);
  double largest = sink;
  for (std::size_t j = 0; j < keys; ++j) {
    const auto behind = static_cast<std::ptrdiff_t>(j) - own;
    if (of.causal && behind > 0) continue;
    if (p.left_limit && -behind > static_cast<std::ptrdiff_t>(of.window.left) && j >= of.window.sinks)
      continue;
    double x = 0;
    for (std::size_t d = 0; d < p.head_size; ++d)
      x += q.number(q_place + d) * k.number(place_of_key(j, p.head_size) + d);
    x /= std::sqrt(static_cast<double>(p.head_size));
    if (of.soft_cap != 0) x = of.soft_cap * std::tanh(x / of.soft_cap);
    x -= slope * static_cast<double>(std::abs(behind));
    if (bias != nullptr) x += bias->number((at.s * of.queries + at.i) * of.bias_keys() + j);
    logits[j] = x;
    largest = std::max(largest, x);
  }
  const double shift = largest == kHidden ? 0 : largest;
  double sum = std::exp(sink - shift);
  std::vector<double> result(p.value_size, 0.0);
  for (std::size_t j = 0; j < keys; ++j) {
    const double weight = std::exp(logits[j] - shift);
    if (weight == 0) continue;
    sum += weight;
    for (std::size_t d = 0; d < p.value_size; ++d)
      result[d] += weight * v.number(place_of_key(j, p.value_size) + d);
  }
  const std::size_t to =
      place_in(of, DescribedAttention::with(of.q(), p.value_size), batch, at.h, begin_q + at.i);
  for (std::size_t d = 0; d < p.value_size; ++d)
    arrays.out[0].set(to + d, sum == 0 ? 0 : result[d] / sum);
  if (p.lse)
    arrays.out[1].set((batch * p.heads + at.h) * p.queries + begin_q + at.i,
                      sum == 0 ? kHidden : shift + std::log(sum));
}

DescribedAttention described_attention(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  const auto or_else = [&](const char* name, std::size_t otherwise) {
    return words.number(name) != 0 ? words.number(name) : otherwise;
  };
  DescribedAttention of;
  AttentionProblem& p = of.p;
  p.in = words.scalar("type");
  p.out = words.flag("float-out") ? Scalar::float32 : p.in;
  of.sequences = p.batch = shape[0];
  p.heads = shape[1];
  of.queries = shape[2];
  p.head_size = shape[3];
  of.keys = or_else("keys", of.queries);
  p.kv_heads = or_else("kv-heads", p.heads);
  p.value_size = or_else("value-size", p.head_size);
  of.page = words.number("page");
  of.causal = words.flag("causal");
  of.tokens_first = words.flag("tokens-first");
  if (words.number("window") != 0) of.window.left = words.number("window");
  of.window.sinks = words.number("sinks");
  of.soft_cap = words.real("soft-cap");
  p.ragged = words.flag("ragged");
  p.paged = of.page != 0;
  of.zipf = words.flag("zipf");
  p.key_lengths = p.paged || of.zipf || words.flag("lengths");
  const std::size_t parts = p.ragged ? of.sequences : 1;
  p.queries = detail::size_product(of.queries, parts);
  p.keys =
      p.paged ? detail::size_product(of.pages_of_sequence(), of.page) : detail::size_product(of.keys, parts);
  p.right_limit = of.causal;
  p.left_limit = of.window.left < p.queries + p.keys;
  p.soft_cap = of.soft_cap != 0;
  p.lse = words.flag("lse");
  p.bias = words.flag("bias");
  p.bias_type = p.in;
  p.slopes = words.flag("slopes");
  p.sink_logits = words.flag("sink-logits");
  const auto alignment = [&](std::size_t size, Scalar type) {
    return packed_alignment(2, detail::size_product(size, size_of(type)), 16);
  };
  p.alignment = std::min(alignment(p.head_size, p.in), alignment(p.value_size, p.in));
  p.out_alignment = alignment(p.value_size, p.out);
  return of;
}

std::vector<ArrayRule> inputs_of(const DescribedAttention& of) {
  const AttentionProblem& p = of.p;
  const Fill numbers{.number = attention_number};
  std::vector<ArrayRule> in{
      {"q", p.in, elements_of(of.q()), numbers},
      {"k", p.in, elements_of(of.k()), numbers},
      {"v", p.in, elements_of(DescribedAttention::with(of.k(), p.value_size)), numbers}};
  const auto add = [&](bool there, const char* name, Scalar type, std::size_t elements, const Fill& fill) {
    if (there) in.push_back({name, type, elements, fill});
  };
  const auto list = [&](bool there, const char* name, std::size_t elements,
                        const std::function<std::size_t(std::size_t)>& at) {
    add(there, name, Scalar::uint32, elements,
        {.at = [=](std::size_t i) { return static_cast<double>(at(i)); }});
  };
  add(p.bias, "bias", p.in, detail::size_product(of.sequences, of.queries, of.bias_keys()), numbers);
  add(p.slopes, "slopes", Scalar::float32, p.heads,
      {.at = [](std::size_t h) { return std::exp2(-static_cast<double>(h % 8) - 1); }});
  add(p.sink_logits, "sink_logits", Scalar::float32, p.heads, numbers);
  const std::size_t sequences = of.sequences, queries = of.queries, keys = of.keys;
  list(p.key_lengths, "lengths", sequences, [=](std::size_t s) { return of.length_of(s); });
  list(p.ragged, "query_offsets", sequences + 1,
       [=](std::size_t s) { return DescribedAttention::begin_of(s, queries, sequences); });
  list(p.ragged && !p.paged, "key_offsets", sequences + 1,
       [=](std::size_t s) { return DescribedAttention::begin_of(s, keys, sequences); });
  if (p.paged) {
    const std::size_t pages = sequences * of.pages_of_sequence();
    list(true, "table", pages, [=](std::size_t i) { return pages - 1 - i; });
  }
  return in;
}

Attention options_of(const DescribedAttention& of, const std::vector<ArrayRule>& in,
                     const CallArrays& arrays) {
  Attention how{.causal = of.causal, .window = of.window, .soft_cap = of.soft_cap};
  const auto find = [&](const char* name) -> const PlacedArray* {
    for (std::size_t i = 0; i < in.size(); ++i)
      if (in[i].name == name) return &arrays.in[i];
    return nullptr;
  };
  const auto vector = [&](const char* name) {
    const PlacedArray* array = find(name);
    return array != nullptr ? ConstVector(array->vector()) : ConstVector();
  };
  if (const PlacedArray* bias = find("bias"))
    how.bias = {
        bias->buffer, bias->type, {of.sequences, 1, of.queries, of.bias_keys()}, {.offset = bias->first}};
  how.slopes = vector("slopes");
  how.sink_logits = vector("sink_logits");
  how.key_lengths = vector("lengths");
  how.ragged = {vector("query_offsets"), vector("key_offsets")};
  if (const PlacedArray* table = find("table"))
    how.cache.table = table->matrix(of.sequences, of.pages_of_sequence());
  return how;
}

std::string attention_text(const DescribedAttention& of, const Words& words) {
  const AttentionProblem& p = of.p;
  std::string text = formatted("{} x {}", of.sequences, p.heads);
  if (p.kv_heads != p.heads) text += formatted("/{}", p.kv_heads);
  text += formatted(" heads of {} x {} x {}", of.queries, of.keys, p.head_size);
  if (p.value_size != p.head_size) text += formatted("/{}", p.value_size);
  text += formatted(" {}", name_of(p.in));
  for (const char* flag : {"causal", "lse", "bias", "slopes", "sink-logits", "lengths", "zipf", "ragged",
                           "tokens-first", "float-out"})
    if (words.flag(flag)) text += formatted(", {}", flag);
  for (const char* name : {"window", "sinks", "page"})
    if (words.number(name) != 0) text += formatted(", {} {}", name, words.number(name));
  return of.soft_cap == 0 ? text : text + formatted(", soft-cap {}", words.text("soft-cap"));
}

/// Of keys and values beyond the lengths of their sequences, which are not read.
double unused_bytes(const DescribedAttention& of) {
  const std::size_t room = of.p.keys;
  double keys = 0;
  for (std::size_t s = 0; s < of.sequences; ++s)
    keys += static_cast<double>(room - std::min(room, of.length_of(s)));
  return keys * static_cast<double>(of.p.kv_heads * (of.p.head_size + of.p.value_size) * size_of(of.p.in));
}

Case read_attention(const Words& words) {
  const DescribedAttention of = described_attention(words);
  const AttentionProblem& p = of.p;
  Case made = case_of(attention_text(of, words), p, plan_attention);
  made.in = inputs_of(of);
  made.out = {{"out", p.out, elements_of(DescribedAttention::with(of.q(), p.value_size))}};
  if (p.lse)
    made.out.push_back({"lse", Scalar::float32, detail::size_product(elements_of(of.q()) / p.head_size, 1)});
  // One query or few: all time goes into reading keys and values.
  if (of.queries >= 16) {
    made.operations = 2 * plan::attention_pairs(p) * static_cast<double>(p.head_size + p.value_size);
  } else {
    for (const ArrayRule& rule : made.in)
      made.bytes += static_cast<double>(rule.bytes());
    made.bytes += static_cast<double>(made.out[0].bytes());
    if (p.key_lengths && !p.ragged) made.bytes -= unused_bytes(of);
  }
  if (plan::attention_pairs(p) > 1e8) made.slow = {"naive"};
  // Values are at most 2. Weights and results are rounded to the types of values and results.
  const auto unit = [](Scalar type) {
    return type == Scalar::half ? 0x1p-11 : type == Scalar::bfloat16 ? 0x1p-8 : 0x1p-20;
  };
  made.absolute = 2 * (unit(p.in) + unit(p.out));
  made.relative = unit(p.out);
  made.call = [=, in = made.in](const Context& context, const CallArrays& arrays,
                                const CallOptions& options) {
    const HeadsShape values = DescribedAttention::with(of.k(), p.value_size);
    const HeadsShape results = DescribedAttention::with(of.q(), p.value_size);
    const ConstHeads at = view_of(of, arrays.out[0], results);
    const Heads out(at.buffer, at.type, results,
                    {at.offset, at.token_stride, at.head_stride, at.batch_stride});
    const ConstHeads q = view_of(of, arrays.in[0], of.q()), k = view_of(of, arrays.in[1], of.k()),
                     v = view_of(of, arrays.in[2], values);
    const Attention how = options_of(of, in, arrays);
    if (p.lse) return attention(context, q, k, v, out, arrays.out[1].vector(), how, options);
    return attention(context, q, k, v, out, how, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    const std::size_t most = p.ragged ? 2 * of.queries : of.queries;  // of a sequence
    for_each_in_parallel(of.sequences * p.heads * most, [&](std::size_t n) {
      compute_query(of, made, arrays, {n / most / p.heads, n / most % p.heads, n % most});
    });
  };
  return made;
}

std::vector<WordRule> attention_words() {
  const auto option = [](const char* name, const char* help) {
    return or_zero(number_rule(name, help, "0"));
  };
  return {
      sizes_rule("shape", "Sequences, heads, queries of each sequence, head size: BATCHxHEADSxQUERIESxSIZE",
                 "BATCHxHEADSxQUERIESxSIZE", {4, 4}),
      type_rule(WordKind::choice, "Type of queries, keys, values and results", "float",
                {"float", "half", "bfloat16", "float32"}),
      option("keys", "Number of keys of each sequence; 0: as many as queries"),
      option("kv-heads", "Number of heads of keys and values; 0: as many as of queries"),
      option("value-size", "Elements of a value; 0: the head size"),
      flag_rule("causal", "Mask keys after a query's own key"),
      option("window", "Keys before its own that a query attends to; 0: all"),
      option("sinks", "First keys, which every query attends to"),
      {.name = "soft-cap", .kind = WordKind::real, .help = "Soft cap of logits; 0: none", .usual = "0"},
      flag_rule("bias", "Add a matrix for each sequence to the logits"),
      flag_rule("slopes", "ALiBi: subtract slope times distance from logits, with a slope for each head"),
      flag_rule("sink-logits", "Add to each head a sink logit: an extra key whose value is 0"),
      flag_rule("lse", "Also write the log-sum-exp of the logits"),
      flag_rule("lengths", "Sequences have different numbers of keys"),
      flag_rule("zipf", "Lengths by Zipf's law: a few sequences are long"),
      flag_rule("ragged", "Ragged batch: sequences of different lengths, packed"),
      option("page", "Keys of a page of the cache; 0: no pages"),
      flag_rule("tokens-first", "Arrays are [batch, tokens, heads, size]"),
      flag_rule("float-out", "Write float results")};
}

std::vector<Programs> attention_programs() {
  return {
      {"4x16x4096x128"},
      {"4x16x4096x128 half --causal --lse"},
      {"4x16x4096x64 bfloat16", {"tiled", "mma", "wgmma", ""}},
      {"4x16x4096x256 half --kv-heads 4", {"mma", "wgmma"}},
      {"4x16x4096x80 half --causal --window 100 --sinks 4 --slopes --sink-logits", {"mma", "wgmma"}},
      {"4x16x512x96 half --bias --soft-cap 30 --lengths --lse", {"mma", "wgmma"}},
      {"4x16x512x128 half --ragged --causal --float-out", {"mma", "wgmma"}},
      {"4x16x2048x128 half --soft-cap 30 --causal", {"mma", "wgmma"}},
      {"4x16x2048x64 bfloat16 --slopes --causal --lse", {"mma", "wgmma"}},
      {"4x16x2048x128 half --bias", {"mma", "wgmma"}},
      {"4x16x2048x192 half --kv-heads 4 --page 16 --causal", {"wgmma"}},
      {"4x16x512x64 bfloat16", {"wgmma"}},
      {"4x16x512x128 half --causal --lse", {"wgmma"}},
      {"4x16x2048x160 bfloat16 --causal", {"wgmma"}},
      {"4x16x2048x192 half --value-size 128", {"wgmma"}},
      {"4x16x200x112 half --causal", {"wgmma"}},
      {"4x32x8192x128 half --kv-heads 8 --causal --window 1000", {"wgmma"}},
      {"1x32x128x128 half --keys 8192 --kv-heads 8 --causal", {"wgmma"}},
      {"1x8x64x80 bfloat16 --keys 8192 --lse", {"wgmma"}},
      {"4x16x512x64 --page 64", {"tiled", ""}},
      {"4x16x4096x64 half --causal --lse", {"matrix_units"}},
      {"4x16x4096x128 bfloat16", {"matrix_units"}},
      {"4x16x512x256 half --kv-heads 4 --page 64 --causal", {"matrix_units"}},
      {"4x16x512x80 half --value-size 33 --window 100 --sinks 4 --slopes --sink-logits --soft-cap 30 --bias",
       {"matrix_units"}},
      {"4x16x512x128 half --ragged --causal --float-out", {"matrix_units"}},
      {"4x16x512x65 bfloat16 --bias --lse", {"matrix_units"}},
      {"1x32x1x128 half --keys 131072 --kv-heads 8", {"split_keys", "split_mma"}},
      {"16x32x1x128 half --keys 8192", {""}},
      {"16x16x4x64 bfloat16 --keys 8192 --kv-heads 8 --page 16 --causal --lse", {"split_keys", "split_mma"}},
      {"4x64x1x256 half --keys 4096 --kv-heads 8 --window 1000 --sinks 4 --sink-logits",
       {"split_keys", "split_mma"}},
      {"4x16x3x80 half --keys 4096 --kv-heads 4 --ragged --slopes --soft-cap 30", {"split_mma"}},
      {"64x32x1x128 half --keys 8192 --kv-heads 8 --zipf --bias", {"split_mma"}},
      {"4x16x3x80 --keys 4096 --kv-heads 4 --ragged --slopes --soft-cap 30", {"split_keys"}}};
}

}  // namespace

Operation attention_operation() {
  return {
      .name = "attention",
      .summary = "Attention: softmax(Q K^T) V",
      .steps = {{"naive",
                 "all logits in global memory, their softmax, and its product with values: three launches"},
                {"tiled", "tiles of keys and values in local memory, an online softmax, sums in registers"},
                {"split_keys",
                 "few queries: keys in equal parts for all groups, the last of which combines their sums"},
                {"split_mma", "the same by NVIDIA's matrix units; the copies of the next tile begin early"},
                {"mma", "NVIDIA's matrix units, weights in registers, the next tile on its way"},
                {"wgmma", "Hopper's, four warps at a time; other warps copy; softmax beside products"},
                {"matrix_units", "AMD's and Intel's, by fragments of sub-groups; weights in local memory"},
                {"cpu", "one thread has tiles in its cache, products in vector registers"}},
      .words = attention_words(),
      .read = read_attention,
      .samples =
          {.edges =
               {"1x1x1x1", "2x3x37x40 --causal --lse",
                "1x4x70x64 half --keys 131 --kv-heads 2 --tokens-first",
                "2x6x5x80 bfloat16 --keys 200 --kv-heads 1 --value-size 33 --causal --window 20 --sinks 3",
                "2x2x33x16 --keys 65 --soft-cap 2 --bias --slopes --sink-logits --lse",
                "3x2x50x24 half --keys 40 --ragged --causal --lse --float-out",
                "3x4x7x32 --keys 100 --kv-heads 2 --page 16 --causal --tokens-first",
                "2x2x5x24 --keys 65 --page 6 --bias", "5x6x1x64 half --keys 300 --kv-heads 2 --zipf --lse",
                "1x1x130x256 --lengths --causal"},
           .small = {"1x4x256x64", "1x4x256x64 half --causal", "2x8x1x128 --keys 1024 --kv-heads 2"},
           .usual = {"1x4x1024x64", "1x4x1024x64 --causal", "1x2x2048x128", "1x2x2048x128 half --causal",
                     "1x32x1x128 half --keys 8192 --kv-heads 8"},
           // Peers: cuDNN; of float our own gemm; of single queries copies of memory.
           .large = {goal("4x16x4096x64 half", part(0.85, 475)),
                     goal("4x16x4096x64 half --causal", part(0.85, 403)),
                     goal("4x16x4096x128 half", part(0.9, 651)),
                     goal("4x16x4096x128 half --causal", part(0.9, 535)),
                     goal("2x16x4096x256 half", part(0.85, 683)),
                     goal("2x16x4096x256 half --causal", part(0.85, 583)),
                     goal("1x32x16384x128 half --kv-heads 8", part(0.9, 588)),
                     goal("1x32x16384x128 half --kv-heads 8 --causal", part(0.9, 546)),
                     goal("32x16x512x128 half", part(0.85, 497)),
                     goal("32x16x512x128 half --causal", part(0.85, 320)),
                     goal("4x16x4095x128 half", part(0.85, 601)),
                     goal("4x16x4095x128 half --causal", part(0.85, 562)),
                     goal("4x16x4096x128 bfloat16", part(0.9, 651)),
                     goal("4x16x2048x128", part(0.55, 49.7)),
                     goal("4x16x2048x128 --causal", part(0.55, 49.7)),
                     goal("16x32x1x128 half --keys 8192", 0.95),
                     goal("16x32x1x128 half --keys 8192 --kv-heads 8", 0.95),
                     goal("1x32x1x128 half --keys 131072 --kv-heads 8", 0.95),
                     goal("64x32x1x128 half --keys 1000 --kv-heads 8", 0.95),
                     goal("64x32x1x128 half --keys 8192 --kv-heads 8 --zipf", 0.85),
                     "64x32x1x128 half --keys 8192 --kv-heads 8 --zipf --page 16"}},
      .counted = "floating-point operations of the call; with fewer than 16 queries bytes read and written",
      .programs = attention_programs(),
  };
}

}  // namespace smem::operations
