// The test program of smem::distributed: every rank runs the same cases. With a name behind --act it does one
// thing instead, for tests that need ranks to differ or to die.
#define DOCTEST_CONFIG_IMPLEMENT
#include "support.hpp"

#include <smem/distributed/reduce.hpp>

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>

namespace {

std::atomic<bool> mpi_fails = false;

}  // namespace

/// The one that the library calls.
extern "C" [[gnu::visibility("default")]] int MPI_Iallgather(const void* from, int count, MPI_Datatype type,
                                                             void* to, int of_each, MPI_Datatype to_type,
                                                             MPI_Comm ranks, MPI_Request* request) {
  if (mpi_fails) return MPI_ERR_OTHER;
  return PMPI_Iallgather(from, count, type, to, of_each, to_type, ranks, request);
}

namespace {

using smem::distributed::Session;

std::optional<Session> the_session;

/// The rank that misbehaves: the last one.
bool is_odd_one(const Session& session) { return session.rank() == session.ranks() - 1; }

void misbehave(const std::string& what) {
  std::fprintf(stderr, "acts at %lld\n", static_cast<long long>(std::time(nullptr)));
  if (what == "die") std::raise(SIGKILL);
  if (what == "exit") std::exit(3);
  if (what == "mpi") {
    mpi_fails = true;
    return;
  }
  if (what != "none") throw std::runtime_error("an error of the program's own");
}

int act(const std::string& what) {
  try {
    const Session session;
    smem::distributed::Vector<int> data(session, 100);
    data.write(test::numbers<int>(100, 0, 9));
    if (is_odd_one(session)) misbehave(what);
    for (int i = 0; i < 100; ++i) {  // what the others wait in
      try {
        static_cast<void>(smem::distributed::sum(data));
      } catch (const smem::Error&) {
        if (!mpi_fails) throw;  // else the program continues, and other ranks wait forever
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  } catch (const smem::Error& error) {
    std::printf("error: %s\n", error.what());
    std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::seconds(3));  // mpirun ends the others when the first one fails
    return 2;
  } catch (const std::exception&) {  // has left the session
    return 3;
  }
  return 0;
}

}  // namespace

const Session& test::session() { return *the_session; }

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--act") return act(argv[2]);
  const char* block = std::getenv("SMEM_TEST_BLOCK");
  const char* bytes = std::getenv("SMEM_TEST_DEVICE_BYTES");  // of out_of_core.cpp
  the_session.emplace(smem::distributed::SessionOptions{
      .block_elements = block != nullptr   ? std::strtoull(block, nullptr, 10)
                        : bytes != nullptr ? 0
                                           : 3000,
      .device_bytes = bytes != nullptr ? std::strtoull(bytes, nullptr, 10) : 0});
  doctest::Context context(argc, argv);
  const int status = context.run();
  // A rank whose checks failed fails the program, once all ranks are here.
  the_session->wait();
  the_session.reset();
  return status;
}
