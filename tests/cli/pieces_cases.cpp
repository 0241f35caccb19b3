// Whether inputs that are written by copies of a piece, as roofline and bench --quick do, are what they
// should be: all of them, in their places, and nothing beside.
#include "cli/described.hpp"

#include <smem/smem.hpp>

#include <fmt/format.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace smem;
using operations::ArrayRule;

constexpr unsigned char kPoison = 0xcc;

int faults = 0;

void expect(bool right, const std::string& what) {
  if (right) return;
  fmt::print("wrong: {}\n", what);
  ++faults;
}

std::vector<unsigned char> read(const Context& context, const cl::Buffer& buffer, std::size_t bytes) {
  std::vector<unsigned char> got(bytes);
  context.queue().enqueueReadBuffer(buffer, CL_TRUE, 0, bytes, got.data());
  return got;
}

/// The array of a rule of which an element is that of the same place in its piece.
std::vector<unsigned char> by_pieces(ArrayRule rule, std::uint64_t seed) {
  const std::size_t bytes = rule.bytes(), size = size_of(rule.type);
  rule.elements = std::min(rule.elements, cli::CaseData::kPiece);
  const std::vector<unsigned char> piece = operations::filled(rule, seed).bytes;
  std::vector<unsigned char> all(bytes);
  for (std::size_t i = 0; i < bytes / size; ++i)
    std::memcpy(&all[i * size], &piece[i * size % piece.size()], size);
  return all;
}

}  // namespace

int main() {
  constexpr std::size_t kMany = 2 * cli::CaseData::kPiece + 123457;
  const ArrayRule random{
      .name = "random", .type = Scalar::float32, .elements = kMany, .fill = {.negative = true}};
  const ArrayRule offsets{
      .name = "offsets", .type = Scalar::uint32, .elements = 1001, .fill = {.offsets_of = 77777}};
  const ArrayRule periodic{
      .name = "periodic", .type = Scalar::uint8, .elements = kMany, .fill = {.period = 1000}};
  const ArrayRule updated{.name = "updated", .type = Scalar::int16, .elements = kMany};
  const ArrayRule keys{.name = "keys", .type = Scalar::int16, .elements = kMany, .fill = {.draws_all = true}};
  const operations::Case one{.in = {random, offsets, periodic, keys}, .in_out = {updated}};

  const Context context;
  const cli::CaseData data(one);
  const measure::BufferPair pair{make_buffer(context, data.bytes()), make_buffer(context, data.bytes())};
  for (const cl::Buffer& buffer : {pair.in, pair.out})
    context.queue().enqueueFillBuffer(buffer, kPoison, 0, data.bytes());
  data.write_pieces(context, pair);

  std::vector<unsigned char> in(data.bytes(), kPoison), out = in;
  const auto put = [](std::vector<unsigned char>& to, const operations::PlacedArray& place,
                      const std::vector<unsigned char>& from) {
    std::memcpy(&to[place.first * size_of(place.type)], from.data(), from.size());
  };
  const auto places = operations::place(one.in, pair.in());
  put(in, places[0], by_pieces(random, 1));
  put(in, places[1], operations::filled(offsets, 2).bytes);
  put(in, places[2], operations::filled(periodic, 3).bytes);  // pieces are whole periods
  put(in, places[3], operations::filled(keys, 4).bytes);
  put(out, operations::place(one.in_out, pair.out()).front(), by_pieces(updated, 5));
  expect(read(context, pair.in, data.bytes()) == in, "inputs");
  expect(read(context, pair.out, data.bytes()) == out, "what is read and written");

  data.write_pieces(context, pair, [](Scalar, std::uint64_t) { return 3.0; });
  const std::vector<unsigned char> threes = read(context, pair.in, data.bytes());
  const float three = 3;
  expect(std::memcmp(&threes[(kMany - 1) * sizeof three], &three, sizeof three) == 0, "given numbers");
  expect(std::memcmp(&threes[places[1].first * 4], &in[places[1].first * 4], offsets.bytes()) == 0,
         "offsets beside given numbers");
  if (faults == 0) fmt::print("pieces: right\n");
  return faults;
}
