// What a compiler's log becomes: opened by the caller's own line, whatever log and source hold.
#include "runtime/build_log.hpp"

#include "support/failure.hpp"
#include "support/process.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

using smem::runtime::explained_log;
using test::contains;

namespace {

/// As plans wrap a predicate, three lines of a kernel below it.
const std::string kPreamble =
    "#define PREDICATE custom_select\n"
    "#line 1 \"custom.cl\"\n"
    "static inline int custom_select(float x) { return (\n"
    "#line 1 \"predicate.cl\"\n"
    "x <\n"
    "#line 2 \"custom.cl\"\n"
    ") != 0; }\n";
const std::string kKernel = "#line 1 \"select/cpu.cl\"\nkernel void k(global int* x) {\n  *x = nosuch;\n}\n";

std::string explained(const std::string& log) { return explained_log(log, kPreamble, kPreamble + kKernel); }

/// What stands above the log.
std::string head(const std::string& log, const std::string& preamble, const std::string& source) {
  const std::string all = explained_log(log, preamble, source);
  REQUIRE(all.ends_with(log));
  return all.substr(0, all.size() - log.size());
}

}  // namespace

TEST_CASE("build log: the line and the column that compilers name") {
  const std::string line = "select/cpu.cl:2:   *x = nosuch;\n",
                    caret = std::string(24, ' ') + "^ undeclared 'nosuch'\n";
  CHECK(head("select/cpu.cl:2:8: error: undeclared 'nosuch'", kPreamble, kPreamble + kKernel) ==
        line + caret);
  CHECK(head("error: select/cpu.cl:2:8: undeclared 'nosuch'", kPreamble, kPreamble + kKernel) ==
        line + caret);
  CHECK(head("3 warnings\n/tmp/select/cpu.cl:2: error: undeclared", kPreamble, kPreamble + kKernel) == line);
  CHECK(head("select/cpu.cl(2): error: undeclared", kPreamble, kPreamble + kKernel) == line);
  CHECK(head("<kernel>:10:8: error: undeclared 'nosuch'", kPreamble, kPreamble + kKernel) == line + caret);
}

TEST_CASE("build log: a function that the linker does not find is shown where the caller's text calls it") {
  const std::string preamble = "#line 1 \"expression.cl\"\nnosuch(C)\n#line 2 \"custom.cl\"\n";
  const std::string log = "(): Warning: inlined\nptxas fatal   : Unresolved extern function 'nosuch'";
  CHECK(head(log, preamble, preamble + kKernel) ==
        "expression.cl:1: nosuch(C)\n" + std::string(17, ' ') + "^ no such function\n");
  CHECK(explained_log("Unresolved extern function 'other'", preamble, preamble + kKernel) ==
        "Unresolved extern function 'other'");
}

TEST_CASE("build log: what is wrong with the end of the caller's text is shown there") {
  const std::string shown = "predicate.cl:1: x <\n" + std::string(19, ' ') + "^ expected expression\n";
  CHECK(head("custom.cl:2:1: error: expected expression", kPreamble, kPreamble + kKernel) == shown);
  CHECK(head("error: custom.cl:2:1: expected expression", kPreamble, kPreamble + kKernel) == shown);
  // Of two texts, the one before the place.
  const std::string two =
      "#line 1 \"custom.cl\"\n{\n#line 1 \"expression.cl\"\na + b\n#line 2 \"custom.cl\"\n}\n{ (\n"
      "#line 1 \"identity.cl\"\n0 +\n#line 4 \"custom.cl\"\n)}\n";
  CHECK(head("custom.cl:4:1: error: expected expression", two, two + kKernel)
            .starts_with("identity.cl:1: 0 +\n"));
  CHECK(head("<kernel>:11:1: error: expected expression", two, two + kKernel)
            .starts_with("identity.cl:1: 0 +\n"));
  CHECK(head("custom.cl:2:1: error: expected expression", two, two + kKernel)
            .starts_with("expression.cl:1: a + b\n"));
  CHECK(head("custom.cl:1:1: error: x", two, two + kKernel).starts_with("custom.cl:1: {\n"));
}

TEST_CASE("build log: an error in a macro is shown in the caller's expression") {
  const std::string preamble = "#line 1 \"expression.cl\"\n#define EXPRESSION (C +)\n";
  const std::string source = preamble + "#line 1 \"stencil/naive.cl\"\nint C = 2;\n*x = EXPRESSION;\n";
  const std::string shown = "expression.cl:1: C +\n" + std::string(20, ' ') + "^ expected expression\n";
  CHECK(head("error: stencil/naive.cl:2:6 <Spelling=expression.cl:1:24>: expected expression", preamble,
             source) == shown);
  CHECK(head("stencil/naive.cl:2:6: error: expected expression\n*x = EXPRESSION;\n"
             "expression.cl:1:24: note: expanded from macro 'EXPRESSION'",
             preamble, source) == shown);
  // Of a macro below it: the whole expression.
  CHECK(head("error: stencil/naive.cl:2:6 <Spelling=stencil/cells.clh:54:46>: array size is negative",
             preamble, source) == "expression.cl:1: C +\n                 ^ array size is negative\n");
}

TEST_CASE("build log: what is not understood leaves the log as it is") {
  for (const std::string log :
       {"", "error", "error:", "warning: select/cpu.cl:2:3: nothing", "error: 5:6", "error: a.cl:2",
        "error: (((:::", "error: nosuch.cl:2:1: x", "error: select/cpu.cl:0:1: x",
        "error: select/cpu.cl:77:1: x", "error: select/cpu.cl:99999999999999999999:1: x", "error: :1: x",
        "error: <kernel>:4:1: x"}) {
    CAPTURE(log);
    CHECK(explained(log) == log);
  }
}

TEST_CASE("build log: line directives of the caller") {
  const std::string log = "source.cl:2:1: error: x";
  for (const std::string text : {"#line FOO", "#line", "#line ", "#line \"",
                                 "#line 99999999999999999999 \"x\"", "#line -1", "#line 7 \"unended"}) {
    CAPTURE(text);
    const std::string source = "#line 1 \"source.cl\"\n" + text + "\nbad\n";
    CHECK(head(log, source, source).starts_with("source.cl:2: bad\n"));
  }
  std::string source = "#line 1 \"source.cl\"\n#line 40 \"mine.cl\"\nbad\n#line 7\nworse\n";
  CHECK(head("mine.cl:40:1: error: x", source, source).starts_with("mine.cl:40: bad\n"));
  CHECK(head("mine.cl:7:1: error: x", source, source).starts_with("mine.cl:7: worse\n"));
  const std::string name(100000, 'n');
  source = "#line 5 \"" + name + ".cl\"\nbad\n";
  CHECK(head(name + ".cl:5:1: error: x", source, source).starts_with(name + ".cl:5: bad\n"));
  CHECK(explained("error " + std::string(1000000, ':')).size() == 1000006);
}

TEST_CASE("build log: hostile line directives in kernels and expressions reach the caller as an Error") {
  const smem::Context context;
  for (const std::string& line :
       {std::string("#line FOO"), "#line 3 \"" + std::string(100000, 'n') + ".cl\""}) {
    const auto error = test::failure_of([&] {
      context.build(
          {.source = line + "\nkernel void k(global int* x) { *x = nosuch; }\n", .entry_point = "k"});
    });
    CHECK(error.operation == "Context::build");
    CHECK(error.argument == "source");
    CHECK(error.call == "clBuildProgram");
    CHECK_FALSE(error.build_log.empty());
  }
  const smem::Array<float> x(context, {1, 2});
  const auto error = test::failure_of(
      [&] { smem::reduce(context, x, smem::Reduction::custom("a + \n#line FOO\n b", "0")); });
  CHECK(error.argument == "expression");
  CHECK(contains(error.build_log, "line"));
}

TEST_CASE("build log: programs with warnings and with errors" * doctest::skip()) {
  const smem::Context context;
  std::printf("on the platform %s\n", context.device().platform.c_str());  // a message would show the name
  // Warnings of every compiler: a directive, an unused variable, a number that does not fit.
  context.build({.source = "#warning careful\nkernel void k(global char* x) { int unused; *x = 1000; }\n",
                 .entry_point = "k"});
  const auto error = test::failure_of([&] {
    context.build({.source = "kernel void k(global int* x) { *x = nosuch; }", .entry_point = "k"});
  });
  CHECK(contains(error.build_log, "nosuch"));
}

TEST_CASE("build log: compilers print nothing to the terminal") {
  const auto built_on = [](const std::string& device) {
    return test::run_child("build log: programs with warnings and with errors",
                           {{"SMEM_CACHE", "0"}, {"SMEM_DEVICE", device}});
  };
  const std::string device = smem::Context().device().name;
  test::Ended ended = built_on(device);
  if (contains(ended.output, "SMEM_DEVICE: expected")) {  // a GPU may be one process's alone
    MESSAGE("a child of this process does not see " << device << ": tested with the device that it sees");
    ended = built_on("");
  }
  CHECK_MESSAGE(ended.passed(), ended.output);
  if (!contains(ended.output, "on the platform Portable Computing Language")) {
    // How a driver counts errors is its own; warnings are off by the option that OpenCL has for it.
    CHECK_FALSE_MESSAGE(contains(ended.output, "warning"), ended.output);
    return;
  }
  CHECK_FALSE_MESSAGE(contains(ended.output, "generated"), ended.output);
}
