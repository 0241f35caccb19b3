// Starts MPI and StarPU for a session, and brings calls and failures of all ranks together.
#include "distributed/state.hpp"

#include "distributed/checks.hpp"
#include "distributed/halos.hpp"

#include <starpu.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace smem::distributed::detail {

namespace {

constexpr std::size_t kMostElements = std::size_t{1} << 30;  // of a block; StarPU counts with 32 bits
// A task uses three or four blocks, and one or two more tasks are made ready meanwhile.
constexpr std::size_t kBlocksOfDevice = 12;

/// Which rank it is of.
std::string of_rank(int rank, const std::string& device) {
  return "rank " + std::to_string(rank) + (device.empty() ? "" : ", " + device);
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

State::State(const SessionOptions& options) : options_(options), exceptions_(std::uncaught_exceptions()) {
  transport_.start();
  collective(
      kSession,
      [&](Signature& signature) {
        signature.add(options_.block_elements).add(options_.scheduler).add(options_.device_bytes);
        if (options_.block_elements > kMostElements) {
          refuse(kSession, "options.block_elements", "0 to 2^30", std::to_string(options_.block_elements));
        }
        if (starpu_is_initialized() != 0) {
          throw Error(
              {.operation = kSession, .expected = "StarPU not started", .got = "StarPU runs already"});
        }
      },
      [] {});
  start_engine();
}

State::~State() {
  if (std::uncaught_exceptions() > exceptions_ && !agreed_) transport_.abort("an exception left its session");
}

void State::start_engine() {
  engine_.start(options_, transport_.local_rank(), transport_.local_ranks());
  std::string mine;
  for (const auto& [worker, context] : engine_.contexts())
    mine += context.device().name + '\0';
  agree(kSession);
  for (const Bytes& names : allgather(mine.data(), mine.size())) {
    std::vector<std::string>& of_one = devices_.emplace_back();
    std::string name;
    for (const std::byte byte : names) {
      if (byte != std::byte{0}) {
        name += static_cast<char>(byte);
      } else {
        of_one.push_back(std::exchange(name, {}));
      }
    }
  }
  device_bytes_ = transport_.min(engine_.device_bytes());
  cores_are_short_ = transport_.max(Pause::cores_are_short() ? 1 : 0) != 0;
  estimate_ = estimated_rates(engine_.contexts().begin()->second.device(), cores_are_short_);
  for (double* rate : {&estimate_.cells, &estimate_.copy, &estimate_.host_link})
    *rate = static_cast<double>(transport_.min(static_cast<std::uint64_t>(*rate)));
}

std::size_t State::block_elements(std::size_t element_bytes) const {
  if (options_.block_elements != 0) return options_.block_elements;
  const std::size_t fits = device_bytes_ / kBlocksOfDevice / std::max<std::size_t>(element_bytes, 1);
  return std::clamp<std::size_t>(fits, 1, kMostElements);
}

void State::throw_agreed(const ErrorDetails& details) {
  agreed_ = true;
  throw Error(details);
}

void State::agree(const char* operation) {
  std::string mine;
  if (const auto failure = engine_.failure()) mine = packed(*failure);
  if (transport_.max(mine.empty() ? 0 : 1) == 0) return;
  const std::vector<Bytes> all = allgather(mine.data(), mine.size());
  engine_.forget_failure();
  bool same = true;
  int first = -1;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].empty() && first < 0) first = static_cast<int>(i);
    same = same && all[i] == all[0];
  }
  const Bytes& bytes = all[static_cast<std::size_t>(first)];
  ErrorDetails details = unpacked(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (details.operation.empty()) details.operation = operation;
  if (!same && ranks() > 1) details.device = of_rank(first, details.device);
  throw_agreed(details);
}

void State::here(const std::function<void(const Context&)>& body) {
  if (has_failed()) return;
  const Context& context = engine_.contexts().begin()->second;
  try {
    body(context);
  } catch (const std::exception& error) {
    ErrorDetails details = details_of(error);
    if (details.device.empty()) details.device = context.device().name;
    engine_.fail(std::move(details));
  }
}

void State::submit(const std::string& name, const std::vector<Argument>& arguments, Session::Body body) {
  if (omitted_ == Omit::computation && name != "copy" && name != "touch")
    body = [](const Context&, std::span<const Piece>) {};
  engine_.submit(name, arguments, std::move(body));
}

void State::send(Handle handle, int to, std::int64_t tag) {
  if (omitted_ != Omit::exchange) transport_.send(handle, to, tag);
}

void State::receive(Handle handle, int from, std::int64_t tag) {
  if (omitted_ != Omit::exchange) return transport_.receive(handle, from, tag);
  submit("touch", {{handle, Access::write}}, [](const Context&, std::span<const Piece>) {});
}

void State::throttle(std::size_t tasks) {
  wake_workers();
  for (Pause pause; static_cast<std::size_t>(std::max(starpu_task_nsubmitted(), 0)) > tasks;) {
    if (transport_.progress()) {
      pause.reset();
    } else {
      pause.wait(transport_.is_moving());
    }
  }
}

void State::settle() {
  if (starpu_is_initialized() == 0) return;
  if (transport_.has_messages()) wake_workers();
  for (Pause pause; transport_.has_messages();) {
    if (transport_.progress()) {
      pause.reset();
    } else {
      pause.wait(transport_.is_moving());
    }
  }
  engine_.wait_for_tasks();
}

void State::wait(const char* operation) {
  settle();
  agree(operation);
}

std::vector<Bytes> State::allgather(const void* from, std::size_t bytes) {
  try {
    return transport_.allgather(from, bytes);
  } catch (const Error& error) {
    throw_agreed(error.details());
  }
}

Bytes State::gather(const void* from, std::size_t bytes) {
  Bytes all;
  for (const Bytes& of_rank : allgather(from, bytes))
    all.insert(all.end(), of_rank.begin(), of_rank.end());
  return all;
}

void State::collective(const char* operation, const std::function<void(Signature&)>& check_arguments,
                       const std::function<void()>& body) {
  agreed_ = false;
  Signature signature(operation);
  try {
    check_arguments(signature);
  } catch (const std::exception& error) {
    engine_.fail(details_of(error));
  }
  const std::uint64_t mine[] = {has_failed() ? 1u : 0u, signature.value()};
  const std::vector<std::uint64_t> all = transport_.allgather(mine, 2);
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
    if (!agreed_) transport_.abort(std::string(operation) + ": " + error.what());
    settle();
    throw;
  }
}

}  // namespace smem::distributed::detail
