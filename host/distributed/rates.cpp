// Measures what the model of distributed calls computes with.
#include <smem/distributed/plan.hpp>

#include "distributed/handles.hpp"
#include "distributed/state.hpp"

#include <smem/array.hpp>
#include <smem/gemm.hpp>
#include <smem/heat.hpp>
#include <smem/rates.hpp>
#include <smem/sort.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace smem::distributed {

namespace {

using detail::State;

/// Seconds of a call, the least of three after one that builds programs.
template <class Call>
double seconds_of(const Call& call) {
  call();
  double least = 0;
  for (int i = 0; i < 3; ++i) {
    const auto began = std::chrono::steady_clock::now();
    call();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  return std::max(least, 1e-9);
}

/// Of this rank's first device, whose worker rests.
MachineRates rates_of(const Context& context) {
  MachineRates rates{.is_measured = true};
  const bool is_cpu = context.device().type == DeviceType::cpu;
  rates.copy = measure_rates(context).copy;

  const std::size_t side = is_cpu ? 384 : 4096;
  const Array<float> a(context, Count{side * side}), b(context, Count{side * side}),
      c(context, Count{side * side});
  const auto matrix = [&](const Array<float>& of) {
    return smem::Matrix(of.buffer()(), Scalar::float32, side, side);
  };
  rates.operations = 2.0 * static_cast<double>(side) * static_cast<double>(side) * static_cast<double>(side) /
                     seconds_of([&] {
                       smem::gemm(context, matrix(a), matrix(b), matrix(c));
                       context.finish();
                     });

  const std::size_t keys = is_cpu ? std::size_t{1} << 18 : std::size_t{1} << 26;
  const Array<std::uint32_t> from(context, Count{keys}), to(context, Count{keys});
  rates.sorted = static_cast<double>(keys) / seconds_of([&] {
                   smem::sort(context, from, to);
                   context.finish();
                 });

  const std::size_t cells = is_cpu ? 512 : 8192, steps = 8;
  const Array<float> now(context, Count{cells * cells}), next(context, Count{cells * cells});
  rates.cells =
      static_cast<double>(cells * cells * steps) / seconds_of([&] {
        smem::heat(context, now.grid({cells, cells}), next.grid({cells, cells}), {.steps = steps, .dt = 0.2});
        context.finish();
      });

  const std::size_t bytes = is_cpu ? std::size_t{1} << 22 : std::size_t{1} << 26;
  void* host = nullptr;
  if (starpu_malloc(&host, bytes) == 0) {
    std::memset(host, 0, bytes);
    const cl::Buffer buffer = make_buffer(context, bytes);
    rates.host_link =
        static_cast<double>(bytes) / seconds_of([&] { write_buffer(context, buffer, host, bytes); });
    starpu_free(host);
  }
  return rates;
}

}  // namespace

MachineRates measure_machine(const Session& session) {
  State& state = session.state();
  MachineRates rates;
  state.collective(
      "distributed::measure_machine", [](detail::Signature&) {},
      [&] {
        rates = rates_of(state.engine().contexts().begin()->second);
        detail::Temporary data(1, sizeof(int));
        rates.call = seconds_of([&] {
          state.submit("touch", {{data.handle(), Access::write}},
                       [](const Context&, std::span<const Piece>) {});
          state.settle();
        });
        if (state.ranks() > 1) {
          constexpr std::size_t kLong = std::size_t{1} << 26;
          rates.latency = std::max(state.transport().seconds_of_message(8), 1e-9);
          rates.network = static_cast<double>(kLong) /
                          std::max(state.transport().seconds_of_message(kLong) - rates.latency, 1e-9);
        } else {
          std::vector<char> from(std::size_t{1} << 24, 1), to(from.size());
          rates.network = static_cast<double>(from.size()) /
                          seconds_of([&] { std::memcpy(to.data(), from.data(), to.size()); });
        }
        // All ranks compute with the slowest one's.
        for (double* rate : {&rates.copy, &rates.operations, &rates.sorted, &rates.cells, &rates.host_link})
          *rate = static_cast<double>(state.transport().min(static_cast<std::uint64_t>(*rate)));
        std::uint64_t call = static_cast<std::uint64_t>(rates.call * 1e9);
        state.broadcast(&call, sizeof call);
        rates.call = std::max(static_cast<double>(call) * 1e-9, 1e-9);
        std::uint64_t network = static_cast<std::uint64_t>(rates.network);
        state.broadcast(&network, sizeof network);
        rates.network = static_cast<double>(std::max<std::uint64_t>(network, 1));
      });
  return rates;
}

void omit(const Session& session, Omit what) { session.state().set_omitted(what); }

std::uint64_t sent_bytes(const Session& session) { return session.state().transport().traffic().sent_bytes; }

}  // namespace smem::distributed
