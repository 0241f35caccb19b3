// Random damage to whatever smem parses: it is refused or understood, and nothing crashes, hangs or throws
// something else. SMEM_FUZZ_SECONDS makes it longer.
#include "runtime/build_log.hpp"
#include "runtime/disk_cache.hpp"
#include "runtime/retarget.hpp"
#include "runtime/tuning_file.hpp"

#include "support/folder.hpp"
#include "support/random.hpp"
#include "support/targets.hpp"
#include "support/tuning_folder.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeast = 128;  // inputs, also where the machine is busy

/// A share of the time that all parsers have.
double seconds_each() {
  const char* all = std::getenv("SMEM_FUZZ_SECONDS");
  return (all == nullptr ? 1.2 : std::atof(all)) / 5;
}

/// Damages texts: bits, bytes, parts that move, repeat, go or come from another text, and words that parsers
/// look for.
class Damage {
 public:
  Damage(std::uint64_t stream, std::vector<std::string> seeds, std::vector<std::string> words)
      : random_(stream), seeds_(std::move(seeds)), words_(std::move(words)) {}

  std::string next() {
    std::string text = pick(seeds_);
    for (std::size_t left = random_.between(1, 6); left > 0; --left)
      change(text);
    return text;
  }

 private:
  static constexpr std::size_t kMost = 20000;

  const std::string& pick(const std::vector<std::string>& list) {
    return list[random_.between(0, list.size() - 1)];
  }
  std::size_t place_in(const std::string& text) { return random_.between(0, text.size()); }

  void change(std::string& text) {
    const std::size_t at = place_in(text);
    switch (random_.between(0, 7)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random_.between(0, 7)));
        break;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(random_.next());
        break;
      case 2:
        text.erase(at, random_.between(1, 20));
        break;
      case 3:
        text.insert(at, pick(words_));
        break;
      case 4:  // a part twice, or many times
        for (std::size_t times = random_.chance(4) ? random_.between(1, 200) : 1;
             times > 0 && text.size() < kMost; --times)
          text.insert(at, text.substr(at, random_.between(1, 40)));
        break;
      case 5:
        text.resize(at);
        break;
      case 6: {
        const std::string& other = pick(seeds_);
        text = text.substr(0, at) + other.substr(place_in(other));
        break;
      }
      default:
        text.replace(at, std::min<std::size_t>(text.size() - at, random_.between(1, 8)), pick(words_));
    }
  }

  test::Random random_;
  std::vector<std::string> seeds_;
  std::vector<std::string> words_;
};

/// Calls `parse` with one damaged text after the other.
template <class Parse>
void attack(Damage damage, const Parse& parse) {
  const auto start = Clock::now();
  std::size_t count = 0;
  while (count < kLeast || std::chrono::duration<double>(Clock::now() - start).count() < seconds_each()) {
    for (int i = 0; i < 16; ++i, ++count) {
      const std::string text = damage.next();
      try {
        parse(text);
      } catch (const smem::Error&) {  // NOLINT(bugprone-empty-catch): refused
      } catch (const std::exception& error) {
        FAIL_CHECK(error.what() << " of input " << count << ":\n" << text);
        return;
      }
    }
  }
  MESSAGE("seed " << test::seed() << ", " << count << " inputs");
}

const std::vector<std::string> kJsonWords{"{",
                                          "}",
                                          "[",
                                          "]",
                                          ",",
                                          ":",
                                          "\"",
                                          "\\",
                                          "\\u0000",
                                          "\\ud800",
                                          "null",
                                          "true",
                                          "1e999",
                                          "-1",
                                          "0",
                                          "1.5",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "4611686018427387904",
                                          "4294967295",
                                          "\xff",
                                          std::string(1, '\0'),
                                          std::string(500, '['),
                                          "\"unit\":{"};

}  // namespace

TEST_CASE("hostile text: facts of devices") {
  std::vector<std::string> seeds{"{}"};
  for (const smem::Device& device : test::all_targets())
    seeds.push_back(smem::to_json(device));
  attack(Damage(1, seeds, kJsonWords), [](const std::string& text) {
    const smem::Device device = smem::device_from_json(text);
    if (smem::device_from_json(smem::to_json(device)) != device) throw std::runtime_error("another device");
  });
}

TEST_CASE("hostile text: tuning files") {
  const test::TuningFolder folder;
  const smem::Device device = test::target("sm_90");
  smem::TuningEntry entry{
      smem::tuning_class(smem::TransposeProblem{.element_bytes = 4, .rows = 70, .cols = 130}),
      {.variant = "padded", .tile_rows = 16},
      1.25,
      1e-4,
      "cpu",
      "2026-11-22"};
  smem::store_tuning(device, {entry});
  const std::string text = test::text_of(smem::tuning_file(device));
  REQUIRE(smem::runtime::tuning_entries_in(text, device).size() == 1);
  std::vector<std::string> words = kJsonWords;
  words.insert(words.end(),
               {"padded:", "swizzled:18446744073709551615", "padded:99999999999", "entries", "extents"});
  attack(Damage(2, {text}, words), [&](const std::string& damaged) {
    for (const smem::TuningEntry& found : smem::runtime::tuning_entries_in(damaged, device)) {
      if (!(found.gain > 0 && found.seconds > 0)) throw std::runtime_error("an entry out of range");
      const smem::TransposeProblem problem{.element_bytes = 4, .rows = 70, .cols = 130};
      smem::plan_transpose(device, problem, found.overrides);
    }
  });
}

TEST_CASE("hostile text: entries of the disk cache") {
  const test::Folder folder;
  const smem::runtime::DiskCache cache(folder.path(), 1 << 20);
  const std::string key = "source=a.cl 0\noptions=\n";
  REQUIRE(cache.store(key, {1, 2, 3, 4}));
  const std::string file = test::text_of(test::files_in(folder.path()).front());
  REQUIRE(smem::runtime::content_of_entry(file, key));
  const std::vector<std::string> words{key, "smembin1", std::string(8, '\xff'), std::string(8, '\0')};
  attack(Damage(3, {file}, words), [&](const std::string& damaged) {
    const auto content = smem::runtime::content_of_entry(damaged, key);
    if (content && damaged != file) throw std::runtime_error("a damaged entry was taken");
    (void)smem::runtime::content_of_entry(damaged, damaged);
  });
}

TEST_CASE("hostile text: logs of compilers, with sources of any kind") {
  const std::string preamble =
      "#line 1 \"custom.cl\"\nint f(int x) { return (\n#line 1 \"predicate.cl\"\nx <\n"
      "#line 1 \"custom.cl\"\n) != 0; }\n";
  const std::string source = preamble + "#line 1 \"select/cpu.cl\"\n#define M (f)\nkernel void k() { M; }\n";
  const std::vector<std::string> seeds{
      source, "error: custom.cl:1:1: expected expression\n",
      "select/cpu.cl:2:19: error: no\nselect/cpu.cl:1:12: note: expanded from macro 'M'\n",
      "error: select/cpu.cl:2:7 <Spelling=predicate.cl:1:24>: expected expression\n",
      "select/cpu.cl(2): error: x\n"};
  const std::vector<std::string> words{"#line ",
                                       "\n",
                                       "error",
                                       ":",
                                       "(",
                                       "\"",
                                       "custom.cl",
                                       "18446744073709551616",
                                       "<",
                                       " <Spelling=",
                                       "#define X (",
                                       ")",
                                       ".cl",
                                       std::string(3000, ':'),
                                       std::string(1, '\0')};
  std::string last = source;
  attack(Damage(4, seeds, words), [&](const std::string& text) {
    const std::string_view whole(last);
    for (const std::string_view own : {std::string_view(), whole.substr(0, whole.size() / 2), whole})
      if (!smem::runtime::explained_log(text, own, last).ends_with(text)) throw std::runtime_error("no log");
    last = text;  // this one's source is the next one's
  });
}

TEST_CASE("hostile text: binaries to be retargeted") {
  const std::vector<std::string> seeds{
      ".version 9.0\n.target sm_90, debug\n.entry k()\n{\n\t//@wgmma.fence;\n\tret;\n}\n"};
  const std::vector<std::string> words{".target ", ".version ",          "//@", "\n", "sm_90",
                                       "sm_90a",   std::string(1, '\0'), ","};
  attack(Damage(5, seeds, words), [](const std::string& text) {
    const auto made = smem::runtime::retarget(text, "sm_90a");
    if (made && made->size() > text.size() + 1) throw std::runtime_error("grew");
  });
}
