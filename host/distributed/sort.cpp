// Sample sort: blocks are sorted, splitters divide them, runs are exchanged and merged.
#include <smem/distributed/sort.hpp>

#include "distributed/checks.hpp"
#include "distributed/handles.hpp"
#include "distributed/moves.hpp"

#include <smem/bounds.hpp>
#include <smem/gather.hpp>
#include <smem/merge.hpp>

#include <algorithm>
#include <cstring>

namespace smem::distributed {

namespace {

using namespace detail;

constexpr const char* kSort = "distributed::sort";

/// An element of a sorted block, by which elements are divided.
struct Splitter {
  std::uint64_t block;
  std::uint64_t place;  ///< in the sorted block
};

/// Where a sample of a block lies: `count` of them divide it into equal parts.
std::size_t sample_place(std::size_t elements, std::size_t count, std::size_t sample) {
  return (elements * sample + elements / 2) / count;
}

/// One sort, in its steps.
class Sort {
 public:
  Sort(State& state, const Rows& keys, Rows& out, const SortOrder& order)
      : state_(state), keys_(keys), out_(out), order_(order), type_(keys.type()) {
    for (const Block& block : keys.blocks())
      sizes_.push_back(block.rows * keys.row_elements());
    for (int rank = 0; rank < state.ranks(); ++rank) {
      const std::size_t rows = keys.layout().rows[static_cast<std::size_t>(rank)];
      in_bands_ = in_bands_ || 3 * rows * keys.row_elements() * type_.bytes >
                                   state.device_bytes() * state.devices_of(rank);
    }
  }

  void run() {
    if (blocks() == 1 && out_.blocks().size() == 1 && out_.blocks()[0].rank == keys_.blocks()[0].rank) {
      if (is_mine(0)) sort_block(keys_.blocks()[0].handle, out_.blocks()[0].handle);
      return;
    }
    sort_blocks();
    choose_splitters();
    find_cuts();
    exchange();
    deliver();
  }

 private:
  bool is_mine(std::size_t block) const { return keys_.blocks()[block].handle != nullptr; }
  std::size_t blocks() const { return sizes_.size(); }
  /// 64 for each part, or as many as can be sorted in a quarter of a device's memory, but at least 2: a part
  /// is at most one and a half times as large as the mean then.
  std::size_t samples_of(std::size_t block) const {
    const std::size_t fit =
        state_.device_bytes() / 4 / (2 * (type_.bytes + sizeof(std::uint64_t))) / blocks();
    return std::min(sizes_[block], std::max(std::min(64 * blocks(), fit), 2 * blocks()));
  }

  void sort_blocks() {
    sorted_.resize(blocks());
    samples_.resize(blocks());
    for (std::size_t i = 0; i < blocks(); ++i) {
      if (!is_mine(i)) continue;
      sorted_[i] = Temporary(sizes_[i], type_.bytes, home_of(keys_.blocks()[i].handle));
      sort_block(keys_.blocks()[i].handle, sorted_[i].handle());
      sample(i);  // while the block is in the device's memory
      if (in_bands_) state_.throttle(2);
    }
  }

  void sample(std::size_t i) {
    const std::size_t count = samples_of(i);
    std::vector<std::uint64_t> where;
    for (std::size_t n = 0; n < count; ++n)
      where.push_back(sample_place(sizes_[i], count, n));
    const Temporary places(count, sizeof(std::uint64_t));
    write_handle(state_, places.handle(), where.data(), 0, count * sizeof(std::uint64_t), false);
    samples_[i] = Temporary(count, type_.bytes);
    const ElementType type = type_;
    state_.submit("gather",
                  {{sorted_[i].handle(), Access::read},
                   {places.handle(), Access::read},
                   {samples_[i].handle(), Access::write}},
                  [=](const Context& context, std::span<const Piece> pieces) {
                    smem::gather(context, pieces[0].vector(type), pieces[1].vector(Scalar::uint64),
                                 pieces[2].vector(type));
                  });
  }

  void sort_block(Handle from, Handle to) {
    const ElementType type = type_;
    const SortOrder order = order_;
    state_.submit("sort", {{from, Access::read}, {to, Access::write}},
                  [=](const Context& context, std::span<const Piece> pieces) {
                    smem::sort(context, pieces[0].vector(type), pieces[1].vector(type), order);
                  });
  }

  /// Sorts all samples on rank 0. Stable, and samples stand in the order of blocks and places: equal keys
  /// keep that order.
  void choose_splitters() {
    Bytes mine;
    const std::size_t bytes = type_.bytes;
    for (std::size_t i = 0; i < blocks(); ++i) {
      if (!is_mine(i)) continue;
      const Bytes of_block = bytes_of(state_, samples_[i].handle(), samples_of(i) * bytes);
      mine.insert(mine.end(), of_block.begin(), of_block.end());
    }
    const Bytes all = state_.gather(mine.data(), mine.size());
    const std::size_t count = all.size() / bytes;
    std::vector<Splitter> sources;
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i < blocks(); ++i) {
      for (std::size_t sample = 0; sample < samples_of(i); ++sample) {
        ids.push_back(sources.size());
        sources.push_back({i, sample_place(sizes_[i], samples_of(i), sample)});
      }
    }
    if (state_.rank() == 0) {
      const Temporary from(count, bytes), from_ids(count, sizeof(std::uint64_t)), to(count, bytes),
          to_ids(count, sizeof(std::uint64_t));
      write_handle(state_, from.handle(), all.data(), 0, all.size(), false);
      write_handle(state_, from_ids.handle(), ids.data(), 0, count * sizeof(std::uint64_t), false);
      const ElementType type = type_;
      const SortOrder order = order_;
      state_.submit("sort_pairs",
                    {{from.handle(), Access::read},
                     {from_ids.handle(), Access::read},
                     {to.handle(), Access::write},
                     {to_ids.handle(), Access::write}},
                    [=](const Context& context, std::span<const Piece> pieces) {
                      smem::sort_pairs(context, pieces[0].vector(type), pieces[1].vector(Scalar::uint64),
                                       pieces[2].vector(type), pieces[3].vector(Scalar::uint64), order);
                    });
      read_handle(state_, to_ids.handle(), ids.data(), 0, count * sizeof(std::uint64_t));
    }
    state_.agree(kSort);
    // Weighted by the elements that a sample stands for, the samples divide all elements.
    std::vector<std::uint64_t> chosen(blocks());  // their number, then the samples
    double passed = 0;
    for (const std::uint64_t id : ids) {
      if (state_.rank() != 0 || chosen[0] + 1 >= blocks()) break;
      const std::size_t block = sources[id].block;
      passed += static_cast<double>(sizes_[block]) / static_cast<double>(samples_of(block));
      if (passed * static_cast<double>(blocks()) >=
          static_cast<double>(keys_.elements()) * static_cast<double>(chosen[0] + 1)) {
        chosen[++chosen[0]] = id;
      }
    }
    state_.broadcast(chosen.data(), chosen.size() * sizeof(std::uint64_t));
    for (std::size_t i = 1; i <= chosen[0]; ++i) {
      splitters_.push_back(sources[chosen[i]]);
      const auto place = all.begin() + static_cast<std::ptrdiff_t>(chosen[i] * bytes);
      splitter_keys_.insert(splitter_keys_.end(), place, place + static_cast<std::ptrdiff_t>(bytes));
    }
  }

  /// cuts_[block][part]: where the part begins in the sorted block. Of keys that equal a splitter's, those in
  /// blocks before the splitter's come before it, and those in blocks after it follow it.
  void find_cuts() {
    const std::size_t parts = splitters_.size() + 1, bytes = splitters_.size() * sizeof(std::uint64_t);
    std::vector<std::uint64_t> mine;
    if (!splitters_.empty()) {
      const Temporary keys(splitters_.size(), type_.bytes);
      write_handle(state_, keys.handle(), splitter_keys_.data(), 0, splitter_keys_.size(), false);
      const ElementType type = type_;
      const SortOrder order = order_;
      for (std::size_t i = 0; i < blocks(); ++i) {
        if (!is_mine(i)) continue;
        const Temporary lower(splitters_.size(), sizeof(std::uint64_t)),
            upper(splitters_.size(), sizeof(std::uint64_t));
        state_.submit("bounds",
                      {{sorted_[i].handle(), Access::read},
                       {keys.handle(), Access::read},
                       {lower.handle(), Access::write},
                       {upper.handle(), Access::write}},
                      [=](const Context& context, std::span<const Piece> pieces) {
                        const smem::Vector sorted = pieces[0].vector(type), of = pieces[1].vector(type);
                        smem::lower_bound(context, sorted, of, pieces[2].vector(Scalar::uint64), order);
                        smem::upper_bound(context, sorted, of, pieces[3].vector(Scalar::uint64), order);
                      });
        std::vector<std::uint64_t> below(splitters_.size()), not_above(splitters_.size());
        read_handle(state_, lower.handle(), below.data(), 0, bytes);
        read_handle(state_, upper.handle(), not_above.data(), 0, bytes);
        for (std::size_t s = 0; s < splitters_.size(); ++s) {
          const Splitter& splitter = splitters_[s];
          mine.push_back(i < splitter.block ? not_above[s] : i == splitter.block ? splitter.place : below[s]);
        }
      }
    }
    state_.agree(kSort);  // from here on the numbers are used as sizes
    const std::vector<Bytes> all = state_.allgather(mine.data(), mine.size() * sizeof(std::uint64_t));
    cuts_.assign(blocks(), std::vector<std::size_t>(parts + 1));
    std::vector<std::size_t> taken(all.size());
    for (std::size_t i = 0; i < blocks(); ++i) {
      const auto rank = static_cast<std::size_t>(keys_.blocks()[i].rank);
      for (std::size_t part = 1; part < parts; ++part) {
        std::uint64_t cut = 0;
        std::memcpy(&cut, all[rank].data() + taken[rank], sizeof cut);
        taken[rank] += sizeof cut;
        cuts_[i][part] = cut;
      }
      cuts_[i][parts] = sizes_[i];
    }
  }

  /// Part j goes to the rank of block j, where the runs of all blocks are merged, neighbours first: equal
  /// keys keep the order of their blocks. A block is cut up at once, so that it is in a device's memory once.
  void exchange() {
    const std::size_t parts = splitters_.size() + 1;
    const std::size_t bytes = type_.bytes;
    parts_.resize(parts);
    part_sizes_.assign(parts, 0);
    using Run = std::pair<Temporary, std::size_t>;
    std::vector<std::vector<Run>> runs_of(parts);
    std::vector<Arrival> arrivals;
    for (std::size_t i = 0; i < blocks(); ++i) {
      const int from = keys_.blocks()[i].rank;
      // Each rank begins with another part: none is sent to by all at once. What stays comes last.
      for (std::size_t n = 0; n < parts; ++n) {
        const std::size_t part = (n + i + 1) % parts, first = cuts_[i][part],
                          count = cuts_[i][part + 1] - first;
        const int to = keys_.blocks()[part].rank;
        part_sizes_[part] += count;
        if (count == 0) continue;
        const std::int64_t tag = state_.next_tag();
        if (from != state_.rank() && to != state_.rank()) continue;
        Temporary run(count, bytes, to == state_.rank() ? home_of(keys_.blocks()[part].handle) : 0);
        if (from == to && home_of(sorted_[i].handle()) != home_of(run.handle())) {
          touch(state_, run.handle());
          move(state_, {from, sorted_[i].handle(), first * bytes, count * bytes}, {to, run.handle()}, 1,
               count * bytes, in_bands_ ? nullptr : &arrivals);
        } else if (from == state_.rank()) {
          const End source{.offset = first * bytes, .pitch = count * bytes}, target{.pitch = count * bytes};
          state_.submit("copy", {{sorted_[i].handle(), Access::read}, {run.handle(), Access::write}},
                        [=](const Context& context, std::span<const Piece> pieces) {
                          copy_rows(context, pieces[0], source, pieces[1], target, 1, count * bytes);
                        });
          if (to != state_.rank()) state_.send(run.handle(), to, tag);
        } else {
          state_.receive(run.handle(), from, tag);
        }
        if (to == state_.rank()) runs_of[part].emplace_back(std::move(run), count);
      }
      sorted_[i] = Temporary();
      if (in_bands_) state_.throttle(blocks());
    }
    receive(state_, arrivals);
    for (std::size_t part = 0; part < parts; ++part) {
      std::vector<Run>& runs = runs_of[part];
      while (runs.size() > 1) {
        std::vector<Run> merged;
        for (std::size_t i = 0; i + 1 < runs.size(); i += 2)
          merged.push_back(merge(runs[i], runs[i + 1]));
        if (runs.size() % 2 == 1) merged.push_back(std::move(runs.back()));
        runs = std::move(merged);
      }
      if (!runs.empty()) parts_[part] = std::move(runs.front().first);
      if (in_bands_) state_.throttle(blocks() / 2);
    }
  }

  std::pair<Temporary, std::size_t> merge(const std::pair<Temporary, std::size_t>& a,
                                          const std::pair<Temporary, std::size_t>& b) {
    Temporary both(a.second + b.second, type_.bytes, home_of(a.first.handle()));
    const ElementType type = type_;
    const SortOrder order = order_;
    state_.submit(
        "merge",
        {{a.first.handle(), Access::read}, {b.first.handle(), Access::read}, {both.handle(), Access::write}},
        [=](const Context& context, std::span<const Piece> pieces) {
          smem::merge(context, pieces[0].vector(type), pieces[1].vector(type), pieces[2].vector(type), order);
        });
    return {std::move(both), a.second + b.second};
  }

  /// The parts follow each other: where they overlap the blocks of `out`, they are copied there.
  void deliver() {
    const std::size_t bytes = type_.bytes;
    std::vector<std::size_t> firsts = {0};  // of the parts
    for (const std::size_t size : part_sizes_)
      firsts.push_back(firsts.back() + size);
    for (const Block& block : out_.blocks()) {
      if (block.handle != nullptr) touch(state_, block.handle);
      const std::size_t block_first = block.first * out_.row_elements(),
                        block_end = block_first + block.rows * out_.row_elements();
      for (std::size_t part = 0; part < part_sizes_.size(); ++part) {
        const std::size_t first = std::max(firsts[part], block_first),
                          end = std::min(firsts[part + 1], block_end);
        if (first >= end) continue;
        const std::size_t count = (end - first) * bytes;
        move(state_,
             {keys_.blocks()[part].rank, parts_[part].handle(), (first - firsts[part]) * bytes, count},
             {block.rank, block.handle, (first - block_first) * bytes, count}, 1, count);
      }
      if (in_bands_) state_.throttle(2);
    }
  }

  State& state_;
  const Rows& keys_;
  Rows& out_;
  SortOrder order_;
  ElementType type_;
  bool in_bands_ = false;           ///< whether keys, runs and results do not lie in the devices' memory
  std::vector<std::size_t> sizes_;  ///< elements of each block
  std::vector<Temporary> sorted_, samples_;
  std::vector<Splitter> splitters_;
  Bytes splitter_keys_;
  std::vector<std::vector<std::size_t>> cuts_;
  std::vector<Temporary> parts_;
  std::vector<std::size_t> part_sizes_;
};

}  // namespace

void sort(const Rows& keys, Rows& out, const SortOrder& order) {
  State& state = keys.session().state();
  const auto check = [&](Signature& signature) {
    signature.add(order.descending).add(order.total_order).add(order.nan_least).add(order.begin_bit);
    signature.add(order.end_bit ? *order.end_bit : SIZE_MAX);
    check_input(kSort, "keys", state, keys, signature);
    check_output(kSort, "out", state, out, signature);
    if (&keys == &out) refuse(kSort, "out", "an object other than keys", "keys themselves");
    if (!keys.type().scalar) refuse(kSort, "keys", "numbers", "opaque elements");
    if (!(out.type() == keys.type())) refuse(kSort, "out", "the type of keys", "another type");
    if (out.elements() != keys.elements()) {
      refuse(kSort, "out", std::to_string(keys.elements()) + " elements, as keys has",
             std::to_string(out.elements()));
    }
  };
  state.collective(kSort, check, [&] {
    if (keys.elements() != 0) Sort(state, keys, out, order).run();
    out.set_has_values();
  });
}

}  // namespace smem::distributed
