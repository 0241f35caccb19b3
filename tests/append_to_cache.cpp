// append_to_cache: every variant against plain loops, what is not written, and bad input.
#include <smem/smem.hpp>

#include "operations/data.hpp"
#include "support/case_sweep.hpp"
#include "support/environment.hpp"
#include "support/failure.hpp"
#include "support/level.hpp"
#include "support/random_cases.hpp"
#include "support/targets.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

using smem::HeadsLayout;
using smem::HeadsShape;
using smem::RotaryPairs;
using smem::Scalar;
using smem::operations::HostArray;

namespace {

struct AppendCase {
  Scalar type = Scalar::float32;
  std::size_t batch = 1, heads = 2, tokens = 3, capacity = 16, head_size = 8, value_size = 8, page = 0;
  std::optional<smem::Rotary> rotary = {};
  std::vector<std::uint32_t> lengths = {0}, offsets = {};
  bool gaps = false, tokens_first = false;
  std::string variant = {};

  std::size_t sequences() const { return lengths.size(); }
  std::size_t pages_of_sequence() const { return (capacity + page - 1) / page; }
  test::Tested tested() const { return {"append_to_cache", variant, std::string(name_of(type))}; }
  std::string text() const {
    return fmt::format(
        "{} x {} heads of {} tokens to {}, {}/{} {}, page {}, rotated {}, {} lengths, {} offsets{}{}, "
        "variant \"{}\"",
        batch, heads, tokens, capacity, head_size, value_size, name_of(type), page,
        rotary ? static_cast<int>(rotary->rotated) : -1, lengths.size(), offsets.size(), gaps ? ", gaps" : "",
        tokens_first ? ", tokens first" : "", variant);
  }
};

smem::ConstHeads view_of(const AppendCase& c, const HeadsShape& shape) {
  HeadsLayout layout = c.tokens_first ? tokens_before_heads(shape) : HeadsLayout{};
  if (c.gaps) {
    layout.offset = 3;
    layout.token_stride = (c.tokens_first ? shape.heads : 1) * (shape.size + 2) + 1;
    layout.head_stride = c.tokens_first ? shape.size + 2 : shape.tokens * layout.token_stride + 4;
    layout.batch_stride = shape.tokens * shape.heads * (shape.size + 8) + 7;
  }
  return {nullptr, c.type, shape, layout};
}

std::size_t place_of(const smem::ConstHeads& view, std::size_t b, std::size_t h, std::size_t t) {
  return view.offset + b * view.batch_stride + h * view.head_stride + t * view.token_stride;
}

/// A view with the numbers of its buffer, random ones.
struct Data {
  smem::ConstHeads view;
  HostArray array;

  Data(const AppendCase& c, const HeadsShape& shape, test::Random& random)
      : view(view_of(c, shape)), array{c.type, {}} {
    const std::size_t elements =
        place_of(view, shape.batch - 1, shape.heads - 1, shape.tokens - 1) + shape.size + 3;
    array.bytes.resize(elements * size_of(c.type));
    for (std::size_t i = 0; i < elements; ++i)
      array.set(i, static_cast<double>(random.between(0, 255)) / 16 - 8);
  }
};

/// The elements of a key, rotated.
std::vector<double> rotated(const AppendCase& c, std::vector<double> key, std::size_t at) {
  if (!c.rotary) return key;
  const std::size_t count = c.rotary->rotated == 0 ? key.size() : c.rotary->rotated;
  const double position = static_cast<double>(at) + static_cast<double>(c.rotary->first_position);
  for (std::size_t i = 0; i < count / 2; ++i) {
    const bool halves = c.rotary->pairs == RotaryPairs::halves;
    const std::size_t one = halves ? i : 2 * i, two = halves ? i + count / 2 : one + 1;
    const double angle = c.rotary->scale * position *
                         std::pow(c.rotary->base, -2.0 * static_cast<double>(i) / static_cast<double>(count));
    const double x = key[one], y = key[two];
    key[one] = x * std::cos(angle) - y * std::sin(angle);
    key[two] = y * std::cos(angle) + x * std::sin(angle);
  }
  return key;
}

/// Where sequences' new tokens are in k and v.
struct Range {
  std::size_t batch, begin, count;
};
Range range_of(const AppendCase& c, std::size_t s) {
  if (c.offsets.empty()) return {s, 0, c.tokens};
  const std::size_t begin = std::min<std::size_t>(c.offsets[s], c.tokens);
  const std::size_t end = std::min<std::size_t>(c.offsets[s + 1], c.tokens);
  return {0, begin, end > begin ? end - begin : 0};
}

/// What is wrong with a cache; empty: nothing. `values`: it is the one of values.
std::string fault_of(const AppendCase& c, const std::vector<std::uint32_t>& table, const Data& made,
                     const Data& cache, const HostArray& got, bool values) {
  std::vector<std::optional<double>> wanted(got.size());
  const std::size_t size = made.view.shape.size;
  for (std::size_t s = 0; s < c.sequences(); ++s) {
    const Range range = range_of(c, s);
    for (std::size_t i = 0; i < range.count; ++i) {
      const std::size_t at = c.lengths[s] + i;
      if (at >= (c.page == 0 ? c.capacity : c.pages_of_sequence() * c.page)) continue;
      const std::size_t matrix = c.page == 0 ? s : table[s * c.pages_of_sequence() + at / c.page];
      if (matrix >= cache.view.shape.batch) continue;
      for (std::size_t h = 0; h < c.heads; ++h) {
        std::vector<double> vector;
        for (std::size_t d = 0; d < size; ++d)
          vector.push_back(made.array.number(place_of(made.view, range.batch, h, range.begin + i) + d));
        if (!values) vector = rotated(c, vector, at);
        for (std::size_t d = 0; d < size; ++d)
          wanted[place_of(cache.view, matrix, h, c.page == 0 ? at : at % c.page) + d] = vector[d];
      }
    }
  }
  const bool exact = values || !c.rotary;
  const double rounding = c.type == Scalar::half ? 0x1p-11 : c.type == Scalar::bfloat16 ? 0x1p-8 : 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double value = wanted[i] ? *wanted[i] : cache.array.number(i);
    const double tolerance = exact || !wanted[i] ? 0 : 16e-6 + rounding * std::abs(value);
    if (!(std::abs(got.number(i) - value) <= tolerance))
      return fmt::format("element {} of the cache of {}: expected {}, got {}", i, values ? "values" : "keys",
                         value, got.number(i));
  }
  return {};
}

test::Outcome run(const smem::Context& context, const AppendCase& c, test::Random& random) {
  const bool ragged = !c.offsets.empty();
  HeadsShape made{ragged ? 1 : c.sequences(), c.heads, c.tokens, c.head_size};
  HeadsShape cache{c.sequences(), c.heads, c.capacity, c.head_size};
  std::vector<std::uint32_t> table;
  if (c.page != 0) {
    cache.batch = c.sequences() * c.pages_of_sequence() + 1;
    cache.tokens = c.page;
    for (std::size_t i = 0; i + 1 < cache.batch; ++i)
      table.push_back(static_cast<std::uint32_t>(cache.batch - 1 - i));
    table.back() = 4000000000u;  // no page
  }
  const Data k(c, made, random), keys(c, cache, random);
  made.size = cache.size = c.value_size;
  const Data v(c, made, random), values(c, cache, random);
  std::vector<smem::Array<unsigned char>> buffers;
  const auto view = [&](const Data& data) {
    smem::ConstHeads placed = data.view;
    buffers.emplace_back(context, data.array.bytes);
    placed.buffer = buffers.back().buffer()();
    return placed;
  };
  const auto output = [&](const Data& data) {
    const smem::ConstHeads at = view(data);
    return smem::Heads(at.buffer, at.type, at.shape,
                       {at.offset, at.token_stride, at.head_stride, at.batch_stride});
  };
  constexpr std::size_t kBefore = 3;  // elements before lists, which are not theirs
  const auto list = [&](const std::vector<std::uint32_t>& numbers) {
    std::vector<std::uint32_t> all(kBefore, 0xffffffff);
    all.insert(all.end(), numbers.begin(), numbers.end());
    return smem::Array<std::uint32_t>(context, all);
  };
  std::vector<std::uint32_t> rows;  // of the table, with a gap between them
  for (std::size_t i = 0; i < table.size(); ++i) {
    rows.push_back(table[i]);
    if ((i + 1) % c.pages_of_sequence() == 0) rows.push_back(0xffffffff);
  }
  const smem::Array<std::uint32_t> lengths = list(c.lengths), offsets = list(c.offsets),
                                   of_table = list(rows);
  smem::CacheAppend how{.lengths = lengths.vector(kBefore, c.lengths.size()), .rotary = c.rotary};
  if (ragged) how.offsets = offsets.vector(kBefore, c.offsets.size());
  if (c.page != 0) {
    how.cache.table = of_table.matrix(c.sequences(), c.pages_of_sequence(),
                                      {.offset = kBefore, .pitch = c.pages_of_sequence() + 1});
  }
  try {
    const smem::ConstHeads from_k = view(k), from_v = view(v);
    const smem::Heads to_keys = output(keys), to_values = output(values);
    smem::append_to_cache(context, from_k, from_v, to_keys, to_values, how, {.variant = c.variant});
  } catch (const smem::Error& error) {
    return {false, fmt::format("the call failed: {}", error.what())};
  }
  const std::string fault = fault_of(c, table, k, keys, {c.type, buffers[2].to_host()}, false);
  if (!fault.empty()) return {false, fault};
  return {false, fault_of(c, table, v, values, {c.type, buffers[3].to_host()}, true)};
}

using AppendSweep = test::CaseSweep<AppendCase>;

void run_all(AppendSweep& sweep, AppendCase c) {
  const std::vector<std::string_view> variants =
      test::tested_variants(sweep.context().device(), "append_to_cache", smem::append_to_cache_variants());
  for (const std::string_view variant : variants) {
    c.variant = variant;
    sweep.run(c);
  }
  CHECK(sweep.ran() == variants.size());
}

}  // namespace

TEST_CASE("small: append_to_cache" * doctest::test_suite("small")) {
  const smem::Context context;
  AppendSweep sweep(context);
  AppendCase c;
  c.rotary = smem::Rotary{};
  c.lengths = {14, 0};
  c.page = 5;
  c.capacity = 15;
  run_all(sweep, c);
}

TEST_CASE("append_to_cache: types, rotations, strides and gaps") {
  const smem::Context context;
  AppendSweep sweep(context);
  std::size_t turn = 0;
  for (const Scalar type : {Scalar::float32, Scalar::half, Scalar::bfloat16}) {
    for (const int rotation : {0, 1, 2}) {
      AppendCase c;
      c.type = type;
      c.heads = 3;
      c.head_size = 24;
      c.value_size = turn % 2 == 0 ? 24 : 33;
      if (rotation == 1) c.rotary = smem::Rotary{};
      if (rotation == 2)
        c.rotary =
            smem::Rotary{.rotated = 16, .pairs = RotaryPairs::neighbours, .base = 500, .first_position = 7};
      c.lengths = {0, 5, 13};
      c.gaps = turn / 2 % 2 == 1;
      c.tokens_first = turn / 4 % 2 == 1;
      run_all(sweep, c);
      ++turn;
    }
  }
}

TEST_CASE("append_to_cache: pages, ragged batches, and what there is no room for") {
  const smem::Context context;
  AppendSweep sweep(context);
  AppendCase c;
  c.rotary = smem::Rotary{};
  c.lengths = {14, 0, 16, 4000000000u, 15};  // of 16, and 3 new ones
  run_all(sweep, c);
  c.page = 5;
  c.capacity = 15;
  c.lengths = {3, 12, 4, 13};
  run_all(sweep, c);
  c.tokens = 20;
  c.lengths = {3, 12, 4, 2};
  c.offsets = {2, 7, 7, 8, 15};  // before and behind which there are tokens of no sequence
  c.tokens_first = true;
  run_all(sweep, c);
  c.page = 0;
  c.offsets = {0, 7, 12, 19, 300};
  run_all(sweep, c);
}

TEST_CASE("clamped: appends to a cache on smaller devices") {
  for (const char* limits : {"local=512,work_group=64", "work_group=4", "work_group=1,compute_units=1"}) {
    CAPTURE(limits);
    const test::Variable clamp("SMEM_CLAMP", limits);
    const smem::Context context;
    AppendSweep sweep(context);
    AppendCase c;
    c.rotary = smem::Rotary{};
    c.lengths = {3, 12, 4, 13};
    c.page = 5;
    c.capacity = 15;
    run_all(sweep, c);
  }
}

TEST_CASE("random: appends to a cache") {
  const smem::Context context;
  test::run_random("append_to_cache", 312, [&](test::Random& random) -> test::RandomCase {
    AppendCase drawn;
    drawn.variant = test::some_variant(random, smem::append_to_cache_variants());
    drawn.type = test::one_of(random, {Scalar::float32, Scalar::half, Scalar::bfloat16});
    drawn.head_size = random.chance(2) ? 8 * random.between(1, 32) : random.between(2, 256);
    drawn.value_size = random.chance(2) ? drawn.head_size : random.between(1, 256);
    if (random.chance(2)) {
      drawn.rotary = smem::Rotary{.rotated = 2 * random.between(1, drawn.head_size / 2),
                                  .pairs = random.chance(2) ? RotaryPairs::halves : RotaryPairs::neighbours};
    }
    drawn.gaps = random.chance(2);
    drawn.tokens_first = random.chance(2);
    const bool ragged = random.chance(3), pages = random.chance(2);
    return [=, &context](test::Random& more, std::string& text) {
      AppendCase c = drawn;
      c.heads = more.between(1, 6);
      c.tokens = more.between(1, more.chance(3) ? 60 : 6);
      c.capacity = more.between(1, 90);
      if (pages) c.page = more.between(1, 20);
      if (c.rotary) c.rotary->first_position = static_cast<std::int64_t>(more.between(0, 5000)) - 100;
      c.lengths.assign(more.between(1, 6), 0);
      for (std::uint32_t& length : c.lengths)
        length = static_cast<std::uint32_t>(more.chance(9) ? more.next() : more.between(0, c.capacity));
      if (ragged) {
        c.offsets.push_back(static_cast<std::uint32_t>(more.between(0, 2)));
        for (std::size_t s = 0; s < c.lengths.size(); ++s)
          c.offsets.push_back(c.offsets.back() +
                              static_cast<std::uint32_t>(more.between(0, 2 * c.tokens / c.lengths.size())));
      }
      text = c.text();
      return run(context, c, more);
    };
  });
}

TEST_CASE("append_to_cache: keys as rotary() leaves them") {
  const smem::Context context;
  constexpr std::size_t kTokens = 9, kSize = 32;
  std::vector<float> numbers(kTokens * kSize);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<float>(i * 37 % 101) / 8 - 6;
  const smem::Array<float> k(context, numbers), v(context, numbers),
      cache(context, std::vector<float>(100 * kSize)), values(context, std::vector<float>(100 * kSize)),
      wanted(context, smem::Count{numbers.size()});
  const smem::Array<std::uint32_t> length(context, std::vector<std::uint32_t>{60});
  smem::Rotary rotary{.head_size = kSize, .first_position = 1000000};
  const auto view = [](const smem::Array<float>& array, std::size_t tokens) {
    return smem::HeadsView<float>(array.buffer(), {1, 1, tokens, kSize});
  };
  smem::append_to_cache(context, view(k, kTokens), view(v, kTokens), view(cache, 100), view(values, 100),
                        {.lengths = length.vector(), .rotary = rotary, .check = true});
  rotary.first_position += 60;
  smem::rotary(context, k.matrix(kTokens, kSize), wanted.matrix(kTokens, kSize), rotary);
  const std::vector<float> got = cache.to_host();
  CHECK(std::vector<float>(got.begin() + 60 * kSize, got.begin() + 69 * kSize) == wanted.to_host());
}

TEST_CASE("append_to_cache: plans for devices that are not here") {
  smem::AppendToCacheProblem p{.type = Scalar::half,
                               .batch = 64,
                               .heads = 8,
                               .tokens = 1,
                               .head_size = 128,
                               .value_size = 128,
                               .rotated = 128};
  const auto plan = [&](const char* target) { return smem::plan_append_to_cache(test::target(target), p); };
  CHECK(plan("sm_90").variant == "packs");
  CHECK(plan("sm_90").vector_width == 8);
  CHECK(plan("sm_90").groups() == 64 * 8 * (8 + 16) / 256);
  p.rotated = 20;
  CHECK(plan("sm_90").vector_width == 2);
  p.rotated = 0;
  p.alignment = 4;
  CHECK(plan("sm_90").vector_width == 2);
}

namespace {

/// A call that is right, to be changed.
struct AppendInput {
  explicit AppendInput(const smem::Context& context)
      : numbers(context, std::vector<float>(4096, 1.0F)),
        caches(context, std::vector<float>(4096, 7.0F)),
        whole(context, std::vector<std::uint32_t>{8, 13, 1, 0, 3, 2}),
        k(numbers.buffer()(), Scalar::float32, {2, 2, 3, 8}),
        v(numbers.buffer()(), Scalar::float32, {2, 2, 3, 4}) {
    how.lengths = list(2);
  }
  smem::ConstVector list(std::size_t size, std::size_t first = 0) const {
    return {whole.buffer()(), Scalar::uint32, size, first};
  }
  void pages() {
    keys = values = {4, 2, 8, 8};
    values.size = 4;
    how.cache.table = {whole.buffer()(), Scalar::uint32, 2, 2, {.offset = 2}};
  }

  smem::Array<float> numbers, caches;
  smem::Array<std::uint32_t> whole;
  smem::ConstHeads k, v;
  HeadsShape keys{2, 2, 16, 8}, values{2, 2, 16, 4};
  HeadsLayout keys_layout = {}, values_layout{.offset = 2048};
  Scalar type = Scalar::float32;
  smem::CacheAppend how;
  std::string variant = {};

  template <class Change>
  static std::string refused(const smem::Context& context, const Change& change) {
    AppendInput i(context);
    change(i);
    const smem::Heads keys(i.caches.buffer()(), i.type, i.keys, i.keys_layout);
    const smem::Heads values(i.caches.buffer()(), Scalar::float32, i.values, i.values_layout);
    const auto error = test::failure_of(
        [&] { smem::append_to_cache(context, i.k, i.v, keys, values, i.how, {.variant = i.variant}); });
    CHECK(error.operation == "append_to_cache");
    const std::vector<float> untouched = i.caches.to_host();
    CHECK(std::count(untouched.begin(), untouched.end(), 7.0F) == 4096);
    return error.argument;
  }
};

}  // namespace

TEST_CASE("bad input of append_to_cache") {
  const smem::Context context;
  const auto refused = [&](const auto& change) { return AppendInput::refused(context, change); };
  CHECK(refused([](AppendInput& i) { i.v.shape.tokens = 2; }) == "v");
  CHECK(refused([](AppendInput& i) { i.v.type = Scalar::half; }) == "v");
  CHECK(refused([](AppendInput& i) { i.k.type = i.v.type = i.type = Scalar::float64; }) == "value_cache");
  CHECK(refused([](AppendInput& i) { i.type = Scalar::half; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.keys.heads = 1; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.keys.size = 7; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.keys.batch = 3; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.values.tokens = 15; }) == "value_cache");
  CHECK(refused([](AppendInput& i) { i.values_layout.offset = 500; }) == "value_cache");
  CHECK(refused([](AppendInput& i) { i.keys_layout.token_stride = 7; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.keys_layout.offset = 4000; }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.k.buffer = i.caches.buffer()(); }) == "key_cache");
  CHECK(refused([](AppendInput& i) { i.k.buffer = nullptr; }) == "k");
  CHECK(refused([](AppendInput& i) { i.k.shape.size = i.keys.size = 257; }) == "k");
  CHECK(refused([](AppendInput& i) { i.how.lengths = {}; }) == "lengths");
  CHECK(refused([](AppendInput& i) { i.how.lengths = i.list(3); }) == "lengths");
  CHECK(refused([](AppendInput& i) { i.how.lengths.type = Scalar::float32; }) == "lengths");
  CHECK(refused([](AppendInput& i) { i.how.offsets = i.list(3); }) == "k");
  CHECK(refused([](AppendInput& i) { i.how.offsets = i.list(0); }) == "offsets");
  CHECK(refused([](AppendInput& i) { i.how.rotary = smem::Rotary{.base = 0}; }) == "base");
  CHECK(refused([](AppendInput& i) { i.how.rotary = smem::Rotary{.rotated = 10}; }) == "rotated");
  CHECK(refused([](AppendInput& i) { i.how.rotary = smem::Rotary{.head_size = 4}; }) == "head_size");
  CHECK(refused([](AppendInput& i) { i.how.rotary = smem::Rotary{.positions = i.list(2)}; }) == "positions");
  CHECK(refused([](AppendInput& i) { i.variant = "nosuch"; }) == "variant");
  CHECK(refused([](AppendInput& i) {
          i.pages();
          i.how.cache.table.rows = 1;
        }) == "cache.table");
  // Numbers on the device, on request.
  const auto refused_on_request = [&](const auto& change) {
    return refused([&](AppendInput& i) {
      i.how.check = true;
      i.variant = "nosuch";  // for which the call is refused where no number is
      change(i);
    });
  };
  CHECK(refused_on_request([](AppendInput&) {}) == "variant");
  CHECK(refused_on_request([](AppendInput& i) { i.keys.tokens = i.values.tokens = 15; }) == "lengths");
  CHECK(refused_on_request([](AppendInput& i) { i.keys.tokens = i.values.tokens = 2; }) == "k");
  CHECK(refused_on_request([](AppendInput& i) {
          i.k.shape.batch = i.v.shape.batch = 1;
          i.how.offsets = i.list(3, 3);
        }) == "offsets");
  CHECK(refused_on_request([](AppendInput& i) { i.pages(); }) == "variant");
  CHECK(refused_on_request([](AppendInput& i) {
          i.pages();
          i.keys.batch = i.values.batch = 2;
        }) == "cache.table");
  CHECK(refused_on_request([](AppendInput& i) {
          i.pages();
          i.keys.batch = i.values.batch = 3;
        }) == "variant");  // of the pages that are written, there is each
}

TEST_CASE("append_to_cache: nothing to do") {
  const smem::Context context;
  const smem::Array<float> in(context, std::vector<float>(64, 1)), out(context, std::vector<float>(128, 7));
  const smem::Array<std::uint32_t> lengths(context, std::vector<std::uint32_t>{0});
  const auto call = [&](std::size_t tokens, std::size_t capacity) {
    const smem::HeadsView<float> from(in.buffer(), {1, 1, tokens, 4}),
        keys(out.buffer(), {1, 1, capacity, 4}), values(out.buffer(), {1, 1, capacity, 4}, {.offset = 64});
    smem::append_to_cache(context, from, from, keys, values, {.lengths = lengths.vector()});
    const std::vector<float> got = out.to_host();
    return std::count(got.begin(), got.end(), 7.0F) == 128;
  };
  CHECK(call(0, 8));
  CHECK(call(2, 0));
  CHECK_FALSE(call(2, 8));
}

// What is accepted as a view; a cache of const elements is refused.
template <class In, class Out>
concept CanAppend = requires(const smem::Context& c, In in, Out out) {
  smem::append_to_cache(c, in, in, out, out, {});
  smem::append_to_cache(c, in, in, out, out, {}, {});
};
static_assert(CanAppend<smem::HeadsView<const smem::half>, smem::HeadsView<smem::half>>);
static_assert(CanAppend<smem::ConstHeads, smem::Heads>);
static_assert(!CanAppend<smem::HeadsView<float>, smem::HeadsView<const float>>);
