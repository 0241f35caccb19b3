// Wait lists and events: a call waits for the events of its list, and the host does not wait.
#include <smem/smem.hpp>

#include "support/failure.hpp"
#include "support/matrices.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using test::Operation;
using namespace std::chrono_literals;

namespace {

/// An event that the test completes itself; in any case when the object goes, so that a failing test ends.
class Gate {
 public:
  explicit Gate(const smem::Context& context) {
    cl_int status = CL_SUCCESS;
    event_ = cl::Event(clCreateUserEvent(context.cl_context()(), &status));
    REQUIRE(status == CL_SUCCESS);
  }
  ~Gate() { open(); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() {
    if (!opened_.exchange(true)) clSetUserEventStatus(event_(), CL_COMPLETE);
  }
  const cl::Event& event() const { return event_; }

 private:
  cl::Event event_;
  std::atomic<bool> opened_{false};
};

bool complete(const cl::Event& event) {
  cl_int state = CL_QUEUED;
  REQUIRE(clGetEventInfo(event(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, nullptr) ==
          CL_SUCCESS);
  REQUIRE(state >= CL_COMPLETE);
  return state == CL_COMPLETE;
}

}  // namespace

TEST_CASE("events: a call waits for its wait list and its event completes") {
  const smem::Context context;
  for (const Operation operation : test::kOperations) {
    CAPTURE(test::name_of(operation));
    const std::vector<float> input{1, 2, 3, 4, 5, 6, 7, 8, 9};
    const std::vector<float> poison(9, -1.0F);
    const smem::Array<float> in(context, input), out(context, poison);
    const bool in_place = operation == Operation::in_place;
    Gate first(context), second(context);
    const std::vector<cl::Event> list{first.event(), second.event()};
    smem::CallOptions options;
    options.wait_for = list;
    const cl::Event event = test::call(context, operation, in.matrix(3, 3), out.matrix(3, 3), options);
    context.queue().flush();
    std::this_thread::sleep_for(20ms);
    CHECK_FALSE(complete(event));
    first.open();
    std::this_thread::sleep_for(20ms);
    CHECK_FALSE(complete(event));
    second.open();
    CHECK(event.wait() == CL_SUCCESS);
    CHECK(complete(event));
    CHECK((in_place ? in : out).to_host() != (in_place ? input : poison));
  }
}

TEST_CASE("events: the result does not appear before the wait list completes") {
  const smem::Context context;
  const std::size_t n = 64;
  const std::vector<float> poison(n * n, -1.0F);
  const smem::Array<float> in(context, std::vector<float>(n * n, 2.0F)), out(context, poison);
  Gate gate(context);
  const std::vector<cl::Event> list{gate.event()};
  smem::CallOptions options;
  options.wait_for = list;
  const cl::Event event = smem::transpose(context, in.matrix(n, n), out.matrix(n, n), options);
  // Another queue reads the output meanwhile.
  const smem::Context beside(context.cl_context(), context.cl_device());
  context.queue().flush();
  std::vector<float> now(n * n);
  smem::read_buffer(beside, out.buffer(), now.data(), n * n * sizeof(float));
  CHECK(now == poison);
  gate.open();
  CHECK(event.wait() == CL_SUCCESS);
  smem::read_buffer(beside, out.buffer(), now.data(), n * n * sizeof(float));
  CHECK(now == std::vector<float>(n * n, 2.0F));
}

TEST_CASE("events: calls chain through their events") {
  const smem::Context context;
  const smem::Array<int> a(context, {1, 2, 3, 4, 5, 6}), b(context, smem::Count{6}),
      c(context, smem::Count{6});
  const std::vector<cl::Event> first{smem::transpose(context, a.matrix(2, 3), b.matrix(3, 2))};
  smem::CallOptions options;
  options.wait_for = first;
  smem::flip(context, b.matrix(3, 2), c.matrix(3, 2), smem::Flip::vertical, options).wait();
  CHECK(c.to_host() == std::vector<int>{3, 6, 2, 5, 1, 4});
}

TEST_CASE("events: empty input is a no-op whose event waits too") {
  const smem::Context context;
  const std::vector<float> poison(9, -1.0F);
  const smem::Array<float> in(context, std::vector<float>(9, 1.0F)), out(context, poison);
  for (const Operation operation : test::kOperations) {
    CAPTURE(test::name_of(operation));
    Gate gate(context);
    const std::vector<cl::Event> list{gate.event()};
    smem::CallOptions options;
    options.wait_for = list;
    const cl::Event event = test::call(context, operation, in.matrix(0, 0), out.matrix(0, 0), options);
    REQUIRE(event() != nullptr);
    context.queue().flush();
    std::this_thread::sleep_for(10ms);
    CHECK_FALSE(complete(event));
    gate.open();
    CHECK(event.wait() == CL_SUCCESS);
    // Without a wait list, with no buffer at all, and with a batch of none.
    const smem::MatrixView<float> nothing(nullptr, 0, 0);
    CHECK(test::call(context, operation, nothing, nothing).wait() == CL_SUCCESS);
    CHECK(test::call(context, operation, in.matrix(3, 3, {.batch = 0}), out.matrix(3, 3, {.batch = 0}))
              .wait() == CL_SUCCESS);
  }
  CHECK(out.to_host() == poison);
}

TEST_CASE("events: a context may go before its work is done") {
  const smem::Context beside;
  std::vector<int> input(50 * 70), got(input.size());
  for (std::size_t i = 0; i < input.size(); ++i)
    input[i] = static_cast<int>(i);
  const smem::Array<int> out(beside, std::vector<int>(input.size(), -1));
  Gate gate(beside);
  // A destructor that waited for the device would wait for ever: then this thread ends the test.
  std::atomic<bool> waited{false}, gone{false};
  std::thread watch([&] {
    for (int i = 0; i < 500 && !gone; ++i)
      std::this_thread::sleep_for(10ms);
    waited = !gone;
    gate.open();
  });
  cl::Event event;
  {
    const smem::Context context(beside.cl_context(), beside.cl_device());
    const smem::Array<int> in(context, input);
    const std::vector<cl::Event> list{gate.event()};
    smem::CallOptions options;
    options.wait_for = list;
    event = smem::transpose(context, in.matrix(50, 70), out.matrix(70, 50), options);
  }
  gone = true;
  watch.join();
  CHECK_FALSE(waited);
  CHECK(event.wait() == CL_SUCCESS);
  got = out.to_host();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 70; ++j)
      wrong += got[j * 50 + i] != input[i * 70 + j];
  }
  CHECK(wrong == 0);
}

TEST_CASE("events: a call makes none where none is wanted, unless its queue runs out of order") {
  const std::vector<float> input{1, 2, 3, 4, 5, 6}, turned{1, 4, 2, 5, 3, 6};
  const auto run = [&](const smem::Context& context) {
    const smem::Array<float> in(context, input), out(context, smem::Count{input.size()});
    smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2))
        .wait();  // its program is stored, which takes an event
    context.finish();
    const cl::Event event = smem::transpose(context, in.matrix(2, 3), out.matrix(3, 2), {.event = false});
    context.finish();
    CHECK(out.to_host() == turned);
    return event() != nullptr;
  };
  CHECK_FALSE(run(smem::Context()));
  const smem::Context context;
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue queue(clCreateCommandQueue(context.cl_context()(), context.cl_device()(),
                                                    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
  if (status != CL_SUCCESS) return;  // this device has none
  CHECK(run(smem::Context(queue)));
}

TEST_CASE("events: a command that failed is not waited for") {
  const smem::Context context;
  const smem::Array<float> x(context, {3, 1, 2}), y(context, {7, 7, 7});
  cl_int status = CL_SUCCESS;
  const cl::Event failed(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  clSetUserEventStatus(failed(), CL_OUT_OF_RESOURCES);
  const auto error = test::failure_of([&] { smem::sort(context, x, y, {}, {.wait_for = {failed}}); });
  CHECK(error.argument == "wait_for");
  CHECK(error.got == "one of a command that failed with CL_OUT_OF_RESOURCES");
  CHECK(test::failure_of([&] {
          smem::sum(context, x, smem::FloatMode::reproducible, {.wait_for = {failed}});
        }).argument == "wait_for");
  CHECK(y.to_host() == std::vector<float>{7, 7, 7});
}
