#include "ops/sequences.hpp"

#include "formatted.hpp"
#include "ops/run.hpp"
#include "ops/views.hpp"

#include <bit>
#include <string>

namespace smem::ops {

SequenceLists::SequenceLists(const Context& context, const char* operation,
                             std::span<const cl::Event> wait_for)
    : context_(context), operation_(operation), ready_(context.runtime().marker(wait_for)) {}

void SequenceLists::require_whole(const char* operation, const char* argument, const ElementType& type) {
  const Scalar scalar = number_type(operation, argument, type);
  if (scalar != Scalar::uint32 && scalar != Scalar::int32)
    refuse(operation, argument, "uint32 or int32", std::string(name_of(scalar)));
}

std::vector<std::int64_t> SequenceLists::read(const ConstMatrix& list) const {
  if (is_empty(list)) return {};
  std::vector<std::uint32_t> bits((list.rows - 1) * list.pitch + list.cols);
  read_to_host(context_, operation_, list.buffer, list.offset * sizeof(std::uint32_t),
               std::as_writable_bytes(std::span(bits)), ready_);
  std::vector<std::int64_t> numbers;
  numbers.reserve(list.rows * list.cols);
  for (std::size_t r = 0; r < list.rows; ++r) {
    for (std::size_t c = 0; c < list.cols; ++c) {
      const std::uint32_t number = bits[r * list.pitch + c];
      numbers.push_back(list.type == Scalar::int32 ? std::int64_t{std::bit_cast<std::int32_t>(number)}
                                                   : std::int64_t{number});
    }
  }
  return numbers;
}

std::vector<std::size_t> SequenceLists::counts_of(const char* argument, const ConstVector& offsets,
                                                  std::size_t most) const {
  std::vector<std::size_t> counts;
  std::int64_t before = 0;
  const std::vector<std::int64_t> numbers = read(as_matrix(offsets));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < before || numbers[i] > static_cast<std::int64_t>(most)) {
      refuse(operation_, argument, formatted("ascending offsets of at most {}", most),
             formatted("{} after {} at index {}", numbers[i], before, i));
    }
    if (i > 0) counts.push_back(static_cast<std::size_t>(numbers[i] - before));
    before = numbers[i];
  }
  return counts;
}

std::vector<std::size_t> SequenceLists::lengths_of(
    const char* argument, const ConstVector& lengths,
    const std::function<std::size_t(std::size_t)>& most) const {
  std::vector<std::size_t> found;
  for (const std::int64_t length : read(as_matrix(lengths))) {
    const std::size_t room = most(found.size());
    if (length < 0 || length > static_cast<std::int64_t>(room)) {
      refuse(operation_, argument, formatted("a length from 0 to {}", room),
             formatted("{} at index {}", length, found.size()));
    }
    found.push_back(static_cast<std::size_t>(length));
  }
  return found;
}

void SequenceLists::check_table(const char* argument, const ConstMatrix& table, std::size_t pages,
                                const std::function<Entries(std::size_t)>& used) const {
  const std::vector<std::int64_t> numbers = read(table);
  for (std::size_t s = 0; s < table.rows; ++s) {
    const Entries entries = used(s);
    for (std::size_t i = entries.begin; i < entries.end; ++i) {
      const std::int64_t page = numbers[s * table.cols + i];
      if (page >= 0 && page < static_cast<std::int64_t>(pages)) continue;
      refuse(operation_, argument, formatted("numbers of the {} pages", pages),
             formatted("{} at row {}, column {}", page, s, i));
    }
  }
}

}  // namespace smem::ops
