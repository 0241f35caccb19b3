// Sorts whose counts have 64 bits: from 2^30 keys on. Keys are made and checked by the device.
#include "support/environment.hpp"
#include "support/wide.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

// Keys from their places: uniform but for bits that a mask clears; or, with MOST, 15 of 16 are equal, so that
// more keys have one digit than 30 bits count, or 32.
constexpr const char* kSource = R"(
ulong hash_of(ulong z) {
  z = (z + 1) * 0x9e3779b97f4a7c15ul;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ul;
  return z ^ z >> 29;
}
KEY key_at(ulong place) {
  const ulong hash = hash_of(place);
  return MOST && (hash & 15) != 0 ? (KEY)0x5a5a5a5a : (KEY)(hash >> (64 - 8 * sizeof(KEY))) & (KEY)MASK;
}
kernel void fill(global KEY* keys, global VALUE* values, ulong size) {
  for (ulong i = get_global_id(0); i < size; i += get_global_size(0)) {
    keys[i] = key_at(i);
#if VALUES
    values[i] = (VALUE)i;
#endif
  }
}
// found[0]: pairs out of order, or of a key and another key's place; as places of equal keys ascend, without any of these each place
// is there once. found[1], found[2]: sums over the keys.
kernel void check(global const KEY* keys, global const VALUE* values, ulong size, global uint* found) {
  uint wrong = 0, sum = 0, product_sum = 0;
  for (ulong i = get_global_id(0); i < size; i += get_global_size(0)) {
#if VALUES
    const ulong place = values[i], before = i == 0 ? 0 : values[i - 1];
#if HAS_KEYS
    const KEY key = keys[i], left = i == 0 ? 0 : keys[i - 1];
    wrong += place >= size || key_at(place) != key;
#else
    const KEY key = key_at(place), left = i == 0 ? 0 : key_at(before);
    wrong += place >= size;
#endif
    wrong += i > 0 && (left > key || (left == key && before >= place));
#else
    const KEY key = keys[i];
    wrong += i > 0 && keys[i - 1] > key;
#endif
    sum += (uint)key;
    product_sum += (uint)(hash_of(key) >> 32);
  }
  atomic_add(&found[0], wrong);
  atomic_add(&found[1], sum);
  atomic_add(&found[2], product_sum);
}
)";

struct Shape {
  const char *key, *value;  ///< OpenCL's names
  std::size_t size;
  std::uint32_t mask;  ///< the bits that keys have
  bool most = false;   ///< nearly all are equal
};

struct Found {
  std::uint32_t wrong = 0, sum = 0, product_sum = 0;
  bool operator==(const Found&) const = default;
};

class Checker {
 public:
  Checker(smem::Context context, const Shape& shape, bool has_keys, bool has_values)
      : context_(std::move(context)),
        size_(shape.size),
        fill_(make(shape, has_keys, has_values, "fill")),
        check_(make(shape, has_keys, has_values, "check")) {}
  void fill(const cl::Buffer& keys, const cl::Buffer& values) const {
    fill_(kLaunch, keys, values, cl_ulong{size_});
  }
  /// Of one order or the other.
  Found found(const cl::Buffer& keys, const cl::Buffer& values) const {
    const smem::Array<cl_uint> sums(context_, std::vector<cl_uint>(3));
    check_(kLaunch, keys, values, cl_ulong{size_}, sums);
    const std::vector<cl_uint> all = sums.to_host();
    return {all[0], all[1], all[2]};
  }

 private:
  static constexpr smem::LaunchSize kLaunch{{std::size_t{1} << 18, 1, 1}, {128, 1, 1}};

  smem::Kernel make(const Shape& shape, bool has_keys, bool has_values, const char* entry) const {
    return context_.build({.source = kSource,
                           .entry_point = entry,
                           .defines = {{"VALUES", has_values},
                                       {"HAS_KEYS", has_keys},
                                       {"MASK", static_cast<long>(shape.mask)},
                                       {"MOST", shape.most}},
                           .text_defines = {{"KEY", shape.key}, {"VALUE", shape.value}}});
  }

  smem::Context context_;
  std::size_t size_;
  smem::Kernel fill_, check_;
};

/// More than 2^30.
std::size_t many() { return test::wide_size(30, 0) + test::wide_size(28, 4099); }

void sorts_pairs(const Shape& shape, std::string_view variant) {
  const smem::Context context;
  const std::size_t bytes = 4 * shape.size;
  const auto room = test::wide_buffers(context, {bytes, bytes, bytes, bytes}, 2 * bytes);
  if (!room) return;
  const cl::Buffer &keys = room->at(0), &values = room->at(1), &out = room->at(2), &out_values = room->at(3);
  const Checker checker(context, shape, true, true);
  checker.fill(keys, values);
  const auto vector = [&](const cl::Buffer& buffer) {
    return smem::VectorView<std::uint32_t>(buffer, shape.size);
  };
  smem::sort_pairs(context, vector(keys), vector(values), vector(out), vector(out_values), {},
                   {.variant = std::string(variant)});
  const Found found = checker.found(out, out_values), before = checker.found(keys, values);
  CHECK(before.wrong > shape.size / 64);  // the check itself: these are not sorted
  CHECK(found == Found{0, before.sum, before.product_sum});
}

}  // namespace

TEST_CASE("large: pairs of more than 2^30 keys, whose counts have 64 bits") {
  for (const Shape& shape :
       {Shape{"uint", "uint", many(), 0xffffffffU}, Shape{"uint", "uint", many(), 0x80ff0003U},
        Shape{"uint", "uint", many(), 0xffffffffU, true}}) {
    for (const char* variant : {"onesweep", "three_launches"}) {
      CAPTURE(shape.mask);
      CAPTURE(shape.most);
      CAPTURE(variant);
      sorts_pairs(shape, variant);
    }
  }
}

TEST_CASE("large: more than 2^30 pairs where no tile publishes in time") {
  const test::Variable clamp("SMEM_CLAMP", "poll_limit=0");
  sorts_pairs({"uint", "uint", many(), 0xffffffffU}, "onesweep");
  sorts_pairs({"uint", "uint", many(), 0xffffffffU, true}, "onesweep");
}

TEST_CASE("large: more than 2^32 keys in two passes") {
  const std::size_t size = test::wide_size(32, 0) + test::wide_size(29, 4099);
  for (const Shape& shape : {Shape{"ushort", "uint", size, 0xffff}, Shape{"ushort", "uint", size, 0},
                             Shape{"ushort", "uint", size, 0xffff, true}}) {
    for (const char* variant : {"onesweep", "three_launches"}) {
      CAPTURE(shape.mask);
      CAPTURE(shape.most);
      CAPTURE(variant);
      const smem::Context context;
      const auto room = test::wide_buffers(context, {2 * size, 2 * size}, 3 * size);
      if (!room) return;
      const Checker checker(context, shape, true, false);
      checker.fill(room->at(0), room->at(0));
      const Found before = checker.found(room->at(0), room->at(0));
      smem::sort(context, smem::VectorView<std::uint16_t>(room->at(0), size),
                 smem::VectorView<std::uint16_t>(room->at(1), size), {}, {.variant = variant});
      CHECK((before.wrong > 0) == (shape.mask != 0));
      CHECK(checker.found(room->at(1), room->at(1)) == Found{0, before.sum, before.product_sum});
    }
  }
}

TEST_CASE("large: places of 64 bits of more than 2^31 keys") {
  const std::size_t size = test::wide_size(31, 4099);
  const smem::Context context;
  const auto room = test::wide_buffers(context, {size, 8 * size}, size);
  if (!room) return;
  const Shape shape{"uchar", "ulong", size, 0xc3};
  const Checker keys(context, shape, true, false), places(context, shape, false, true);
  keys.fill(room->at(0), room->at(1));
  const Found before = keys.found(room->at(0), room->at(1));
  smem::argsort(context, smem::VectorView<std::uint8_t>(room->at(0), size),
                smem::VectorView<std::uint64_t>(room->at(1), size));
  CHECK(places.found(room->at(0), room->at(1)) == Found{0, before.sum, before.product_sum});
}
