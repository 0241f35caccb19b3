#include "runtime/programs.hpp"
#include "formatted.hpp"

#include "runtime/build_log.hpp"
#include "runtime/code_object.hpp"
#include "runtime/environment.hpp"
#include "runtime/retarget.hpp"
#include "runtime/sources.hpp"
#include "runtime/status.hpp"
#include "runtime/trace.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <optional>
#include <utility>

namespace smem::runtime {

namespace {

/// What a plan's program is built from.
std::string source_of(const Launch& plan) {
  return plan.kernel_file.empty() ? plan.preamble : plan.preamble + kernel_source(plan.kernel_file);
}

std::string build_log(cl_program program, cl_device_id device) {
  std::size_t size = 0;
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) != CL_SUCCESS)
    return {};
  std::string log(size, '\0');
  if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) != CL_SUCCESS)
    return {};
  log.resize(log.find_last_not_of(std::string("\0\n ", 3)) + 1);
  return log;
}

/// Whether a compiler's log names a line with an error ("<source>:3:5: error: …").
bool names_a_line(const std::string& log) {
  for (std::size_t at = log.find(": error"); at != std::string::npos; at = log.find(": error", at + 1))
    if (at > 0 && log[at - 1] >= '0' && log[at - 1] <= '9') return true;
  return false;
}

/// Clang, which is in most drivers, prints how many warnings and errors there were to the error stream of the
/// process, even where the log is read ("1 error generated."); without warnings it counts none. PoCL keeps
/// errors to itself only without carets, an option of Clang that it does not let pass; but it parts options
/// at blanks when it checks them, and at tabs too when it hands them on. NVIDIA's (580.159) refuses that
/// option, and does not part at tabs, line feeds or other white space.
std::string quiet_options(const std::string& platform) {
  const bool is_pocl = platform.find("Portable Computing Language") != std::string::npos;
  return is_pocl ? " -w -DSMEM_QUIET=1\t-fno-caret-diagnostics" : " -w";
}

/// What the disk cache holds of a program whose target the driver refused.
const std::vector<unsigned char> kRefused{'r', 'e', 'f', 'u', 's', 'e', 'd'};

/// One line on the error stream for each build or load, when SMEM_TRACE is set.
class Trace {
 public:
  explicit Trace(std::string what) : what_(std::move(what)) {}
  void done(const char* how) const {
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
    trace(formatted("{} {} in {:.1f} ms", what_, how, took.count()));
  }

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Program::Program(cl::Program program, std::string entry_point, std::string name)
    : program_(std::move(program)), entry_point_(std::move(entry_point)), name_(std::move(name)) {
  idle_.push_back(take());  // a missing entry point shows here
}

Program::~Program() {
  for (const Object& object : idle_)
    clReleaseKernel(object.kernel);
}

Program::Object Program::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      Object object = std::move(idle_.back());
      idle_.pop_back();
      return object;
    }
  }
  cl_int status = CL_SUCCESS;
  Object object;
  object.kernel = clCreateKernel(program_(), entry_point_.c_str(), &status);
  check(status, "clCreateKernel", name_.c_str());
  return object;
}

void Program::give_back(Object object) {
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(object));
}

void Program::remember_first_run(const cl::Event& event) {
  const std::scoped_lock lock(mutex_);
  if (first_run_() == nullptr) first_run_ = event;
  awaits_first_run_ = false;
}

bool Program::first_run_completed() {
  const std::scoped_lock lock(mutex_);
  if (first_run_() == nullptr) return false;
  cl_int state = CL_QUEUED;
  return clGetEventInfo(first_run_(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr) ==
             CL_SUCCESS &&
         state == CL_COMPLETE;
}

std::string device_key(const Device& device) {
  return formatted("device={}\nvendor={}\nplatform={} {}\ndriver={}\n", device.name, device.vendor_name,
                   device.platform, device.platform_version, device.driver);
}

Programs::Programs(cl::Context context, cl_device_id id, const Device& device)
    : context_(std::move(context)),
      id_(id),
      device_name_(device.name),
      vendor_(device.vendor),
      register_lot_(device.unit.register_lot),
      quiet_(quiet_options(device.platform)),
      device_key_(runtime::device_key(device)),
      disk_(DiskCache::from_environment()) {}

std::shared_ptr<Program> Programs::get(const Launch& plan) {
  std::shared_ptr<Program> program = find(plan);
  if (program) return program;
  ErrorDetails details;
  details.operation = plan.operation;
  details.argument = plan.kernel_file;
  details.expected = formatted("a driver that takes programs for {}", plan.target);
  details.device = device_name_;
  throw Error(std::move(details));
}

std::shared_ptr<Program> Programs::find(const Launch& plan) {
  const std::string options = plan.build_options();
  std::shared_ptr<Entry> entry;
  {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Entry>& slot = entries_[formatted("{}\n{}\n{}\n{}\n{}", plan.kernel_file,
                                                      plan.entry_point, plan.target, options, plan.preamble)];
    if (!slot) slot = std::make_shared<Entry>();
    entry = slot;
  }
  const std::scoped_lock lock(entry->building);  // other programs can be built meanwhile
  if (entry->program || entry->is_refused) {
    ++found_;
  } else {
    entry->program = make(plan, options);
    entry->is_refused = entry->program == nullptr;
  }
  return entry->program;
}

namespace {

/// Where kernels are read from a folder, the entry point may be missing.
std::shared_ptr<Program> with_entry_point(const cl::Program& program, const Launch& plan,
                                          const std::string& name) {
  try {
    return std::make_shared<Program>(program, plan.entry_point, name);
  } catch (const Error& error) {
    ErrorDetails details = error.details();
    details.operation = plan.operation;
    details.argument = plan.kernel_file;
    details.expected = formatted("a kernel of the name \"{}\"", plan.entry_point);
    const std::string folder = environment("SMEM_KERNEL_DIR");
    details.got = folder.empty() ? "none" : formatted("none in \"{}/{}\"", folder, plan.kernel_file);
    throw Error(std::move(details));
  }
}

}  // namespace

std::shared_ptr<Program> Programs::make(const Launch& plan, const std::string& options) {
  const std::string name = formatted("{}/{}", plan.operation, plan.variant);
  const std::string source = source_of(plan);
  const XXH128_hash_t hash = XXH3_128bits(source.data(), source.size());
  const std::string key =
      formatted("source={} {:016x}{:016x}\noptions={}\n{}{}", plan.kernel_file, hash.high64, hash.low64,
                options, plan.target.empty() ? "" : formatted("target={}\n", plan.target), device_key_);
  const Trace trace(formatted("{} ({} {})", name, plan.kernel_file, options));
  bool is_refused = false;
  if (cl::Program program = load(key, options, is_refused); program() != nullptr) {
    try {
      auto loaded = std::make_shared<Program>(std::move(program), plan.entry_point, name);
      ++loaded_;
      trace.done("loaded from disk");
      return loaded;
    } catch (const Error&) {  // the driver took the binary, but there is no such kernel in it
      ++failures_;
      disk_.remove(key);
    }
  }
  if (is_refused) {
    ++loaded_;
    trace.done("known to be refused");
    return nullptr;
  }
  cl::Program program =
      plan.target.empty() ? build(plan, source, options) : build_for_target(plan, source, options);
  if (program() == nullptr) {
    trace.done("refused by the driver");
    if (disk_.enabled() && builds_anything() && !disk_.store(key, kRefused)) ++failures_;
    return nullptr;
  }
  ++built_;
  std::shared_ptr<Program> built = with_entry_point(program, plan, name);
  trace.done("built from source");
  if (disk_.enabled()) {
    built->await_first_run();
    const std::scoped_lock lock(unstored_mutex_);
    unstored_.push_back({key, built});
  }
  return built;
}

cl::Program Programs::load(const std::string& key, const std::string& options, bool& is_refused) {
  const DiskCache::Lookup entry = disk_.load(key);
  if (entry.outcome == DiskCache::Outcome::damaged) ++failures_;
  if (entry.outcome != DiskCache::Outcome::found) return {};
  is_refused = entry.content == kRefused;
  if (is_refused) return {};
  cl::Program program = from_binary(entry.content.data(), entry.content.size(), options);
  if (program() == nullptr) {
    ++failures_;
    disk_.remove(key);
  }
  return program;
}

/// Whether the driver still builds: not where a fault has stopped its context, which says nothing of a
/// program.
bool Programs::builds_anything() {
  const char* text = "kernel void nothing(void) {}";
  cl_int status = CL_SUCCESS;
  const cl::Program program(clCreateProgramWithSource(context_(), 1, &text, nullptr, &status));
  return status == CL_SUCCESS && clBuildProgram(program(), 1, &id_, "", nullptr, nullptr) == CL_SUCCESS;
}

/// Empty when the driver refuses it.
cl::Program Programs::from_binary(const unsigned char* content, std::size_t bytes,
                                  const std::string& options) {
  cl_int of_binary = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  cl::Program program(clCreateProgramWithBinary(context_(), 1, &id_, &bytes, &content, &of_binary, &status));
  if (status == CL_SUCCESS && of_binary == CL_SUCCESS &&
      clBuildProgram(program(), 1, &id_, options.c_str(), nullptr, nullptr) == CL_SUCCESS) {
    return program;
  }
  return {};
}

/// Empty when the driver refuses any step.
cl::Program Programs::build_for_target(const Launch& plan, const std::string& source,
                                       const std::string& options) {
  cl::Program program;
  try {
    program = build(plan, source, options);
  } catch (const Error&) {  // a compiler that is older than the instructions
    return {};
  }
  const std::vector<unsigned char> binary = binary_of(program());
  const std::optional<std::string> text =
      retarget({reinterpret_cast<const char*>(binary.data()), binary.size()}, plan.target);
  if (!text) return {};
  return from_binary(reinterpret_cast<const unsigned char*>(text->data()), text->size(), options);
}

cl::Program Programs::build(const Launch& plan, const std::string& source, const std::string& options) {
  const char* text = source.data();
  const std::size_t length = source.size();
  cl::Program program;
  const auto compile = [&] {
    cl_int status = CL_SUCCESS;
    program = cl::Program(clCreateProgramWithSource(context_(), 1, &text, &length, &status));
    check(status, "clCreateProgramWithSource", plan.operation.c_str());
    status = clBuildProgram(program(), 1, &id_, (options + quiet_).c_str(), nullptr, nullptr);
    if (status != CL_INVALID_BUILD_OPTIONS) return status;
    return clBuildProgram(program(), 1, &id_, options.c_str(), nullptr, nullptr);
  };
  cl_int status = compile();
  // Once more where no line is to blame: of some hundred processes that shared a cache, two had PoCL
  // (3.1, 5.0) fail at one program ("Device failed to build the program"), which it built in the next
  // process.
  if (status == CL_BUILD_PROGRAM_FAILURE && !names_a_line(build_log(program(), id_))) status = compile();
  if (status != CL_SUCCESS) {
    ErrorDetails details;
    details.operation = plan.operation;
    details.argument = plan.kernel_file;
    details.expected = formatted("a kernel that compiles with {}", options);
    details.device = device_name_;
    details.code = status;
    details.call = "clBuildProgram";
    details.build_log = explained_log(build_log(program(), id_), plan.preamble, source);
    throw Error(std::move(details));
  }
  return program;
}

void Programs::store_what_has_run() {
  std::vector<Unstored> ready;
  {
    const std::scoped_lock lock(unstored_mutex_);
    std::erase_if(unstored_, [&](Unstored& candidate) {
      if (!candidate.program->first_run_completed()) return false;
      ready.push_back(std::move(candidate));
      return true;
    });
  }
  for (const Unstored& program : ready)
    store(program.key, *program.program);
}

/// Empty when the driver has none.
std::vector<unsigned char> Programs::binary_of(cl_program program) const {
  // An adopted context may hold several devices; the program was built for one, the others have no binary.
  cl_uint count = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof count, &count, nullptr) != CL_SUCCESS)
    return {};
  std::vector<cl_device_id> ids(count);
  std::vector<std::size_t> sizes(count);
  if (clGetProgramInfo(program, CL_PROGRAM_DEVICES, count * sizeof(cl_device_id), ids.data(), nullptr) !=
          CL_SUCCESS ||
      clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, count * sizeof(std::size_t), sizes.data(),
                       nullptr) != CL_SUCCESS) {
    return {};
  }
  std::vector<std::vector<unsigned char>> binaries(count);
  std::vector<unsigned char*> places(count);
  std::size_t mine = count;
  for (std::size_t i = 0; i < count; ++i) {
    binaries[i].resize(sizes[i]);
    places[i] = sizes[i] == 0 ? nullptr : binaries[i].data();
    if (ids[i] == id_) mine = i;
  }
  if (mine == count || clGetProgramInfo(program, CL_PROGRAM_BINARIES, count * sizeof(unsigned char*),
                                        places.data(), nullptr) != CL_SUCCESS) {
    return {};
  }
  return std::move(binaries[mine]);
}

void Programs::store(const std::string& key, const Program& program) {
  const std::vector<unsigned char> binary = binary_of(program.get());
  if (binary.empty() || !disk_.store(key, binary)) {
    ++failures_;
    return;
  }
  ++stored_;
}

std::size_t Programs::registers(const Launch& plan) {
  const bool verbose = vendor_ == Vendor::nvidia;
  const std::string options = plan.build_options() + (verbose ? " -cl-nv-verbose" : "");
  const cl::Program program = plan.target.empty() ? build(plan, source_of(plan), options)
                                                  : build_for_target(plan, source_of(plan), options);
  if (program() == nullptr) return 0;
  if (verbose) return registers_in_log(build_log(program(), id_), plan.entry_point);
  return registers_in_binary(binary_of(program()), plan.entry_point, register_lot_);
}

CacheStatistics Programs::statistics() const {
  return {.built_from_source = built_,
          .loaded_from_disk = loaded_,
          .found_in_memory = found_,
          .stored_on_disk = stored_,
          .disk_failures = failures_};
}

}  // namespace smem::runtime
