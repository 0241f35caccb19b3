/// Grids in host memory, for random tests that compute what they expect by loops of their own.
#pragma once

#include "support/filters.hpp"
#include "support/random_cases.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace test {

/// One or more grids with gaps around their rows, planes and grids, full of what must not be read or written.
class PlainGrid {
 public:
  PlainGrid(const smem::Context& context, Random& random, smem::Scalar type, const smem::GridSize& size,
            std::size_t channels = 1, std::size_t batch = 1)
      : view(nullptr, type, size, layout_of(random, size, channels, batch)), context_(&context) {
    const std::size_t elements = span_of(view) + random.between(0, 9);
    bytes_ = random.bytes(std::max<std::size_t>(elements, 1) * smem::size_of(type));
    // NaN, or the largest number.
    if (smem::is_float(type)) bytes_.assign(bytes_.size(), 0xff);
  }

  smem::Grid view;

  std::size_t index(std::size_t x, std::size_t y, std::size_t plane, std::size_t c) const {
    return view.offset + plane / view.size.depth * view.batch_stride + plane % view.size.depth * view.plane +
           y * view.pitch + x * view.channels + c;
  }
  double at(std::size_t x, std::size_t y, std::size_t plane, std::size_t c) const {
    return decode(*view.type.scalar, bytes_.data() + index(x, y, plane, c) * view.type.bytes);
  }
  std::size_t planes() const { return view.size.depth * view.batch; }
  void fill(const std::function<double()>& number) {
    each_element(view, [&](std::size_t at, std::size_t, std::size_t, std::size_t, std::size_t) {
      encode(*view.type.scalar, number(), bytes_.data() + at * view.type.bytes);
    });
  }
  /// Puts it on the device; `view` then is a view of it.
  void upload() {
    array_.emplace(*context_, bytes_);
    view.buffer = array_->buffer()();
  }
  /// What is on the device.
  void download() { bytes_ = array_->to_host(); }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  static smem::GridLayout layout_of(Random& random, const smem::GridSize& size, std::size_t channels,
                                    std::size_t batch) {
    smem::GridLayout layout{.channels = channels, .batch = batch};
    if (random.chance(3)) return layout;
    layout.offset = random.between(0, 19);
    layout.pitch = size.width * channels + random.between(0, 9);
    layout.plane = size.height * layout.pitch + random.between(0, 9);
    layout.batch_stride = size.depth * layout.plane + random.between(0, 9);
    return layout;
  }

  const smem::Context* context_;
  std::vector<unsigned char> bytes_;
  std::optional<smem::Array<unsigned char>> array_;
};

/// Runs `call()`, and compares `out` with `wrong(x, y, plane, channel, got)`, which says what is wrong with
/// an element; nothing where it is right. `kept`: of elements that must keep what they have. All other bytes
/// of `out`, and of the inputs, must be what they were.
struct PlainCheck {
  std::function<std::string(std::size_t x, std::size_t y, std::size_t plane, std::size_t c, double got)>
      wrong;
  std::function<bool(std::size_t x, std::size_t y, std::size_t plane)> kept = {};
};
inline Outcome run_plain(const std::vector<PlainGrid*>& inputs, PlainGrid& out, const PlainCheck& check,
                         const std::function<void()>& call) {
  std::vector<std::vector<unsigned char>> before;
  for (PlainGrid* grid : inputs) {
    grid->upload();
    before.push_back(grid->bytes());
  }
  out.upload();
  const std::vector<unsigned char> poison = out.bytes();
  try {
    call();
  } catch (const smem::Error& error) {
    out.download();
    if (out.bytes() != poison) return {false, "a refused call has written"};
    if (error.details().argument != "variant")
      return {false, fmt::format("the call failed: {}", error.what())};
    return refusal(error);
  }
  out.download();
  std::vector<unsigned char> rest = out.bytes();
  std::string fault;
  const std::size_t size = out.view.type.bytes;
  each_element(out.view, [&](std::size_t at, std::size_t x, std::size_t y, std::size_t c, std::size_t plane) {
    if (!fault.empty() || (check.kept && check.kept(x, y, plane))) return;
    const double got = decode(*out.view.type.scalar, rest.data() + at * size);
    const std::string why = check.wrong(x, y, plane, c, got);
    if (!why.empty())
      fault = fmt::format("({}, {}) of plane {}, channel {}, is {}: {}", x, y, plane, c, got, why);
    std::copy_n(poison.begin() + static_cast<std::ptrdiff_t>(at * size), size,
                rest.begin() + static_cast<std::ptrdiff_t>(at * size));
  });
  if (!fault.empty()) return {false, fault};
  if (rest != poison) return {false, "written where nothing is to be written"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i]->download();
    if (inputs[i]->bytes() != before[i]) return {false, "an input has changed"};
  }
  return {};
}

}  // namespace test
