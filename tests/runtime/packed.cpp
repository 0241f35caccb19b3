// The numbers of a launch as one struct: laid out as the compilers of the host and of kernels lay out
// structs.
#include "ops/divisor.hpp"
#include "runtime/runtime.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

using smem::runtime::PackedNumbers;

namespace {

struct Mixed {
  cl_uint a;
  cl_ulong b;
  cl_ushort c;
  cl_float d;
  cl_int e;
  cl_ulong f;
  cl_uint g, last;  // no padding follows
};
constexpr Mixed kMixed{
    .a = 1, .b = std::size_t{2} << 40, .c = 3, .d = -4.5F, .e = -5, .f = 6, .g = 8, .last = 7};

const std::string kSource = R"(
typedef struct { uint a; ulong b; ushort c; float d; int e; ulong f; uint g, last; } mixed;
kernel void unpack(global ulong* out, global const ulong* absent, mixed x) {
  out[0] = x.a, out[1] = x.b, out[2] = x.c, out[3] = (ulong)(x.d * -2), out[4] = (ulong)-x.e, out[5] = x.f, out[6] = x.last;
  out[7] = x.g;
})";

}  // namespace

TEST_CASE("launches: numbers are packed as a struct") {
  PackedNumbers numbers;
  numbers.add(kMixed.a);
  numbers.add(kMixed.b);
  numbers.add(kMixed.c);
  numbers.add(kMixed.d);
  numbers.add(kMixed.e);
  numbers.add(kMixed.f);
  numbers.add(kMixed.g);
  CHECK_THROWS_AS(numbers.size(), std::length_error);  // padding would follow
  numbers.add(kMixed.last);
  REQUIRE(numbers.size() == sizeof(Mixed));
  const auto* bytes = static_cast<const std::byte*>(numbers.data());
  for (const std::size_t at :
       {offsetof(Mixed, a), offsetof(Mixed, d), offsetof(Mixed, e), offsetof(Mixed, last)})
    CHECK(std::memcmp(bytes + at, reinterpret_cast<const std::byte*>(&kMixed) + at, 4) == 0);
  for (const std::size_t at : {offsetof(Mixed, b), offsetof(Mixed, f)})
    CHECK(std::memcmp(bytes + at, reinterpret_cast<const std::byte*>(&kMixed) + at, 8) == 0);
  CHECK(std::memcmp(bytes + offsetof(Mixed, c), &kMixed.c, 2) == 0);
}

TEST_CASE("launches: a struct of more numbers than there is room for") {
  PackedNumbers numbers;
  for (int i = 0; i < 64; ++i)
    numbers.add(cl_ulong{1});
  CHECK(numbers.size() == 512);
  numbers.add(cl_uint{1});
  CHECK_THROWS_AS(numbers.size(), std::length_error);
}

TEST_CASE("launches: the device's compiler lays out a struct as the host's does") {
  const smem::Context context;
  const smem::Kernel kernel = context.build({.source = kSource, .entry_point = "unpack"});
  const smem::Array<cl_ulong> out(context, smem::Count(8));
  kernel({.global = {1, 1, 1}, .work_group = {1, 1, 1}}, out, cl_mem{}, kMixed);
  CHECK(out.to_host() == std::vector<cl_ulong>{1, kMixed.b, 3, 9, 5, 6, 7, 8});
}

TEST_CASE("launches: divisions by a number's inverse are exact below 2^31") {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 31;
  std::size_t wrong = 0;
  const auto check = [&](std::uint64_t n, const smem::ops::Divisor& by) {
    if (n < kEnd && n * by.inverse >> by.shift != n / by.value) ++wrong;
  };
  for (const std::uint64_t near :
       {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{1000}, kEnd / 3, kEnd - 40})
    for (std::uint64_t d = near; d < near + 40; ++d) {
      const smem::ops::Divisor by(d);
      for (const std::uint64_t quotient :
           {std::uint64_t{0}, std::uint64_t{1}, kEnd / d / 2, kEnd / d - 1, kEnd / d})
        for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{1}, d - 1})
          check(quotient * d + rest, by);
      check(kEnd - 1, by);
    }
  CHECK(wrong == 0);
}
