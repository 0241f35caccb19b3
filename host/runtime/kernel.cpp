// Kernels of the caller's own.
#include <smem/kernel.hpp>

#include "formatted.hpp"
#include "plan/sizes.hpp"
#include "runtime/runtime.hpp"
#include "runtime/sources.hpp"
#include "runtime/status.hpp"

#include <smem/error.hpp>
#include <smem/sizes.hpp>

#include <algorithm>
#include <string>

namespace smem {

using plan::refuse;

namespace {

/// An expression after -D ends at the first blank, and other options may follow; all options end at a NUL.
bool is_word(const std::string& text) {
  constexpr char kEnds[] = " \t\n\r\"'\\";  // and NUL
  return !text.empty() && text.find_first_of(kEnds, 0, sizeof kEnds) == std::string::npos;
}

Plan plan_of(const KernelSource& source) {
  if (source.entry_point.empty()) refuse("Context::build", "entry_point", "a kernel's name", "nothing");
  const auto require_words = [](const char* argument, const auto& defines) {
    for (const auto& [name, value] : defines) {
      if (!is_word(name))
        refuse("Context::build", argument, "names without blanks", formatted("\"{}\"", name));
    }
  };
  require_words("defines", source.defines);
  require_words("text_defines", source.text_defines);
  for (const auto& [name, value] : source.text_defines) {
    if (!is_word(value))
      refuse("Context::build", "text_defines", "values of one word", formatted("\"{}\" for {}", value, name));
  }
  if (!is_word(source.language)) {
    refuse("Context::build", "language", "as -cl-std= takes it, e.g. CL1.2",
           formatted("\"{}\"", source.language));
  }
  Plan plan;
  plan.operation = "Context::build";
  plan.variant = plan.entry_point = source.entry_point;
  plan.defines = source.defines;
  plan.text_defines = source.text_defines;
  plan.language = source.language;
  try {
    plan.preamble = runtime::with_includes(source.source, "source.cl");
  } catch (const Error& error) {
    if (error.details().argument != "kernel file") throw;
    refuse("Context::build", "source", "includes of smem's building blocks, e.g. \"common/tile.clh\"",
           formatted("#include \"{}\"", error.details().got));
  }
  return plan;
}

}  // namespace

Kernel Context::build(const KernelSource& source) const {
  try {
    const Plan plan = plan_of(source);
    return {*this, runtime().programs().get(plan), source.entry_point};
  } catch (const Error& error) {
    ErrorDetails details = error.details();
    if (details.call == "clCreateKernel") {
      details.argument = "entry_point";
      details.expected = "the name of a kernel of the source";
      details.got = formatted("\"{}\"", source.entry_point);
    } else if (details.call == "clBuildProgram") {
      details.argument = "source";
    } else {
      throw;
    }
    details.operation = "Context::build";
    throw Error(std::move(details));
  }
}

Kernel::Kernel(Context context, std::shared_ptr<runtime::Program> program, std::string entry_point)
    : context_(std::move(context)), program_(std::move(program)), entry_point_(std::move(entry_point)) {}

std::size_t Kernel::max_work_group() const {
  const cl_device_id device = context_.runtime("Kernel").id();
  const runtime::Program::Kernel kernel(*program_);
  std::size_t most = 0;
  runtime::check(
      clGetKernelWorkGroupInfo(kernel.get(), device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, nullptr),
      "clGetKernelWorkGroupInfo", "Kernel::max_work_group");
  return std::min(most, context_.device().max_work_group);
}

cl::Event Kernel::launch(const LaunchSize& size, std::span<const cl::Event> wait_for,
                         std::span<const Argument> arguments) const {
  runtime::Runtime& runtime = context_.runtime("Kernel");
  const std::string operation = formatted("Kernel({})", entry_point_);
  for (std::size_t d = 0; d < 3; ++d) {
    if (size.work_group[d] == 0 || size.global[d] % size.work_group[d] != 0) {
      refuse(operation, "size",
             formatted("a multiple of the work-group's {} in dimension {}", size.work_group[d], d),
             formatted("{}", size.global[d]));
    }
  }
  runtime.check_events(operation.c_str(), wait_for);
  const std::size_t room = runtime.device().local_bytes;
  const runtime::Program::Kernel kernel(*program_);
  cl_uint count = 0;
  runtime::check(clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof count, &count, nullptr),
                 "clGetKernelInfo", operation.c_str());
  if (count != arguments.size())
    refuse(operation, "arguments", formatted("{}", count), formatted("{}", arguments.size()));
  cl_uint index = 0;
  std::size_t local = 0;
  for (const Argument& argument : arguments) {
    const bool is_local = argument.value == nullptr;
    if (is_local) {  // LocalBytes: some drivers abort where there are too many
      local = detail::size_sum(local, argument.bytes);
      if (local > room) {
        refuse(operation, formatted("argument {}", index),
               formatted("at most {} bytes of local memory in all", room), formatted("{}", local));
      }
    }
    if (argument.is_memory && !is_local) {
      const cl_mem memory = *static_cast<const cl_mem*>(argument.value);
      if (memory != nullptr) {  // else a null pointer to the kernel
        runtime::require_context(runtime.context()(), operation.c_str(), formatted("argument {}", index),
                                 memory);
      }
    }
    const cl_int status =
        clSetKernelArg(kernel.get(), index,
                       is_local ? std::max<std::size_t>(argument.bytes, 1) : argument.bytes, argument.value);
    if (status != CL_SUCCESS) {
      throw Error({.operation = operation,
                   .argument = formatted("argument {}", index),
                   .expected = "a value of the parameter's type",
                   .got = formatted("{} bytes", argument.bytes),
                   .device = context_.device().name,
                   .code = status,
                   .call = "clSetKernelArg"});
    }
    ++index;
  }
  // A launch of no work-items is none.
  if (size.global[0] == 0 || size.global[1] == 0 || size.global[2] == 0) return runtime.marker(wait_for);
  Plan plan;
  plan.operation = operation;
  plan.global = size.global;
  plan.work_group = size.work_group;
  cl::Event event;
  try {
    event = runtime.enqueue(kernel.get(), plan, wait_for);
  } catch (const Error& error) {
    ErrorDetails details = error.details();
    if (details.code != CL_INVALID_WORK_GROUP_SIZE && details.code != CL_INVALID_WORK_ITEM_SIZE) throw;
    details.argument = "size";
    details.expected = formatted("at most {} work-items in a work-group", max_work_group());
    details.got = formatted("{} x {} x {}", size.work_group[0], size.work_group[1], size.work_group[2]);
    throw Error(std::move(details));
  }
  program_->launched(event);
  return event;
}

}  // namespace smem
