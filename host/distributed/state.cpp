// Starts and ends MPI and StarPU, runs tasks on contexts, and brings failures to all ranks.
#include "distributed/state.hpp"

#include <starpu_mpi.h>
#include <starpu_opencl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

namespace smem::distributed::detail {

namespace {

constexpr const char* kSession = "distributed::Session";

/// The details as bytes, so that another rank can throw the same.
std::string packed(const ErrorDetails& details) {
  std::string text = std::to_string(details.code);
  for (const std::string* field : {&details.operation, &details.argument, &details.expected, &details.got,
                                   &details.device, &details.call, &details.build_log}) {
    text += '\0';
    text += *field;
  }
  return text;
}

ErrorDetails unpacked(const std::string& text) {
  ErrorDetails details;
  std::size_t place = text.find('\0');
  details.code = std::atoi(text.c_str());
  for (std::string* field : {&details.operation, &details.argument, &details.expected, &details.got,
                             &details.device, &details.call, &details.build_log}) {
    if (place == std::string::npos) break;
    const std::size_t end = text.find('\0', place + 1);
    *field = text.substr(place + 1, end == std::string::npos ? end : end - place - 1);
    place = end;
  }
  return details;
}

ErrorDetails details_of(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error)) return known->details();
  return {.got = error.what()};
}

/// Whether the text says by itself which rank it is of.
std::string of_rank(int rank, const std::string& device) {
  return "rank " + std::to_string(rank) + (device.empty() ? "" : ", " + device);
}

/// The OpenCL devices of this machine, as StarPU counts them, of the types.
std::size_t count_devices(cl_device_type types) {
  cl_uint platforms = 0;
  if (clGetPlatformIDs(0, nullptr, &platforms) != CL_SUCCESS) return 0;
  std::vector<cl_platform_id> ids(platforms);
  if (platforms == 0 || clGetPlatformIDs(platforms, ids.data(), nullptr) != CL_SUCCESS) return 0;
  std::size_t count = 0;
  for (cl_platform_id id : ids) {
    cl_uint devices = 0;
    if (clGetDeviceIDs(id, types, 0, nullptr, &devices) == CL_SUCCESS) count += devices;
  }
  return count;
}

void set_default(const char* name, const char* value) { setenv(name, value, 0); }

// StarPU's workers poll. They rest while there is nothing for them to do, so that ranks that share cores do
// not wait for those that wait. One flag for the process, as there is one StarPU.
bool workers_rest = false;

void wake_workers() {
  if (std::exchange(workers_rest, false)) starpu_resume();
}

void rest_workers() {
  if (!std::exchange(workers_rest, true)) starpu_pause();
}

}  // namespace

Signature& Signature::add(const ElementType& type) {
  return add(type.bytes).add(type.scalar ? static_cast<int>(*type.scalar) : -1);
}

Signature& Signature::add(const Reduction& reduction) {
  return add(reduction.op)
      .add(reduction.mode)
      .add(reduction.expression)
      .add(reduction.identity)
      .add(reduction.commutes);
}

Signature& Signature::add(const Rows& rows) {
  add(rows.type()).add(rows.row_elements());
  for (const std::size_t count : rows.layout().rows)
    add(count);
  return *this;
}

/// What StarPU knows of the tasks of one name.
struct State::Codelet {
  std::string name, symbol;
  starpu_perfmodel model = {};
  starpu_codelet codelet = {};

  explicit Codelet(std::string task) : name(std::move(task)), symbol("smem_" + name) {
    model.type = STARPU_HISTORY_BASED;
    model.symbol = symbol.c_str();
    codelet.where = STARPU_OPENCL;
    codelet.opencl_funcs[0] = &State::run;
    codelet.opencl_flags[0] = STARPU_OPENCL_ASYNC;
    codelet.nbuffers = STARPU_VARIABLE_NBUFFERS;
    codelet.model = &model;
    codelet.name = name.c_str();
  }
};

struct State::Work {
  State* state;
  std::string name;
  std::vector<Handle> handles;
  Session::Body body;
};

State::State(const SessionOptions& options) : options_(options), exceptions_(std::uncaught_exceptions()) {
  start_mpi();
  try {
    collective(
        kSession,
        [&](Signature& signature) {
          signature.add(options_.block_elements).add(options_.scheduler);
          if (options_.block_elements == 0 || options_.block_elements > std::size_t{1} << 26) {
            throw Error({.operation = kSession,
                         .argument = "options.block_elements",
                         .expected = "1 to 2^26",
                         .got = std::to_string(options_.block_elements)});
          }
          if (starpu_is_initialized() != 0) {
            throw Error(
                {.operation = kSession, .expected = "StarPU not started", .got = "StarPU runs already"});
          }
        },
        [] {});
    start_starpu();
  } catch (...) {
    stop();
    throw;
  }
}

State::~State() {
  if (std::uncaught_exceptions() > exceptions_ && !agreed_) abort("an exception left its session");
  stop();
}

void State::start_mpi() {
  int initialized = 0, finalized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  if (finalized != 0) {
    throw Error({.operation = kSession,
                 .expected = "MPI that can be started, or runs",
                 .got = "MPI that has ended in this process"});
  }
  if (initialized == 0) {
    // StarPU's thread polls MPI: where ranks share cores, it must let others run (measured on 2 cores: 5
    // times faster).
    set_default("OMPI_MCA_mpi_yield_when_idle", "1");
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) != MPI_SUCCESS) {
      throw Error({.operation = kSession, .got = "an error", .call = "MPI_Init_thread"});
    }
    owns_mpi_ = true;
  } else {
    MPI_Query_thread(&level);
  }
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
  if (level < MPI_THREAD_MULTIPLE) {  // on all ranks alike
    MPI_Comm_free(&comm_);
    if (owns_mpi_) MPI_Finalize();
    throw Error({.operation = kSession,
                 .expected = "MPI with MPI_THREAD_MULTIPLE",
                 .got = "thread level " + std::to_string(level)});
  }
}

void State::choose_devices(starpu_conf& conf) {
  MPI_Comm machine = MPI_COMM_NULL;
  int local = 0, count = 1;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
  check(MPI_Comm_rank(machine, &local), "MPI_Comm_rank");
  check(MPI_Comm_size(machine, &count), "MPI_Comm_size");
  check(MPI_Comm_free(&machine), "MPI_Comm_free");

  constexpr cl_device_type kFast = CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR;
  std::size_t devices = count_devices(kFast);
  if (devices == 0) set_default("STARPU_OPENCL_ON_CPUS", "1");
  if (const char* cpus = std::getenv("STARPU_OPENCL_ON_CPUS"); cpus != nullptr && std::atoi(cpus) > 0) {
    devices = count_devices(kFast | CL_DEVICE_TYPE_CPU);
  }
  devices = std::min<std::size_t>(devices, STARPU_MAXOPENCLDEVS);
  if (devices == 0) return;
  conf.use_explicit_workers_opencl_gpuid = 1;
  const auto mine = static_cast<std::size_t>(local), ranks = static_cast<std::size_t>(count);
  int taken = 0;
  if (devices < ranks) {
    conf.workers_opencl_gpuid[taken++] = static_cast<unsigned>(mine % devices);
  } else {
    for (std::size_t device = mine; device < devices; device += ranks)
      conf.workers_opencl_gpuid[taken++] = static_cast<unsigned>(device);
  }
  conf.nopencl = taken;
}

void State::start_starpu() {
  // What StarPU would do by itself with cores is of no use here: its workers only drive devices.
  set_default("STARPU_WORKERS_NOBIND", "1");
  set_default("STARPU_SILENT", "1");
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 0;
  conf.ncuda = 0;
  conf.catch_signals = 0;
  choose_devices(conf);
  const bool several = conf.nopencl > 1;
  const std::string scheduler = !options_.scheduler.empty() ? options_.scheduler : several ? "lws" : "eager";
  if (std::getenv("STARPU_SCHED") == nullptr) conf.sched_policy_name = scheduler.c_str();
  std::string mine;
  if (conf.use_explicit_workers_opencl_gpuid == 0) {
    fail({.operation = kSession, .expected = "an OpenCL device", .got = "none"});
  } else if (const int status = starpu_init(&conf); status != 0) {
    fail({.operation = kSession,
          .expected = "StarPU that starts with an OpenCL device",
          .got = std::strerror(-status),
          .call = "starpu_init"});
  } else {
    starpu_runs_ = true;
    try {
      open_contexts();
    } catch (const std::exception& error) {
      ErrorDetails details = details_of(error);
      details.operation = kSession;
      fail(std::move(details));
    }
    for (const auto& [worker, context] : contexts_)
      mine += context.device().name + '\0';
  }
  agree(kSession);
  for (const Bytes& names : allgather(mine.data(), mine.size())) {
    std::vector<std::string>& of_rank = devices_.emplace_back();
    std::string name;
    for (const std::byte byte : names) {
      if (byte != std::byte{0}) {
        name += static_cast<char>(byte);
      } else {
        of_rank.push_back(std::exchange(name, {}));
      }
    }
  }
  if (const int status = starpu_mpi_init_comm(nullptr, nullptr, 0, comm_); status != 0) {
    fail({.operation = kSession, .got = std::strerror(-status), .call = "starpu_mpi_init_comm"});
  } else {
    starpu_mpi_runs_ = true;
  }
  agree(kSession);
}

void State::open_contexts() {
  const auto count = starpu_worker_get_count_by_type(STARPU_OPENCL_WORKER);
  if (count <= 0) throw Error({.operation = kSession, .expected = "an OpenCL device", .got = "none"});
  std::vector<int> workers(static_cast<std::size_t>(count));
  starpu_worker_get_ids_by_type(STARPU_OPENCL_WORKER, workers.data(), static_cast<unsigned>(workers.size()));
  for (const int worker : workers) {
    cl_command_queue queue = nullptr;
    starpu_opencl_get_queue(starpu_worker_get_devid(worker), &queue);
    contexts_.emplace(worker, Context(cl::CommandQueue(queue, true)));
  }
}

void State::stop() noexcept {
  contexts_.clear();
  if (starpu_runs_) wake_workers();
  if (starpu_mpi_runs_) starpu_mpi_shutdown();
  if (starpu_runs_) starpu_shutdown();
  starpu_mpi_runs_ = starpu_runs_ = false;
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (std::exchange(owns_mpi_, false)) MPI_Finalize();
}

void State::abort(const std::string& why) noexcept {
  std::fprintf(stderr, "smem: rank %d of %d ends all ranks: %s\n", rank_, ranks_, why.c_str());
  std::fflush(stderr);
  MPI_Abort(comm_, 1);
  std::abort();
}

void State::check(int status, const char* call) const {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(
      {.operation = "distributed", .got = "rank " + std::to_string(rank_) + ": " + text, .call = call});
}

// ---------------------------------------------------------------------------------------------------------
// Tasks and messages.

State::Codelet& State::codelet(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto& place = codelets_[name];
  if (!place) place = std::make_unique<Codelet>(name);
  return *place;
}

void State::submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body) {
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

/// Called by a worker of StarPU, from C: no exception leaves it.
void State::run(void* buffers[], void* argument) {
  Work& work = *static_cast<Work*>(argument);
  State& state = *work.state;
  if (state.has_failed()) return;
  std::string device;
  try {
    const Context& context = state.contexts_.at(starpu_worker_get_id());
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
    state.fail(std::move(details));
  } catch (...) {
    state.fail({.operation = work.name, .got = "an exception of unknown type", .device = device});
  }
}

void State::send(Handle handle, int to, std::int64_t tag) {
  check(starpu_mpi_isend_detached(handle, to, tag, comm_, nullptr, nullptr), "starpu_mpi_isend_detached");
}

void State::receive(Handle handle, int from, std::int64_t tag) {
  check(starpu_mpi_irecv_detached(handle, from, tag, comm_, nullptr, nullptr), "starpu_mpi_irecv_detached");
}

// ---------------------------------------------------------------------------------------------------------
// Failures.

void State::fail(ErrorDetails details) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(details);
  failed_ = true;
}

void State::throw_agreed(const ErrorDetails& details) {
  agreed_ = true;
  throw Error(details);
}

void State::agree(const char* operation) {
  std::string mine;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) mine = packed(*failure_);
  }
  int failed = mine.empty() ? 0 : 1, any = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm_, &request), "MPI_Iallreduce");
  complete(request, "MPI_Iallreduce");
  if (any == 0) return;
  const std::vector<Bytes> all = allgather(mine.data(), mine.size());
  {
    const std::lock_guard lock(mutex_);
    failure_.reset();
    failed_ = false;
  }
  bool same = true;
  int first = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].empty() && first < 0) first = static_cast<int>(i);
    same = same && all[i] == all[0];
  }
  const Bytes& bytes = all[static_cast<std::size_t>(first)];
  ErrorDetails details = unpacked(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (details.operation.empty()) details.operation = operation;
  if (!same || ranks_ == 1) {
    if (ranks_ > 1) details.device = of_rank(first, details.device);
  }
  throw_agreed(details);
}

void State::settle() {
  if (!starpu_mpi_runs_) return;
  wake_workers();
  if (tag_ != settled_tag_) {
    starpu_mpi_wait_for_all(comm_);
  } else {
    starpu_task_wait_for_all();
  }
  settled_tag_ = tag_;
  rest_workers();
}

void State::wait(const char* operation) {
  settle();
  agree(operation);
}

void State::complete(MPI_Request& request, const char* call) const {
  int done = 0;
  for (int polls = 0;; ++polls) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    if (polls < 200) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
}

void State::collective(const char* operation, const std::function<void(Signature&)>& check_arguments,
                       const std::function<void()>& body) {
  agreed_ = false;
  Signature signature(operation);
  try {
    check_arguments(signature);
  } catch (const std::exception& error) {
    fail(details_of(error));
  }
  const std::uint64_t mine[] = {has_failed() ? 1u : 0u, signature.value()};
  std::vector<std::uint64_t> all(2 * static_cast<std::size_t>(ranks_));
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(mine, 2, MPI_UINT64_T, all.data(), 2, MPI_UINT64_T, comm_, &request),
        "MPI_Iallgather");
  complete(request, "MPI_Iallgather");
  for (std::size_t rank = 0; rank < all.size() / 2; ++rank) {
    if (all[2 * rank] != 0) agree(operation);  // throws
  }
  for (std::size_t rank = 1; rank < all.size() / 2; ++rank) {
    if (all[2 * rank + 1] != all[1]) {
      throw_agreed({.operation = operation,
                    .argument = "arguments",
                    .expected = "the same call with the same arguments on all ranks",
                    .got = "another one on rank " + std::to_string(rank) + " than on rank 0"});
    }
  }
  try {
    body();
    wait(operation);
  } catch (const std::exception& error) {
    if (!agreed_) abort(std::string(operation) + ": " + error.what());
    settle();
    throw;
  }
}

// ---------------------------------------------------------------------------------------------------------
// What ranks tell each other.

std::vector<Bytes> State::allgather(const void* from, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(ranks_);
  std::uint64_t mine = bytes;
  std::vector<std::uint64_t> sizes(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(&mine, 1, MPI_UINT64_T, sizes.data(), 1, MPI_UINT64_T, comm_, &request),
        "MPI_Iallgather");
  complete(request, "MPI_Iallgather");
  std::vector<int> counts(ranks), places(ranks);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    counts[i] = static_cast<int>(sizes[i]);
    places[i] = static_cast<int>(total);
    total += sizes[i];
    if (total > INT32_MAX) {  // on all ranks alike
      throw_agreed({.operation = "distributed",
                    .expected = "less than 2^31 bytes of results that all ranks exchange",
                    .got = "more"});
    }
  }
  Bytes all(total + 1);  // never without memory
  check(MPI_Iallgatherv(bytes == 0 ? all.data() : from, static_cast<int>(bytes), MPI_BYTE, all.data(),
                        counts.data(), places.data(), MPI_BYTE, comm_, &request),
        "MPI_Iallgatherv");
  complete(request, "MPI_Iallgatherv");
  std::vector<Bytes> result(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    result[i].assign(all.begin() + places[i], all.begin() + places[i] + counts[i]);
  return result;
}

void State::broadcast(void* data, std::size_t bytes, int root) {
  constexpr std::size_t kMost = std::size_t{1} << 30;
  for (std::size_t done = 0; done < bytes; done += kMost) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(static_cast<std::byte*>(data) + done, static_cast<int>(std::min(kMost, bytes - done)),
                     MPI_BYTE, root, comm_, &request),
          "MPI_Ibcast");
    complete(request, "MPI_Ibcast");
  }
}

void State::sum(std::vector<std::uint64_t>& numbers) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM,
                       comm_, &request),
        "MPI_Iallreduce");
  complete(request, "MPI_Iallreduce");
}

// ---------------------------------------------------------------------------------------------------------
// Data.

Temporary::Temporary(std::size_t elements, std::size_t element_bytes) {
  if (elements == 0) return;
  starpu_vector_data_register(&handle_, -1, 0, static_cast<std::uint32_t>(elements), element_bytes);
}

Temporary::~Temporary() {
  if (handle_ != nullptr) starpu_data_unregister_submit(handle_);
}

void write_handle(Handle handle, const void* from, std::size_t offset, std::size_t bytes, bool update) {
  if (bytes == 0) return;
  wake_workers();
  starpu_data_acquire(handle, update ? STARPU_RW : STARPU_W);
  std::memcpy(reinterpret_cast<std::byte*>(starpu_vector_get_local_ptr(handle)) + offset, from, bytes);
  starpu_data_release(handle);
}

void read_handle(Handle handle, void* to, std::size_t offset, std::size_t bytes) {
  if (bytes == 0) return;
  wake_workers();
  starpu_data_acquire(handle, STARPU_R);
  std::memcpy(to, reinterpret_cast<const std::byte*>(starpu_vector_get_local_ptr(handle)) + offset, bytes);
  starpu_data_release(handle);
}

Bytes bytes_of(Handle handle, std::size_t bytes) {
  Bytes result(bytes);
  read_handle(handle, result.data(), 0, bytes);
  return result;
}

}  // namespace smem::distributed::detail
