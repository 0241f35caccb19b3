// Registers, from compilers' logs and binaries as they are.
#include "runtime/code_object.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

std::size_t in_binary(const std::string& text, const char* entry, std::size_t words = 1024) {
  const std::vector<unsigned char> bytes(text.begin(), text.end());
  return smem::runtime::registers_in_binary(bytes, entry, words);
}

}  // namespace

TEST_CASE("code object: NVIDIA's log") {
  const std::string log =
      "\nptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'first' for 'sm_90'\n"
      "ptxas info    : Function properties for first\n"
      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 62 registers, used 1 barriers, 16896 bytes smem, 600 bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'second' for 'sm_90'\n"
      "ptxas info    : Function properties for second\n"
      "ptxas info    : Used 8 registers\n";
  CHECK(smem::runtime::registers_in_log(log, "first") == 62);
  CHECK(smem::runtime::registers_in_log(log, "second") == 8);
  CHECK(smem::runtime::registers_in_log(log, "third") == 0);
  CHECK(smem::runtime::registers_in_log("", "first") == 0);
  CHECK(smem::runtime::registers_in_log(log.substr(0, 120), "first") == 0);
}

TEST_CASE("code object: AMD's metadata") {
  // MessagePack: short strings with their length, small numbers as themselves, larger ones behind 0xcc and
  // 0xcd.
  const std::string map = std::string(
                              "\x7f"
                              "ELF....") +
                          "\xa7.symbol\xa8"
                          "first.kd\xaa.spill\x01\xab.vgpr_count\x1c" +
                          "\xa7.symbol\xa9second.kd\xab.vgpr_count\xcc\x80" +
                          "\xa7.symbol\xa8third.kd\xab.vgpr_count\xcd\x01\x02";
  CHECK(in_binary(map, "first") == 28);
  CHECK(in_binary(map, "second") == 128);
  CHECK(in_binary(map, "third") == 258);
  CHECK(in_binary(map, "fourth") == 0);
  CHECK(in_binary(map.substr(0, map.size() - 2), "third") == 0);
}

TEST_CASE("code object: Intel's zeinfo") {
  const std::string yaml =
      "version: '1.20'\nkernels:\n"
      "  - name:            first\n    execution_env:\n      grf_count:       128\n      simd_size:       "
      "32\n"
      "  - name:            'second'\n    execution_env:\n      grf_count:       256\n      simd_size:       "
      "16\n";
  CHECK(in_binary(yaml, "first", 2048) == 64);  // registers of 64 bytes
  CHECK(in_binary(yaml, "first", 1024) == 32);
  CHECK(in_binary(yaml, "second", 1024) == 128);
  CHECK(in_binary(yaml, "third") == 0);
  CHECK(in_binary("", "first") == 0);
}
