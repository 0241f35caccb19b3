// Starts and ends StarPU, and runs tasks on contexts.
#include "distributed/engine.hpp"

#include "distributed/handles.hpp"
#include "distributed/transport.hpp"

#include <starpu_opencl.h>
#include <starpu_scheduler.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
// Of a device's memory StarPU has so much; the rest is for work areas of kernels, which it does not count.
constexpr double kStarpuShare = 0.75;

/// Sets variables of the environment that the user has not set, while StarPU starts, which reads them then.
class Defaults {
 public:
  ~Defaults() {
    for (const std::string& name : set_)
      unsetenv(name.c_str());
  }
  void set(const std::string& name, const std::string& value) {
    if (std::getenv(name.c_str()) != nullptr) return;
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

 private:
  std::vector<std::string> set_;
};

/// The OpenCL devices of this machine, in StarPU's order, of the types.
std::vector<cl_device_id> devices_of(cl_device_type types) {
  cl_uint platforms = 0;
  if (clGetPlatformIDs(0, nullptr, &platforms) != CL_SUCCESS || platforms == 0) return {};
  std::vector<cl_platform_id> ids(platforms);
  if (clGetPlatformIDs(platforms, ids.data(), nullptr) != CL_SUCCESS) return {};
  std::vector<cl_device_id> all;
  for (cl_platform_id id : ids) {
    cl_uint count = 0;
    if (clGetDeviceIDs(id, types, 0, nullptr, &count) != CL_SUCCESS || count == 0) continue;
    std::vector<cl_device_id> of_platform(count);
    if (clGetDeviceIDs(id, types, count, of_platform.data(), nullptr) != CL_SUCCESS) continue;
    all.insert(all.end(), of_platform.begin(), of_platform.end());
  }
  return all;
}

template <class Value>
Value info_of(cl_device_id device, cl_device_info what) {
  Value value{};
  clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

bool workers_rest = false;  // there is one StarPU

/// Turns of a worker's loop since it had a task, or of a thread's since it began to wait.
thread_local unsigned turns_without_task = 0;

/// StarPU's workers call it in every turn of their loops, and so does a thread that waits for data. Where
/// cores are short, a worker that has had no task for some turns sleeps, and such a thread does at once, so
/// that the others, and a device that is these cores, get on. After a millisecond sleeps become longer, up to
/// a quarter of one: what ends soon is seen soon, and what takes long loses little. (Four ranks on two cores:
/// a sum of 1000 numbers 1.1 ms; with 100 us at once 1.5. A worker that stays awake after each rest starves
/// them.)
unsigned sleep_without_task(void*) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned kAwake = 30, kBrief = kAwake + 20;
  thread_local Clock::time_point slept;
  // It has not waited since: a worker that rested between two calls, or a thread that begins to wait.
  if (Clock::now() - slept > std::chrono::microseconds(500) &&
      (turns_without_task > kAwake || starpu_worker_get_id() < 0)) {
    turns_without_task = kAwake;
  }
  if (++turns_without_task > kAwake) {
    const unsigned longer = std::max(turns_without_task, kBrief) - kBrief;
    sleep_briefly(std::chrono::microseconds(50 + std::min(10 * longer, 200u)));
    slept = Clock::now();
  }
  return 1;
}

}  // namespace

void wake_workers() {
  if (std::exchange(workers_rest, false)) starpu_resume();
}

void rest_workers() {
  if (!std::exchange(workers_rest, true)) starpu_pause();
}

/// What StarPU knows of the tasks of one name.
struct Engine::Codelet {
  std::string name, symbol;
  starpu_perfmodel model = {};
  starpu_codelet codelet = {};

  explicit Codelet(std::string task) : name(std::move(task)), symbol("smem_" + name) {
    model.type = STARPU_HISTORY_BASED;
    model.symbol = symbol.c_str();
    codelet.where = STARPU_OPENCL;
    codelet.opencl_funcs[0] = &Engine::run;
    codelet.opencl_flags[0] = STARPU_OPENCL_ASYNC;
    codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
    codelet.model = &model;
    codelet.name = name.c_str();
  }
};

struct Engine::Work {
  Engine* engine;
  std::string name;
  std::vector<Handle> handles;
  Session::Body body;
};

Engine::Engine() = default;
Engine::~Engine() { stop(); }

bool Engine::choose_devices(starpu_conf& conf, int local_rank, int local_ranks) {
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const auto mine = static_cast<std::size_t>(local_rank), ranks = static_cast<std::size_t>(local_ranks);
  // Ranks whose devices are this machine's cores share them. PoCL reads it when it is first asked.
  const std::string share = std::to_string(std::max<std::size_t>(1, cores / ranks));
  for (const char* name : {"POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"})
    if (ranks > 1) setenv(name, share.c_str(), 0);

  constexpr cl_device_type kFast = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
  std::vector<cl_device_id> devices = devices_of(kFast);
  if (devices.empty()) setenv("STARPU_OPENCL_ON_CPUS", "1", 0);
  if (const char* cpus = std::getenv("STARPU_OPENCL_ON_CPUS"); cpus != nullptr && std::atoi(cpus) > 0)
    devices = devices_of(kFast | CL_DEVICE_TYPE_CPU);
  if (devices.size() > STARPU_MAXOPENCLDEVS) devices.resize(STARPU_MAXOPENCLDEVS);
  if (devices.empty()) return false;
  std::vector<std::size_t> taken;
  if (devices.size() < ranks) {
    taken.push_back(mine % devices.size());
  } else {
    for (std::size_t device = mine; device < devices.size(); device += ranks)
      taken.push_back(device);
  }
  conf.use_explicit_workers_opencl_gpuid = 1;
  conf.nopencl = 0;
  bool is_cpu = false;
  for (const std::size_t device : taken) {
    conf.workers_opencl_gpuid[conf.nopencl++] = static_cast<unsigned>(device);
    is_cpu = is_cpu || (info_of<cl_device_type>(devices[device], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  }
  Pause::set_cores_are_short(is_cpu || ranks * (1 + taken.size()) > cores);
  return true;
}

void Engine::start(const SessionOptions& options, int local_rank, int local_ranks) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 0;
  conf.ncuda = 0;
  conf.catch_signals = 0;
  if (!choose_devices(conf, local_rank, local_ranks)) {
    fail({.operation = kSession, .expected = "an OpenCL device", .got = "none"});
    return;
  }
  Defaults defaults;
  // StarPU's use of cores is disabled: its workers only drive devices.
  defaults.set("STARPU_WORKERS_NOBIND", "1");
  defaults.set("STARPU_SILENT", "1");
  // Else an idle worker copies a part of what it has written to main memory, so that it could be evicted
  // sooner: a sort of two devices waited 10 ms for such a copy of 541 MB. What does not fit is evicted then.
  defaults.set("STARPU_MINIMUM_CLEAN_BUFFERS", "0");
  defaults.set("STARPU_TARGET_CLEAN_BUFFERS", "0");
  if (Pause::cores_are_short()) {
    // A worker waits in the driver for a kernel and for a copy, instead of asking again and again whether
    // they have ended.
    defaults.set("STARPU_OPENCL_PIPELINE", "0");
    defaults.set("STARPU_DISABLE_ASYNCHRONOUS_OPENCL_COPY", "1");
  }
  constexpr cl_device_type kAll = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR | CL_DEVICE_TYPE_CPU;
  const char* on_cpus = std::getenv("STARPU_OPENCL_ON_CPUS");
  const std::vector<cl_device_id> all = devices_of(
      on_cpus != nullptr && std::atoi(on_cpus) > 0 ? kAll : CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR);
  for (int i = 0; i < conf.nopencl; ++i) {
    const unsigned device = conf.workers_opencl_gpuid[i];
    std::size_t bytes = info_of<cl_ulong>(all.at(device), CL_DEVICE_GLOBAL_MEM_SIZE);
    if (options.device_bytes != 0) bytes = std::min(bytes, options.device_bytes);
    const auto share = static_cast<std::size_t>(static_cast<double>(bytes) * kStarpuShare);
    defaults.set("STARPU_LIMIT_OPENCL_" + std::to_string(device) + "_MEM",
                 std::to_string(std::max<std::size_t>(share / kMiB, 1)));
  }

  const char* from_user = std::getenv("STARPU_SCHED");
  const std::string scheduler = from_user != nullptr         ? from_user
                                : !options.scheduler.empty() ? options.scheduler
                                : conf.nopencl > 1           ? "lws"
                                                             : "eager";
  homes_count_ = from_user == nullptr && options.scheduler.empty() && conf.nopencl > 1;
  std::string known;
  for (starpu_sched_policy** policy = starpu_sched_get_predefined_policies(); *policy != nullptr; ++policy) {
    known += known.empty() ? "" : ", ";
    known += (*policy)->policy_name;
    if (scheduler == (*policy)->policy_name) conf.sched_policy = *policy;
  }
  if (conf.sched_policy == nullptr) {
    fail({.operation = kSession,
          .argument = from_user != nullptr ? "STARPU_SCHED" : "options.scheduler",
          .expected = "a scheduler of StarPU: " + known,
          .got = scheduler});
    return;
  }
  workers_rest = false;
  if (const int status = starpu_init(&conf); status != 0) {
    fail({.operation = kSession,
          .expected = "StarPU that starts with an OpenCL device",
          .got = std::strerror(-status),
          .call = "starpu_init"});
    return;
  }
  runs_ = true;
  if (Pause::cores_are_short()) hook_ = starpu_progression_hook_register(&sleep_without_task, nullptr);
  try {
    open_contexts();
  } catch (const std::exception& error) {
    ErrorDetails details = details_of(error);
    details.operation = kSession;
    fail(std::move(details));
  }
}

void Engine::open_contexts() {
  const auto count = starpu_worker_get_count_by_type(STARPU_OPENCL_WORKER);
  if (count <= 0) throw Error({.operation = kSession, .expected = "an OpenCL device", .got = "none"});
  std::vector<int> workers(static_cast<std::size_t>(count));
  starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, workers.data(), static_cast<unsigned>(workers.size()));
  workers_ = workers;
  for (const int worker : workers) {
    cl_command_queue queue = nullptr;
    starpu_opencl_get_queue(starpu_worker_get_devid(worker), &queue);
    contexts_.emplace(worker, Context(cl::CommandQueue(queue, true)));
    const auto bytes = starpu_memory_get_total(starpu_worker_get_memory_node(static_cast<unsigned>(worker)));
    const auto usable = static_cast<std::size_t>(std::max<starpu_ssize_t>(bytes, 1));
    device_bytes_ = device_bytes_ == 0 ? usable : std::min(device_bytes_, usable);
  }
  // Memory that a GPU's driver has locked is copied two to four times as fast, and without the host's help.
  const Context& first = contexts_.begin()->second;
  if (first.device().type == DeviceType::gpu) pinned_ = std::make_unique<PinnedMemory>(first);
}

void Engine::stop() noexcept {
  contexts_.clear();
  if (std::exchange(runs_, false)) {
    wake_workers();
    if (hook_ >= 0) starpu_progression_hook_deregister(std::exchange(hook_, -1));
    starpu_shutdown();
  }
  pinned_.reset();
}

// ---------------------------------------------------------------------------------------------------------
// Tasks.

Engine::Codelet& Engine::codelet(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& place = codelets_[name];
  if (!place) place = std::make_unique<Codelet>(name);
  return *place;
}

void Engine::submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body) {
  const auto refuse = [&](const std::string& expected, const std::string& got) {
    throw Error({.operation = "distributed::Session::submit",
                 .argument = "arguments",
                 .expected = expected,
                 .got = got});
  };
  if (arguments.empty() || arguments.size() > STARPU_NMAXBUFS) {
    refuse("1 to " + std::to_string(STARPU_NMAXBUFS) + " arguments", std::to_string(arguments.size()));
  }
  auto work = std::make_unique<Work>(Work{this, name, {}, std::move(body)});
  for (const Argument& argument : arguments) {
    if (argument.handle == nullptr) refuse("handles of data that this rank holds", "no handle");
    work->handles.push_back(argument.handle);
  }
  wake_workers();
  starpu_task* task = starpu_task_create();
  Codelet& of_name = codelet(name);
  task->cl = &of_name.codelet;
  task->name = of_name.name.c_str();
  task->nbuffers = static_cast<int>(arguments.size());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    task->handles[i] = arguments[i].handle;
    task->modes[i] = arguments[i].access == Access::read    ? STARPU_R
                     : arguments[i].access == Access::write ? STARPU_W
                                                            : STARPU_RW;
    if (const int home = home_of(arguments[i].handle);
        homes_count_ && home != 0 && task->execute_on_a_specific_worker == 0) {
      task->execute_on_a_specific_worker = 1;
      task->workerid = static_cast<unsigned>(workers_[static_cast<std::size_t>(home - 1) % workers_.size()]);
    }
  }
  task->cl_arg = work.get();
  task->callback_func = [](void* done) { delete static_cast<Work*>(done); };
  task->callback_arg = work.get();
  if (const int status = starpu_task_submit(task); status != 0) {
    task->destroy = 0;
    starpu_task_destroy(task);
    throw Error({.operation = "distributed::Session::submit",
                 .got = std::strerror(-status),
                 .call = "starpu_task_submit"});
  }
  static_cast<void>(work.release());  // the callback deletes it
}

void Engine::bring(Handle handle, int home) {
  if (!homes_count_ || home == 0 || handle == nullptr) return;
  struct Copy {
    Handle handle;
    int node;
  };
  const int worker = workers_[static_cast<std::size_t>(home - 1) % workers_.size()];
  const auto node = static_cast<int>(starpu_worker_get_memory_node(static_cast<unsigned>(worker)));
  auto copy = std::make_unique<Copy>(Copy{handle, node});
  const auto arrived = [](void* argument) {
    const std::unique_ptr<Copy> one(static_cast<Copy*>(argument));
    starpu_data_release_on_node(one->handle, one->node);
  };
  wake_workers();
  // Where StarPU refuses, the task that reads the data has it copied.
  if (starpu_data_acquire_on_node_cb(handle, node, STARPU_R, arrived, copy.get()) == 0)
    static_cast<void>(copy.release());  // the callback deletes it
}

void Engine::wait_for_tasks() {
  wake_workers();
  starpu_task_wait_for_all();
  rest_workers();
}

/// Called by a worker of StarPU, from C: no exception leaves it.
void Engine::run(void* buffers[], void* argument) {
  Work& work = *static_cast<Work*>(argument);
  Engine& engine = *work.engine;
  turns_without_task = 0;
  if (engine.has_failed()) return;
  std::string device;
  try {
    const Context& context = engine.contexts_.at(starpu_worker_get_id());
    device = context.device().name;
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < work.handles.size(); ++i) {
      void* memory = buffers[i];
      Piece piece;
      switch (starpu_data_get_interface_id(work.handles[i])) {
        case STARPU_VECTOR_INTERFACE_ID:
          piece.buffer = reinterpret_cast<cl_mem>(STARPU_VECTOR_GET_DEV_HANDLE(memory));
          piece.offset = STARPU_VECTOR_GET_OFFSET(memory);
          piece.element_bytes = STARPU_VECTOR_GET_ELEMSIZE(memory);
          piece.nx = STARPU_VECTOR_GET_NX(memory);
          piece.pitch = piece.plane = piece.nx;
          break;
        case STARPU_MATRIX_INTERFACE_ID:
          piece.buffer = reinterpret_cast<cl_mem>(STARPU_MATRIX_GET_DEV_HANDLE(memory));
          piece.offset = STARPU_MATRIX_GET_OFFSET(memory);
          piece.element_bytes = STARPU_MATRIX_GET_ELEMSIZE(memory);
          piece.nx = STARPU_MATRIX_GET_NX(memory);
          piece.ny = STARPU_MATRIX_GET_NY(memory);
          piece.pitch = STARPU_MATRIX_GET_LD(memory);
          piece.plane = piece.pitch * piece.ny;
          break;
        case STARPU_BLOCK_INTERFACE_ID:
          piece.buffer = reinterpret_cast<cl_mem>(STARPU_BLOCK_GET_DEV_HANDLE(memory));
          piece.offset = STARPU_BLOCK_GET_OFFSET(memory);
          piece.element_bytes = STARPU_BLOCK_GET_ELEMSIZE(memory);
          piece.nx = STARPU_BLOCK_GET_NX(memory);
          piece.ny = STARPU_BLOCK_GET_NY(memory);
          piece.nz = STARPU_BLOCK_GET_NZ(memory);
          piece.pitch = STARPU_BLOCK_GET_LDY(memory);
          piece.plane = STARPU_BLOCK_GET_LDZ(memory);
          break;
        case STARPU_VARIABLE_INTERFACE_ID:
          piece.buffer = reinterpret_cast<cl_mem>(STARPU_VARIABLE_GET_DEV_HANDLE(memory));
          piece.offset = STARPU_VARIABLE_GET_OFFSET(memory);
          piece.element_bytes = STARPU_VARIABLE_GET_ELEMSIZE(memory);
          piece.nx = piece.pitch = piece.plane = 1;
          break;
        default:
          throw Error({.operation = work.name,
                       .argument = "arguments",
                       .expected = "StarPU vectors, matrices, blocks and variables",
                       .got = "another kind of data"});
      }
      pieces.push_back(piece);
    }
    work.body(context, pieces);
  } catch (const std::exception& error) {
    ErrorDetails details = details_of(error);
    if (details.device.empty()) details.device = device;
    if (details.operation.empty()) details.operation = work.name;
    engine.fail(std::move(details));
  } catch (...) {
    engine.fail({.operation = work.name, .got = "an exception of unknown type", .device = device});
  }
}

// ---------------------------------------------------------------------------------------------------------
// Failures.

void Engine::fail(ErrorDetails details) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(details);
  failed_ = true;
}

std::optional<ErrorDetails> Engine::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Engine::forget_failure() {
  const std::lock_guard lock(mutex_);
  failure_.reset();
  failed_ = false;
}

}  // namespace smem::distributed::detail
