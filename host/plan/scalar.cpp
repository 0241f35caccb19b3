// The names and sizes of scalars.
#include "plan/sizes.hpp"

#include <smem/scalar.hpp>

#include <array>

namespace smem {

namespace {

struct Facts {
  std::size_t bytes;
  std::string_view name;
  std::string_view opencl_name;
};

// In the order of the enumeration.
constexpr std::array<Facts, 14> kFacts{{{1, "int8", "char"},
                                        {2, "int16", "short"},
                                        {4, "int32", "int"},
                                        {8, "int64", "long"},
                                        {1, "uint8", "uchar"},
                                        {2, "uint16", "ushort"},
                                        {4, "uint32", "uint"},
                                        {8, "uint64", "ulong"},
                                        {2, "half", "half"},
                                        {4, "float32", "float"},
                                        {8, "float64", "double"},
                                        {2, "bfloat16", "ushort"},
                                        {1, "e4m3", "uchar"},
                                        {1, "e5m2", "uchar"}}};

const Facts& facts(const char* function, Scalar type) {
  plan::require_element(function, "type", type);
  return kFacts[static_cast<std::size_t>(type)];
}

}  // namespace

std::size_t size_of(Scalar type) { return facts("size_of", type).bytes; }
std::string_view name_of(Scalar type) { return facts("name_of", type).name; }
std::string_view opencl_name_of(Scalar type) { return facts("opencl_name_of", type).opencl_name; }

}  // namespace smem
