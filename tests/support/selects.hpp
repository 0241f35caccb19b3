/// Runs one selection, and compares every byte of its output buffers with what a plain loop gives.
#pragma once

#include "support/case_sweep.hpp"
#include "support/reduce_sweep.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace test {

constexpr smem::SelectOp kSelectOps[] = {smem::SelectOp::copy_if,
                                         smem::SelectOp::copy_flagged,
                                         smem::SelectOp::partition,
                                         smem::SelectOp::partition_flagged,
                                         smem::SelectOp::unique,
                                         smem::SelectOp::run_length_encode,
                                         smem::SelectOp::partition_reversed,
                                         smem::SelectOp::partition_flagged_reversed};

inline bool is_flagged(smem::SelectOp op) {
  return op == smem::SelectOp::copy_flagged || op == smem::SelectOp::partition_flagged ||
         op == smem::SelectOp::partition_flagged_reversed;
}
inline bool is_reversed(smem::SelectOp op) {
  return op == smem::SelectOp::partition_reversed || op == smem::SelectOp::partition_flagged_reversed;
}
inline bool is_partition(smem::SelectOp op) {
  return op == smem::SelectOp::partition || op == smem::SelectOp::partition_flagged || is_reversed(op);
}
inline bool is_by_predicate(smem::SelectOp op) {
  return op == smem::SelectOp::copy_if || op == smem::SelectOp::partition ||
         op == smem::SelectOp::partition_reversed;
}

/// Of copy_if() and partitions, for numbers of all types.
constexpr const char* kPredicate = "x > 2";

struct SelectCase {
  smem::SelectOp op = smem::SelectOp::copy_if;
  smem::Scalar in = smem::Scalar::int32;
  smem::Scalar flags = smem::Scalar::uint8;
  smem::Scalar lengths = smem::Scalar::uint32;
  smem::Scalar count = smem::Scalar::uint32;
  std::string variant = {};
  std::size_t size = 0;
  std::size_t per_mille = 500;  ///< of the elements that are selected; 0: none, where that can be
  std::size_t in_offset = 0;
  std::size_t out_offset = 0;
  std::size_t room = 0;  ///< elements of the output beyond those of the input

  Tested tested() const { return {std::string(smem::name_of(op)), variant, std::string(smem::name_of(in))}; }
  std::string text() const {
    return fmt::format(
        "{} of {} {}, {} per mille, flags {}, lengths {}, count {}, offsets {} and {}, room for {} more, "
        "variant \"{}\"; SMEM_SEED={}",
        smem::name_of(op), size, smem::name_of(in), per_mille, smem::name_of(flags), smem::name_of(lengths),
        smem::name_of(count), in_offset, out_offset, room, variant, seed());
  }
};

inline smem::SelectProblem problem_of(const SelectCase& c) {
  smem::SelectProblem problem;
  problem.op = c.op;
  problem.in = c.in;
  problem.flags = c.flags;
  problem.size = c.size;
  if (is_by_predicate(c.op)) problem.predicate = kPredicate;
  return problem;
}

/// What a selection gives, as bytes of its views.
struct Selected {
  std::vector<unsigned char> out;
  std::vector<std::uint64_t> lengths;
  std::uint64_t count = 0;
};

/// The plain loop. `chosen`: flags.
template <class T>
Selected select_plainly(const SelectCase& c, const T* in, const std::vector<bool>& chosen) {
  Selected result;
  std::vector<T> rejected;
  const auto append = [](std::vector<unsigned char>& to, const T& element) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&element);
    to.insert(to.end(), bytes, bytes + sizeof element);
  };
  for (std::size_t i = 0; i < c.size; ++i) {
    bool takes = false;
    if (is_by_predicate(c.op)) {
      takes = in[i] > T(2);
    } else if (is_flagged(c.op)) {
      takes = chosen[i];
    } else {
      takes = i == 0 || in[i] != in[i - 1];
    }
    if (takes) {
      append(result.out, in[i]);
    } else {
      rejected.push_back(in[i]);
    }
    result.count += takes ? 1 : 0;
    if (takes) result.lengths.push_back(0);
    if (!result.lengths.empty()) ++result.lengths.back();
  }
  if (is_partition(c.op)) {
    if (is_reversed(c.op)) std::reverse(rejected.begin(), rejected.end());
    for (const T& x : rejected)
      append(result.out, x);
  }
  return result;
}

/// Elements of which about this many per mille are selected.
template <class T>
std::vector<T> elements_for(const SelectCase& c, std::size_t size, Random& random) {
  std::vector<T> elements(size);
  const auto number = [](int value) {
    if constexpr (smem::is_float(smem::scalar_of<T>)) {
      return T(static_cast<float>(value));
    } else {
      return static_cast<T>(value);
    }
  };
  for (std::size_t i = 0; i < size; ++i) {
    const bool takes = random.between(1, 1000) <= c.per_mille;
    const auto small = static_cast<int>(random.between(0, 99));
    T& x = elements[i];
    if (is_flagged(c.op)) {  // any bits, and they arrive as they were
      const std::uint64_t bits = random.next();
      std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
    } else if (is_by_predicate(c.op)) {
      x = takes ? number(3 + small) : smem::is_signed(c.in) ? number(2 - small) : number(small % 3);
      if (smem::is_float(c.in) && !takes && small == 7) x = T(std::numeric_limits<float>::quiet_NaN());
    } else {
      const T before = i > 0 ? elements[i - 1] : number(0);
      x = before;
      if (takes) x = number(small);
      if (smem::is_float(c.in) && takes && small == 7) x = T(std::numeric_limits<float>::quiet_NaN());
      if (smem::is_float(c.in) && before == number(0) && small < 50) x = T(-0.0F);  // of the same run
    }
  }
  return elements;
}

/// Launches the selection of a case.
inline cl::Event launch_select(const smem::Context& context, const SelectCase& c, const smem::Vector& in,
                               const smem::Vector& flags, const smem::Vector& out,
                               const smem::Vector& lengths, const smem::Vector& count,
                               const smem::CallOptions& options) {
  switch (c.op) {
    case smem::SelectOp::copy_if:
      return smem::copy_if(context, in, out, count, kPredicate, options);
    case smem::SelectOp::copy_flagged:
      return smem::copy_flagged(context, in, flags, out, count, options);
    case smem::SelectOp::partition:
      return smem::partition(context, in, out, count, kPredicate, options);
    case smem::SelectOp::partition_flagged:
      return smem::partition_flagged(context, in, flags, out, count, options);
    case smem::SelectOp::partition_reversed:
      return smem::partition_reversed(context, in, out, count, kPredicate, options);
    case smem::SelectOp::partition_flagged_reversed:
      return smem::partition_flagged_reversed(context, in, flags, out, count, options);
    case smem::SelectOp::unique:
      return smem::unique(context, in, out, count, options);
    default:
      return smem::run_length_encode(context, in, out, lengths, count, options);
  }
}

/// A buffer with something in it around what is to be written, and what it must hold then.
class Guarded {
 public:
  Guarded(const smem::Context& context, smem::Scalar type, std::size_t offset, std::size_t size,
          Random& random)
      : context_(context),
        type_(type),
        offset_(offset),
        size_(size),
        expected_(random.bytes((offset + size + 5) * smem::size_of(type))),
        array_(context, expected_) {}
  smem::Vector view() const { return {array_.buffer()(), type_, size_, offset_}; }
  void expect(const std::vector<unsigned char>& bytes) {
    if (!bytes.empty())
      std::memcpy(expected_.data() + offset_ * smem::size_of(type_), bytes.data(), bytes.size());
  }
  void expect(const std::vector<std::uint64_t>& numbers) {
    std::vector<unsigned char> bytes(numbers.size() * smem::size_of(type_));
    for (std::size_t i = 0; i < numbers.size(); ++i)
      std::memcpy(bytes.data() + i * smem::size_of(type_), &numbers[i], smem::size_of(type_));
    expect(bytes);
  }
  /// Empty, or what is wrong.
  std::string fault(const char* name) const {
    std::vector<unsigned char> got(expected_.size());
    smem::read_buffer(context_, array_.buffer(), got.data(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] != expected_[i]) {
        return fmt::format(
            "{}: element {} of the view is wrong (size {})", name,
            static_cast<std::ptrdiff_t>(i / smem::size_of(type_)) - static_cast<std::ptrdiff_t>(offset_),
            size_);
      }
    }
    return {};
  }

 private:
  const smem::Context& context_;
  smem::Scalar type_;
  std::size_t offset_, size_;
  std::vector<unsigned char> expected_;
  smem::Array<unsigned char> array_;
};

template <class T>
Outcome run_typed(const smem::Context& context, const SelectCase& c, Random& random) {
  const std::vector<T> input = elements_for<T>(c, c.in_offset + c.size + 3, random);
  const std::size_t flag_bytes = smem::size_of(c.flags);
  std::vector<bool> chosen(c.size);
  std::vector<unsigned char> flags = random.bytes((c.in_offset + c.size + 1) * flag_bytes);
  for (std::size_t i = 0; is_flagged(c.op) && i < c.size; ++i) {
    chosen[i] = random.between(1, 1000) <= c.per_mille;
    // One bit, at any place of the number, is enough.
    const std::uint64_t flag = chosen[i] ? std::uint64_t{1} << random.between(0, 8 * flag_bytes - 1) : 0;
    std::memcpy(flags.data() + (c.in_offset + i) * flag_bytes, &flag, flag_bytes);
  }
  const Selected expected = select_plainly(c, input.data() + c.in_offset, chosen);

  const smem::Array<T> in_array(context, input);
  const smem::Array<unsigned char> flags_array(context, flags);
  Guarded out(context, c.in, c.out_offset, c.size + c.room, random);
  Guarded lengths(context, c.lengths, c.out_offset, c.size + c.room, random);
  Guarded count(context, c.count, c.out_offset, 1, random);
  out.expect(expected.out);
  if (c.op == smem::SelectOp::run_length_encode) lengths.expect(expected.lengths);
  count.expect(std::vector<std::uint64_t>{expected.count});

  bool plan_refuses = false;
  try {
    smem::plan_select(context.device(), problem_of(c), {.variant = std::string(c.variant)});
  } catch (const smem::Error& error) {
    if (error.details().argument != "variant") return {false, fmt::format("no plan: {}", error.what())};
    plan_refuses = true;
  }
  try {
    const cl::Event event = launch_select(context, c, in_array.vector(c.in_offset, c.size),
                                          smem::Vector(flags_array.buffer()(), c.flags, c.size, c.in_offset),
                                          out.view(), lengths.view(), count.view(), {.variant = c.variant});
    context.finish();
    if (event() == nullptr) return {false, "the call returned no event"};
    if (plan_refuses) return {false, "the plan refuses the variant, and the call runs it"};
  } catch (const smem::Error& error) {
    if (!plan_refuses || error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  for (const std::string& fault : {count.fault("count"), out.fault("out"), lengths.fault("lengths")}) {
    if (!fault.empty()) return {false, fault};
  }
  const std::vector<T> after = in_array.to_host();
  if (std::memcmp(after.data(), input.data(), input.size() * sizeof(T)) != 0)
    return {false, "the input has changed"};
  return {};
}

inline Outcome run(const smem::Context& context, const SelectCase& c, Random& random) {
  return with_type(c.in, [&](auto zero) { return run_typed<decltype(zero)>(context, c, random); });
}

using SelectSweep = CaseSweep<SelectCase>;

/// Whether the device has what the elements need.
inline bool can_select(const smem::Device& device, const SelectCase& c) {
  return device.fp64 || c.in != smem::Scalar::float64 || is_flagged(c.op);
}

/// A selection of every size that a kernel can get wrong, at different places in its buffer, with few and
/// many elements selected.
inline void select_vectors(SelectSweep& sweep, SelectCase c) {
  c.size = 1 << 20;
  std::size_t tile = 0;
  try {
    tile = smem::plan_select(sweep.context().device(), problem_of(c), {.variant = std::string(c.variant)})
               .tile_cols;
  } catch (const smem::Error&) {
    sweep.run(c);  // refused, or an error to look into
    return;
  }
  std::size_t turn = 0;
  constexpr std::size_t kPerMille[] = {500, 0, 1000, 10, 990};
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{2}, tile - 1, tile, tile + 1,
                                 2 * tile + 1, std::size_t{509}, std::size_t{99991}, 3 * tile + 5003}) {
    c.size = size;
    c.per_mille = kPerMille[turn % 5];
    // Whole packs and single elements are two programs: some types have both.
    const bool packs =
        c.in == smem::Scalar::float32 || c.in == smem::Scalar::uint16 || c.in == smem::Scalar::uint8;
    c.in_offset = packs && turn % 2 == 0 ? 0 : 1 + turn % 4;
    c.out_offset = turn % 3;
    c.room = turn % 2;
    c.count = turn % 3 == 0 ? smem::Scalar::uint64 : smem::Scalar::uint32;
    c.lengths = turn % 4 == 0 ? smem::Scalar::uint64 : smem::Scalar::uint32;
    sweep.run(c);
    ++turn;
  }
}

}  // namespace test
