// rotary, described.
#include "operations/matrices.hpp"
#include "operations/operation.hpp"

#include "formatted.hpp"

#include <smem/rotary.hpp>

#include <cmath>
#include <numbers>

namespace smem::operations {

namespace {

/// Positions, from 0 to 2^20.
double position_of(std::uint64_t random) { return static_cast<double>(random >> 44); }

void rotate_head(const RotaryProblem& p, double base, double position, std::size_t first,
                 const HostArrays& arrays) {
  const HostArray& in = arrays.in[0];
  HostArray& out = arrays.out[0];
  for (std::size_t i = p.rotated; i < p.head_size; ++i)
    out.set(first + i, in.number(first + i));
  for (std::size_t k = 0; k < p.rotated / 2; ++k) {
    const double angle =
        position * std::pow(base, -2.0 * static_cast<double>(k) / static_cast<double>(p.rotated));
    const bool halves = p.pairs == RotaryPairs::halves;
    const std::size_t one = first + (halves ? k : 2 * k), two = halves ? one + p.rotated / 2 : one + 1;
    const double x = in.number(one), y = in.number(two), c = std::cos(angle), s = std::sin(angle);
    out.set(one, x * c - y * s);
    out.set(two, y * c + x * s);
  }
}

Case read_rotary(const Words& words) {
  const std::vector<std::size_t> shape = words.sizes("shape");
  RotaryProblem p{.type = words.scalar("type"),
                  .pairs = words.enumerator<RotaryPairs>("pairs"),
                  .rows = shape[0],
                  .heads = shape[1],
                  .head_size = shape[2],
                  .rotated = words.number("rotated"),
                  .batch = words.number("batch")};
  if (p.rotated == 0) p.rotated = p.head_size;
  const bool given = words.flag("positions");
  const double base = words.real("base");
  const std::size_t rows = detail::size_product(p.rows, p.batch);
  const std::size_t cols = detail::size_product(p.heads, p.head_size);
  p.own_positions = given && p.batch > 1;
  p.row_alignment = packed_alignment(rows, detail::size_product(cols, size_of(p.type)), 16);
  Case made = case_of(
      formatted("{}{} x {} x {} {}", batch_text(p.batch), p.rows, p.heads, p.head_size, name_of(p.type)), p,
      plan_rotary);
  const std::size_t elements = detail::size_product(rows, cols);
  made.in = {{"in", p.type, elements, {.number = rounded_number}}};
  if (given) made.in.push_back({"positions", Scalar::int32, rows, {.number = position_of}});
  made.out = {{"out", p.type, elements}};
  for (const std::vector<ArrayRule>* rules : {&made.in, &made.out})
    for (const ArrayRule& rule : *rules)
      made.bytes += static_cast<double>(rule.bytes());
  // An angle errs by 4e-7, a cosine by as much; two products of numbers up to 8 may nearly be each other's
  // negative. Both results are rounded, so that they may be neighbours.
  made.relative = p.type == Scalar::half ? 0x1p-10 : p.type == Scalar::bfloat16 ? 0x1p-7 : 0;
  made.absolute = 16e-6;
  made.call = [=](const Context& context, const CallArrays& arrays, const CallOptions& options) {
    Rotary what{.head_size = p.head_size, .rotated = p.rotated, .pairs = p.pairs, .base = base};
    if (given) what.positions = arrays.in[1].vector();
    return rotary(context, arrays.in[0].matrix(p.rows, cols, p.batch),
                  arrays.out[0].matrix(p.rows, cols, p.batch), what, options);
  };
  made.reference = [=](const HostArrays& arrays) {
    for_each_in_parallel(rows, [&](std::size_t r) {
      const double position = given ? arrays.in[1].number(r) : static_cast<double>(r % p.rows);
      for (std::size_t h = 0; h < p.heads; ++h)
        rotate_head(p, base, position, r * cols + h * p.head_size, arrays);
    });
  };
  return made;
}

}  // namespace

Operation rotary_operation() {
  return {
      .name = "rotary",
      .summary = "Rotary position embeddings",
      .steps = {{"naive", "one work-item a pair, which computes its own cosine and sine"},
                {"shared", "several pairs a work-item, in vectors; several heads share cosines"},
                {"cpu", "one thread a token; its cosines stay in the cache"}},
      .words = {sizes_rule("shape", "Tokens, heads and elements of a head: TOKENSxHEADSxSIZE",
                           "TOKENSxHEADSxSIZE", {3, 3}),
                scalar_rule(),
                choice_rule("pairs", "Which elements are rotated together",
                            names_to(RotaryPairs::neighbours)),
                or_zero(number_rule("rotated", "Elements of each head that are rotated; 0: all", "0")),
                flag_rule("positions", "Read positions from a vector: random numbers from 0 to 2^20"),
                {.name = "base", .kind = WordKind::real, .help = "Base of the angles", .usual = "10000"},
                batch_rule()},
      .read = read_rotary,
      .samples = {.edges = {"1x1x2", "37x3x10 --batch 3 --rotated 6 --positions", "5x7x64 half --positions",
                            "19x2x80 bfloat16 --pairs neighbours --rotated 32",
                            "300x1x128 --pairs neighbours", "33x5x24 half --pairs neighbours --batch 2",
                            "1x40x128 --positions --batch 9"},
                  .small = {"1024x32x128 half", "4096x1x64 --batch 8", "1024x32x128 half --pairs neighbours"},
                  .usual = {"4096x32x128", "4096x32x128 half", "4096x8x128 bfloat16 --pairs neighbours",
                            "4096x1x128 half --batch 32", "1x32x128 half --batch 64 --positions"},
                  .large = {goal("65536x32x128", 0.9), goal("65536x32x128 half", 0.9),
                            "65536x32x128 bfloat16 --pairs neighbours", "65536x1x128 half --batch 32",
                            "65536x32x128 half --rotated 64", "1x32x128 half --batch 64 --positions"}},
      .programs = {{"4096x32x128"},
                   {"4096x32x128 half"},
                   {"4096x32x128 half --pairs neighbours"},
                   {"4096x32x128 bfloat16 --pairs neighbours --rotated 64"},
                   {"4096x32x80 --pairs neighbours --rotated 20", {"naive", "shared"}}},
  };
}

}  // namespace smem::operations
