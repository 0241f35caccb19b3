// top_k of more elements than 31 bits count.
#include "support/large_buffer.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// Bytes: a few great ones far away, and behind them the first of all others, which are equal.
TEST_CASE("large: top_k of more than 2^31 elements") {
  const smem::Context context;
  const std::size_t size = (std::size_t{1} << 31) + 4099;
  const auto room = test::large_buffer(context, size, 2 * size);
  if (!room) return;
  const cl::Buffer& in = *room;
  const cl_uchar usual = 100;
  test::fill_words(context, in, size, usual);
  const std::vector<cl_uchar> rest(size % 4, usual);
  const auto write = [&](std::size_t place, std::size_t bytes, const cl_uchar* from) {
    REQUIRE(clEnqueueWriteBuffer(context.queue()(), in(), CL_TRUE, place, bytes, from, 0, nullptr, nullptr) ==
            CL_SUCCESS);
  };
  write(size - rest.size(), rest.size(), rest.data());
  std::vector<std::uint32_t> expected;
  std::vector<std::uint8_t> expected_values;
  for (std::uint8_t great = 140; great > 100; --great) {
    const std::size_t place = size - 1 - (great % 4 == 0 ? 1U : 15000017U) * std::size_t{great};
    write(place, 1, &great);
    expected.push_back(static_cast<std::uint32_t>(place));
    expected_values.push_back(great);
  }
  for (std::uint32_t place = 0; expected.size() < 64; ++place) {
    if (std::find(expected.begin(), expected.end(), place) != expected.end()) continue;
    expected.push_back(place);
    expected_values.push_back(usual);
  }
  const smem::Array<std::uint8_t> values(context, smem::Count{64});
  const smem::Array<std::uint32_t> places(context, smem::Count{64});
  smem::top_k(context, smem::VectorView<std::uint8_t>(in, size), values.vector(), places.vector());
  CHECK(values.to_host() == expected_values);
  CHECK(places.to_host() == expected);
}
