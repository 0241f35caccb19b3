/// Lists on the device that say where sequences are, read and checked on request.
#pragma once

#include <smem/context.hpp>
#include <smem/view.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace smem::ops {

/// The keys and tokens of sequences, as lists on the device have them.
class SequenceLists {
 public:
  /// Lists are read when the events have completed. The views have been checked.
  SequenceLists(const Context& context, const char* operation, std::span<const cl::Event> wait_for);

  /// \throws Error naming `argument` unless its elements are uint32 or int32.
  static void require_whole(const char* operation, const char* argument, const ElementType& type);

  /// How many tokens each sequence has. \throws Error naming `argument` unless offsets ascend to at most
  /// `most`.
  std::vector<std::size_t> counts_of(const char* argument, const ConstVector& offsets,
                                     std::size_t most) const;
  /// A length for each sequence. \throws Error naming `argument` unless each is from 0 to `most(sequence)`.
  std::vector<std::size_t> lengths_of(const char* argument, const ConstVector& lengths,
                                      const std::function<std::size_t(std::size_t)>& most) const;

  /// Entries [begin, end) of the table's row of a sequence.
  struct Entries {
    std::size_t begin, end;
  };
  /// \throws Error naming `argument` unless these entries of each row are less than `pages`.
  void check_table(const char* argument, const ConstMatrix& table, std::size_t pages,
                   const std::function<Entries(std::size_t)>& used) const;

 private:
  std::vector<std::int64_t> read(const ConstMatrix& list) const;

  const Context& context_;
  const char* operation_;
  cl::Event ready_;
};

}  // namespace smem::ops
