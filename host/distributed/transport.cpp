// MPI: starts and ends it, the collectives that sessions use, and messages of StarPU's data.
#include "distributed/transport.hpp"

#include <smem/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes of a message of MPI, whose counts are int

std::atomic<bool> short_of_cores = false;

}  // namespace

void sleep_briefly(std::chrono::microseconds time) {
#ifdef __linux__
  // Else the kernel adds 50 us, to wake several threads at once.
  thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  static_cast<void>(slack);
#endif
  std::this_thread::sleep_for(time);
}

void Pause::set_cores_are_short(bool value) { short_of_cores = value; }
bool Pause::cores_are_short() { return short_of_cores; }

void Pause::wait(bool moving) {
  const unsigned yields = short_of_cores ? 4 : 2000;
  polls_ = moving ? std::min(polls_ + 1, yields + 1) : polls_ + 1;
  if (polls_ <= yields || (moving && !short_of_cores)) {
    std::this_thread::yield();
  } else {  // longer and longer, up to a quarter of a millisecond
    sleep_briefly(std::chrono::microseconds(20 + std::min(5 * (polls_ - yields), 230u)));
  }
}

/// Data of a handle on its way: acquired from StarPU in main memory, then given to MPI in pieces.
struct Transport::Message {
  Transport* transport;
  Handle handle;
  int peer;
  int tag;
  bool is_send;
  std::vector<MPI_Request> pieces;
};

Transport::~Transport() { stop(); }

void Transport::start() {
  int initialized = 0, finalized = 0, level = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  check(MPI_Finalized(&finalized), "MPI_Finalized");
  if (finalized != 0) {
    throw Error({.operation = kSession,
                 .expected = "MPI that can be started, or runs",
                 .got = "MPI that has ended in this process"});
  }
  if (initialized == 0) {
    // Where ranks share cores, one that waits must let others run.
    setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS) {
      throw Error({.operation = kSession, .got = "an error", .call = "MPI_Init_thread"});
    }
    owns_mpi_ = true;
  } else {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
  }
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
  if (level < MPI_THREAD_FUNNELED) {  // on all ranks alike
    stop();
    throw Error({.operation = kSession,
                 .expected = "MPI with MPI_THREAD_FUNNELED",
                 .got = "thread level " + std::to_string(level)});
  }
  int* most = nullptr;
  int found = 0;
  check(MPI_Comm_get_attr(comm_, MPI_TAG_UB, static_cast<void*>(&most), &found), "MPI_Comm_get_attr");
  if (found != 0) most_tag_ = *most;
  MPI_Comm machine = MPI_COMM_NULL;
  check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
  check(MPI_Comm_rank(machine, &local_rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(machine, &local_ranks_), "MPI_Comm_size");
  check(MPI_Comm_free(&machine), "MPI_Comm_free");
  has_started_ = true;
}

void Transport::stop() noexcept {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  if (std::exchange(owns_mpi_, false)) MPI_Finalize();
}

void Transport::check(int status, const char* call) const {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(status, text, &length);
  // The other ranks wait for messages of this one, and would wait without end.
  if (has_started_) abort(std::string(call) + ": " + text);
  throw Error(
      {.operation = "distributed", .got = "rank " + std::to_string(rank_) + ": " + text, .call = call});
}

void Transport::abort(const std::string& why) const noexcept {
  std::fprintf(stderr, "smem: rank %d of %d ends all ranks: %s\n", rank_, ranks_, why.c_str());
  std::fflush(stderr);
  MPI_Abort(comm_, 1);
  std::abort();
}

// ---------------------------------------------------------------------------------------------------------
// Messages between ranks.

void Transport::complete(MPI_Request& request, const char* call) {
  int done = 0;
  for (Pause pause;;) {
    check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    if (has_messages() && progress()) {
      pause.reset();
    } else {
      pause.wait(is_moving());
    }
  }
}

int Transport::max(int mine) {
  int all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, comm_, &request), "MPI_Iallreduce");
  complete(request, "MPI_Iallreduce");
  return all;
}

std::uint64_t Transport::min(std::uint64_t mine) {
  std::uint64_t all = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(&mine, &all, 1, MPI_UINT64_T, MPI_MIN, comm_, &request), "MPI_Iallreduce");
  complete(request, "MPI_Iallreduce");
  return all;
}

std::vector<std::uint64_t> Transport::allgather(const std::uint64_t* mine, std::size_t count) {
  std::vector<std::uint64_t> all(count * static_cast<std::size_t>(ranks_));
  const int numbers = static_cast<int>(count);
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgather(mine, numbers, MPI_UINT64_T, all.data(), numbers, MPI_UINT64_T, comm_, &request),
        "MPI_Iallgather");
  complete(request, "MPI_Iallgather");
  return all;
}

std::vector<Bytes> Transport::allgather(const void* from, std::size_t bytes) {
  const auto ranks = static_cast<std::size_t>(ranks_);
  const std::uint64_t mine = bytes;
  const std::vector<std::uint64_t> sizes = allgather(&mine, 1);
  std::vector<int> counts(ranks), places(ranks);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < ranks; ++i) {
    counts[i] = static_cast<int>(sizes[i]);
    places[i] = static_cast<int>(total);
    total += sizes[i];
    if (total > INT32_MAX) {  // on all ranks alike
      throw Error({.operation = "distributed",
                   .expected = "less than 2^31 bytes of results that all ranks exchange",
                   .got = "more"});
    }
  }
  Bytes all(total + 1);  // never without memory
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallgatherv(bytes == 0 ? all.data() : from, static_cast<int>(bytes), MPI_BYTE, all.data(),
                        counts.data(), places.data(), MPI_BYTE, comm_, &request),
        "MPI_Iallgatherv");
  complete(request, "MPI_Iallgatherv");
  traffic_.sent_bytes += bytes * (ranks - 1);
  traffic_.received_bytes += total - bytes;
  std::vector<Bytes> result(ranks);
  for (std::size_t i = 0; i < ranks; ++i)
    result[i].assign(all.begin() + places[i], all.begin() + places[i] + counts[i]);
  return result;
}

void Transport::broadcast(void* data, std::size_t bytes, int root) {
  for (std::size_t done = 0; done < bytes; done += kMost) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibcast(static_cast<std::byte*>(data) + done, static_cast<int>(std::min(kMost, bytes - done)),
                     MPI_BYTE, root, comm_, &request),
          "MPI_Ibcast");
    complete(request, "MPI_Ibcast");
  }
}

void Transport::sum(std::vector<std::uint64_t>& numbers) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_UINT64_T, MPI_SUM,
                       comm_, &request),
        "MPI_Iallreduce");
  complete(request, "MPI_Iallreduce");
}

double Transport::seconds_of_message(std::size_t bytes) {
  constexpr int kTimes = 10;
  const int last = ranks_ - 1;
  std::vector<std::byte> data(std::max<std::size_t>(bytes, 1));
  double least = 0;
  for (int i = 0; i < kTimes && ranks_ > 1; ++i) {
    if (rank_ != 0 && rank_ != last) break;
    const int peer = rank_ == 0 ? last : 0, count = static_cast<int>(bytes);
    const double began = MPI_Wtime();
    const auto way = [&](bool sends) {
      MPI_Request request = MPI_REQUEST_NULL;
      check(sends ? MPI_Isend(data.data(), count, MPI_BYTE, peer, most_tag_, comm_, &request)
                  : MPI_Irecv(data.data(), count, MPI_BYTE, peer, most_tag_, comm_, &request),
            "MPI_Isend");
      complete(request, "MPI_Isend");
    };
    way(rank_ == 0);
    way(rank_ != 0);
    const double seconds = (MPI_Wtime() - began) / 2;  // there and back
    if (least == 0 || seconds < least) least = seconds;
  }
  std::uint64_t nanoseconds = static_cast<std::uint64_t>(least * 1e9);
  broadcast(&nanoseconds, sizeof nanoseconds, 0);
  return static_cast<double>(nanoseconds) * 1e-9;
}

// ---------------------------------------------------------------------------------------------------------
// Messages.

void Transport::acquire(Message* message) {
  ++under_way_;
  const auto acquired = [](void* argument) {
    auto* one = static_cast<Message*>(argument);
    const std::lock_guard lock(one->transport->mutex_);
    one->transport->acquired_.push_back(one);
    one->transport->any_acquired_ = true;
  };
  const int status =
      starpu_data_acquire_cb(message->handle, message->is_send ? STARPU_R : STARPU_W, acquired, message);
  if (status != 0) {
    --under_way_;
    delete message;
    throw Error({.operation = "distributed",
                 .got = "status " + std::to_string(status),
                 .call = "starpu_data_acquire_cb"});
  }
}

void Transport::send(Handle handle, int to, std::int64_t tag) {
  acquire(new Message{this, handle, to, static_cast<int>(tag % most_tag_), true, {}});
}

void Transport::receive(Handle handle, int from, std::int64_t tag) {
  acquire(new Message{this, handle, from, static_cast<int>(tag % most_tag_), false, {}});
}

void Transport::post(Message& message) {
  auto* memory = reinterpret_cast<std::byte*>(starpu_vector_get_local_ptr(message.handle));
  const std::size_t bytes =
      std::size_t{starpu_vector_get_nx(message.handle)} * starpu_vector_get_elemsize(message.handle);
  // Pieces of one message have one tag: between two ranks MPI keeps their order.
  for (std::size_t done = 0; done < bytes; done += kMost) {
    const int count = static_cast<int>(std::min(kMost, bytes - done));
    MPI_Request& request = message.pieces.emplace_back(MPI_REQUEST_NULL);
    if (message.is_send) {
      check(MPI_Isend(memory + done, count, MPI_BYTE, message.peer, message.tag, comm_, &request),
            "MPI_Isend");
    } else {
      check(MPI_Irecv(memory + done, count, MPI_BYTE, message.peer, message.tag, comm_, &request),
            "MPI_Irecv");
    }
  }
  (message.is_send ? traffic_.sent_bytes : traffic_.received_bytes) += bytes;
  traffic_.sent_messages += message.is_send ? 1 : 0;
}

bool Transport::progress() {
  bool did = false;
  if (any_acquired_) {
    std::vector<Message*> ready;
    {
      const std::lock_guard lock(mutex_);
      ready.swap(acquired_);
      any_acquired_ = false;
    }
    for (Message* message : ready) {
      post(*message);
      posted_.push_back(message);
    }
    did = true;
  }
  // Some of them in turn: there can be thousands, and those that wait longest come first.
  constexpr std::size_t kMostTested = 64;
  for (std::size_t tested = std::min(kMostTested, posted_.size()); tested != 0; --tested) {
    Message* const message = posted_.front();
    posted_.pop_front();
    int done = 0;
    check(MPI_Testall(static_cast<int>(message->pieces.size()), message->pieces.data(), &done,
                      MPI_STATUSES_IGNORE),
          "MPI_Testall");
    if (done == 0) {
      posted_.push_back(message);
      continue;
    }
    starpu_data_release(message->handle);
    delete message;
    --under_way_;
    did = true;
  }
  return did;
}

}  // namespace smem::distributed::detail
