// append_to_cache, described_append.
#include "operations/heads.hpp"
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"
#include "plan/sizes.hpp"

#include <smem/append_to_cache.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace smem::operations {

namespace {

/// Numbers from -8 to 8 that all types hold.
double cached_number(std::uint64_t random) { return static_cast<double>(random >> 56) * 0x1p-4 - 8; }

/// A call in words.
struct DescribedAppend {
  AppendToCacheProblem p;
  std::size_t tokens = 0, capacity = 0;  ///< of a sequence
  std::size_t page = 0;                  ///< keys of a page; 0: none
  bool tokens_first = false;

  std::size_t pages_of_sequence() const { return (capacity + page - 1) / page; }
  /// Keys that the cache of a sequence holds: whole pages, or its capacity.
  std::size_t room_of_sequence() const { return page != 0 ? pages_of_sequence() * page : capacity; }
  /// Keys that sequence s has in its cache, so that new ones fit.
  std::size_t length_of(std::size_t s) const {
    const std::size_t most = p.ragged ? tokens + tokens / 3 : tokens;
    const std::size_t room = capacity - std::min(capacity, most);
    return room - s * 37 % (room / 2 + 1);
  }
  /// Where the new tokens of ragged sequence s begin: those of odd number begin earlier.
  std::size_t begin_of(std::size_t s) const {
    return s * tokens - (s % 2 == 1 && s < p.batch ? tokens / 3 : 0);
  }

  HeadsShape made(std::size_t size) const { return {p.ragged ? 1 : p.batch, p.heads, p.tokens, size}; }
  HeadsShape cache(std::size_t size) const {
    if (page != 0) return {p.batch * pages_of_sequence(), p.heads, page, size};
    return {p.batch, p.heads, capacity, size};
  }
  HeadsLayout layout(const HeadsShape& shape, std::size_t first) const {
    HeadsLayout layout = tokens_first ? tokens_before_heads(shape) : HeadsLayout{};
    layout.offset = first;
    return layout;
  }
  /// The page that has page i of sequence s.
  std::size_t page_of(std::size_t s, std::size_t i) const {
    return (p.batch - s) * pages_of_sequence() - 1 - i;
  }
};

/// The place of the first element of a vector in its packed array.
std::size_t place_in(const DescribedAppend& of, const HeadsShape& shape, std::size_t b, std::size_t h,
                     std::size_t t) {
  const ConstHeads view(nullptr, Scalar::float32, shape, of.layout(shape, 0));
  return b * view.batch_stride + h * view.head_stride + t * view.token_stride;
}

/// A key, of the elements from `from` on, to those from `to` on.
void rotate_key(const DescribedAppend& of, double position, const HostArray& k, std::size_t from,
                HostArray& cache, std::size_t to) {
  const AppendToCacheProblem& p = of.p;
  for (std::size_t d = p.rotated; d < p.head_size; ++d)
    cache.set(to + d, k.number(from + d));
  for (std::size_t i = 0; i < p.rotated / 2; ++i) {
    const double angle =
        position * std::pow(10000, -2.0 * static_cast<double>(i) / static_cast<double>(p.rotated));
    const bool halves = p.pairs == RotaryPairs::halves;
    const std::size_t one = halves ? i : 2 * i, two = halves ? one + p.rotated / 2 : one + 1;
    const double x = k.number(from + one), y = k.number(from + two), c = std::cos(angle), s = std::sin(angle);
    cache.set(to + one, x * c - y * s);
    cache.set(to + two, y * c + x * s);
  }
}

void append_sequence(const DescribedAppend& of, std::size_t s, const HostArrays& arrays) {
  const AppendToCacheProblem& p = of.p;
  const std::size_t begin = p.ragged ? of.begin_of(s) : 0;
  const std::size_t count = p.ragged ? of.begin_of(s + 1) - begin : of.tokens;
  const HeadsShape keys = of.cache(p.head_size), values = of.cache(p.value_size);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = of.length_of(s) + i;
    if (at >= of.room_of_sequence()) return;  // a ragged batch may have more tokens than fit
    const std::size_t matrix = of.page == 0 ? s : of.page_of(s, at / of.page);
    const std::size_t place = of.page == 0 ? at : at % of.page;
    for (std::size_t h = 0; h < p.heads; ++h) {
      const std::size_t b = p.ragged ? 0 : s;
      rotate_key(of, static_cast<double>(at), arrays.in[0],
                 place_in(of, of.made(p.head_size), b, h, begin + i), arrays.in_out[0],
                 place_in(of, keys, matrix, h, place));
      const std::size_t from = place_in(of, of.made(p.value_size), b, h, begin + i);
      const std::size_t to = place_in(of, values, matrix, h, place);
      for (std::size_t d = 0; d < p.value_size; ++d)
        arrays.in_out[1].set(to + d, arrays.in[1].number(from + d));
    }
  }
}

DescribedAppend described_append(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  DescribedAppend of;
  AppendToCacheProblem& p = of.p;
  p.type = words.scalar("type");
  p.batch = shape[0];
  p.heads = shape[1];
  of.tokens = shape[2];
  p.head_size = shape[3];
  p.value_size = words.number("value-size") != 0 ? words.number("value-size") : p.head_size;
  of.capacity = std::max(words.number("capacity"), of.tokens);
  of.page = words.number("page");
  const std::size_t places = detail::size_product(p.batch, p.heads, std::max(of.capacity, of.page),
                                                  std::max(p.head_size, p.value_size));
  if (places > plan::kMostElements / 4) {
    refuse("append_to_cache", of.capacity < of.page ? "page" : "capacity",
           "at most 2^50 elements of the cache", formatted("{}", std::max(of.capacity, of.page)));
  }
  of.tokens_first = words.flag("tokens-first");
  if (words.flag("rotary")) p.rotated = words.number("rotated") != 0 ? words.number("rotated") : p.head_size;
  p.pairs = words.enumerator<RotaryPairs>("pairs");
  p.ragged = words.flag("ragged");
  p.paged = of.page != 0;
  p.tokens = detail::size_product(of.tokens, p.ragged ? p.batch : 1);
  const auto alignment = [&](std::size_t size) {
    return packed_alignment(2, detail::size_product(size, size_of(p.type)), 16);
  };
  p.alignment = std::min(alignment(p.head_size), alignment(p.value_size));
  return of;
}

std::vector<ArrayRule> inputs_of(const DescribedAppend& of) {
  const AppendToCacheProblem& p = of.p;
  const Fill numbers{.number = cached_number};
  const auto list = [](const char* name, std::size_t elements,
                       const std::function<std::size_t(std::size_t)>& at) -> ArrayRule {
    return {
        name, Scalar::uint32, elements, {.at = [=](std::size_t i) { return static_cast<double>(at(i)); }}};
  };
  std::vector<ArrayRule> in{{"k", p.type, elements_of(of.made(p.head_size)), numbers},
                            {"v", p.type, elements_of(of.made(p.value_size)), numbers},
                            list("lengths", p.batch, [=](std::size_t s) { return of.length_of(s); })};
  if (p.ragged) in.push_back(list("offsets", p.batch + 1, [=](std::size_t s) { return of.begin_of(s); }));
  if (p.paged) {
    const std::size_t pages = of.pages_of_sequence();
    in.push_back(
        list("table", p.batch * pages, [=](std::size_t i) { return of.page_of(i / pages, i % pages); }));
  }
  return in;
}

cl::Event call(const DescribedAppend& of, const Context& context, const CallArrays& arrays,
               const CallOptions& options) {
  const AppendToCacheProblem& p = of.p;
  const auto input = [&](std::size_t i, std::size_t size) -> ConstHeads {
    const PlacedArray& array = arrays.in[i];
    return {array.buffer, array.type, of.made(size), of.layout(of.made(size), array.first)};
  };
  const auto cache = [&](std::size_t i, std::size_t size) -> Heads {
    const PlacedArray& array = arrays.in_out[i];
    return {array.buffer, array.type, of.cache(size), of.layout(of.cache(size), array.first)};
  };
  CacheAppend how{.lengths = arrays.in[2].vector()};
  if (p.ragged) how.offsets = arrays.in[3].vector();
  if (p.paged) how.cache.table = arrays.in.back().matrix(p.batch, of.pages_of_sequence());
  if (p.rotated != 0) how.rotary = Rotary{.rotated = p.rotated, .pairs = p.pairs};
  return append_to_cache(context, input(0, p.head_size), input(1, p.value_size), cache(0, p.head_size),
                         cache(1, p.value_size), how, options);
}

Case read_append_to_cache(const Words& words) {
  const DescribedAppend of = described_append(words);
  const AppendToCacheProblem& p = of.p;
  std::string text = formatted("{} x {} heads of {} tokens to {}, {}/{} {}", p.batch, p.heads, of.tokens,
                               of.capacity, p.head_size, p.value_size, name_of(p.type));
  if (p.rotated != 0) text += formatted(", rotary {} of {}", p.rotated, name_of(p.pairs));
  if (p.paged) text += formatted(", page {}", of.page);
  for (const char* flag : {"ragged", "tokens-first"})
    if (words.flag(flag)) text += formatted(", {}", flag);
  Case made = case_of(text, p, plan_append_to_cache);
  made.in = inputs_of(of);
  const Fill numbers{.number = cached_number};
  made.in_out = {{"key_cache", p.type, elements_of(of.cache(p.head_size)), numbers},
                 {"value_cache", p.type, elements_of(of.cache(p.value_size)), numbers}};
  made.bytes = 2 * static_cast<double>(made.in[0].bytes() + made.in[1].bytes());
  // As of rotary; caches keep the bits of what is not rotated.
  if (p.rotated != 0) {
    made.relative = p.type == Scalar::half ? 0x1p-10 : p.type == Scalar::bfloat16 ? 0x1p-7 : 0;
    made.absolute = 16e-6;
  }
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    return call(of, context, arrays, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(of.p.batch, [&](std::size_t s) { append_sequence(of, s, arrays); });
  };
  return made;
}

}  // namespace

Operation append_to_cache_operation() {
  const auto option = [](const char* name, const char* help) {
    return or_zero(number_rule(name, help, "0"));
  };
  return {
      .name = "append_to_cache",
      .summary = "Appends new keys and values to a cache, and rotates keys on request",
      .steps = {{"naive", "one element, or one rotated pair, a work-item"},
                {"packs", "one pack of 16 bytes, or two rotated packs, a work-item"}},
      .words =
          {sizes_rule(
               "shape",
               "Sequences, heads of keys, new tokens of each sequence, head size: BATCHxHEADSxTOKENSxSIZE",
               "BATCHxHEADSxTOKENSxSIZE", {4, 4}),
           type_rule(WordKind::choice, "Type of keys and values", "float",
                     {"float", "half", "bfloat16", "float32"}),
           option("capacity", "Keys of a sequence that the cache has room for; 0: the number of new tokens"),
           option("value-size", "Elements of a value; 0: the head size"),
           flag_rule("rotary", "Rotate keys (rotary position embeddings)"),
           option("rotated", "Elements of each key that are rotated; 0: all"),
           choice_rule("pairs", "Which elements are rotated together", names_to(RotaryPairs::neighbours)),
           flag_rule("ragged", "Ragged batch: different numbers of new tokens, packed"),
           option("page", "Keys of a page of the cache; 0: no pages"),
           flag_rule("tokens-first", "Arrays are [batch, tokens, heads, size]")},
      .read = read_append_to_cache,
      .samples = {.edges = {"1x1x1x1", "3x2x5x33 --capacity 90", "2x3x7x64 half --capacity 64 --rotary",
                            "3x2x6x40 bfloat16 --capacity 50 --rotary --rotated 16 --value-size 24",
                            "3x2x6x40 --capacity 50 --rotary --pairs neighbours --tokens-first",
                            "4x2x1x80 half --capacity 70 --page 16 --rotary",
                            "5x3x9x128 --capacity 100 --page 7 --ragged --rotary --tokens-first",
                            "4x3x9x24 --ragged"},
                  .small = {"64x8x1x128 half --capacity 1024 --rotary", "1x8x1024x128 half --capacity 2048"},
                  .usual = {"64x8x1x128 half --capacity 1024 --rotary",
                            "1x8x4096x128 half --capacity 8192 --rotary",
                            "1x8x4096x128 --capacity 8192 --page 64"},
                  .large = {"64x8x1x128 half --capacity 8192 --rotary",
                            goal("16x8x8192x128 half --capacity 16384 --rotary", 0.85),
                            goal("16x8x8192x128 half --capacity 16384 --page 64", 0.85),
                            "16x8x8192x128 --capacity 16384 --ragged --rotary --tokens-first"}},
      .programs = {{"64x8x1x128 half --capacity 8192 --rotary"},
                   {"64x8x1x128 bfloat16 --capacity 8192 --rotary --pairs neighbours --page 64", {"packs"}},
                   {"4x8x99x80 --capacity 8192 --rotary --rotated 20 --ragged"}},
  };
}

}  // namespace smem::operations
