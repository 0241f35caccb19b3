// Layouts of heads as numbers.
#include <smem/heads.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>

TEST_CASE("heads: packed strides, strides that are given, and tokens before heads") {
  const smem::HeadsShape shape{.batch = 2, .heads = 3, .tokens = 5, .size = 7};
  const auto is = [&](const smem::HeadsLayout& layout, std::size_t token, std::size_t head,
                      std::size_t batch) {
    const smem::ConstHeads heads(nullptr, smem::element_of<float>, shape, layout);
    return heads.offset == layout.offset && heads.token_stride == token && heads.head_stride == head &&
           heads.batch_stride == batch;
  };
  CHECK(is({}, 7, 35, 105));
  CHECK(is({.offset = 4, .token_stride = 8}, 8, 40, 120));
  CHECK(is({.head_stride = 50}, 7, 50, 150));
  CHECK(is({.batch_stride = 999}, 7, 35, 999));
  CHECK(is(smem::tokens_before_heads(shape, 9), 21, 7, 105));
  // Numbers that do not fit are the largest one, which no buffer holds.
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK(smem::tokens_before_heads({.heads = most / 2, .tokens = 2, .size = 3}).token_stride == most);
}
