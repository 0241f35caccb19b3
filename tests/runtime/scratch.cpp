// The pool of temporary device memory.
#include "runtime/scratch.hpp"
#include "runtime/runtime.hpp"

#include <smem/smem.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

TEST_CASE("scratch: a buffer is used again when its event has completed and not before") {
  const smem::Context context;
  smem::runtime::ScratchPool pool(context.cl_context(), context.device());
  CHECK(pool.bytes() == 0);
  cl_int status = CL_SUCCESS;
  const cl::Event pending(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);

  const cl::Buffer first = pool.take(100);
  const std::size_t one = pool.bytes();
  CHECK(one >= 100);
  CHECK(first.getInfo<CL_MEM_SIZE>() == one);
  pool.give_back(first, pending);
  const cl::Buffer second = pool.take(100);
  CHECK(second() != first());
  CHECK(pool.bytes() == 2 * one);
  pool.trim();  // one is in use, the other's command still runs
  CHECK(pool.bytes() == 2 * one);

  CHECK(clSetUserEventStatus(pending(), CL_COMPLETE) == CL_SUCCESS);
  const cl::Buffer third = pool.take(one);  // the whole buffer, though only 100 bytes were asked for
  CHECK(third() == first());
  CHECK(pool.bytes() == 2 * one);

  pool.give_back(second, cl::Event());
  pool.give_back(third, cl::Event());
  pool.trim();
  CHECK(pool.bytes() == 0);
}

TEST_CASE("scratch: where commands run in order, a buffer is used again at once") {
  const smem::Context context;
  smem::runtime::ScratchPool pool(context.cl_context(), context.device(), true);
  cl_int status = CL_SUCCESS;
  const cl::Event pending(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  const cl::Buffer first = pool.take(100);
  const std::size_t one = pool.bytes();
  pool.give_back(first, pending);
  const cl::Buffer second = pool.take(100);
  CHECK(second() == first());
  CHECK(pool.bytes() == one);
  pool.give_back(second, pending);
  pool.trim();  // its commands still run
  CHECK(pool.bytes() == one);
  CHECK(clSetUserEventStatus(pending(), CL_COMPLETE) == CL_SUCCESS);
  pool.trim();
  CHECK(pool.bytes() == 0);
}

TEST_CASE("scratch: statuses come back with the next epoch, and only to launches of their layout") {
  const smem::Context context;
  smem::runtime::ScratchPool pool(context.cl_context(), context.device(), true);
  using Statuses = smem::runtime::ScratchPool::Statuses;
  Statuses first = pool.take_statuses(1000, 4);
  CHECK(first.epoch == 1);
  const cl_mem memory = first.buffer();
  const std::size_t bytes = first.buffer.getInfo<CL_MEM_SIZE>();
  std::vector<unsigned char> host(bytes, 1);
  CHECK(clEnqueueReadBuffer(context.queue()(), memory, CL_TRUE, 0, bytes, host.data(), 0, nullptr, nullptr) ==
        CL_SUCCESS);
  CHECK(std::all_of(host.begin(), host.end(), [](unsigned char byte) { return byte == 0; }));
  CHECK(pool.take_statuses(1000, 4).buffer() != memory);  // it is in use
  pool.give_back_statuses(first, 4, cl::Event());
  const Statuses other = pool.take_statuses(1000, 8);
  CHECK(other.buffer() != memory);
  CHECK(other.epoch == 1);
  Statuses again = pool.take_statuses(1000, 4);
  CHECK(again.buffer() == memory);
  CHECK(again.epoch == 2);
  again.epoch = smem::runtime::ScratchPool::kMostEpochs;
  const std::size_t before = pool.bytes();
  pool.give_back_statuses(again, 4, cl::Event());  // no number is left
  CHECK(pool.bytes() == before - bytes);
  CHECK(pool.take_statuses(1000, 4).epoch == 1);
}

TEST_CASE("scratch: a queue says whether its commands run in order") {
  const smem::Context context;
  CHECK(context.runtime().in_order());
  cl_int status = CL_SUCCESS;
  const cl::CommandQueue queue(clCreateCommandQueue(context.cl_context()(), context.cl_device()(),
                                                    CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, &status));
  if (status != CL_SUCCESS) return;  // this device has none
  CHECK(!smem::Context(queue).runtime().in_order());
}

TEST_CASE("scratch: sizes are rounded up and never too small") {
  const smem::Context context;
  smem::runtime::ScratchPool pool(context.cl_context(), context.device());
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{1}, std::size_t{65536}, std::size_t{65537}, std::size_t{1000000}}) {
    const cl::Buffer buffer = pool.take(bytes);
    CHECK(buffer.getInfo<CL_MEM_SIZE>() >= bytes);
    CHECK(buffer.getInfo<CL_MEM_SIZE>() <= std::max<std::size_t>(2 * bytes, 65536));
    pool.give_back(buffer, cl::Event());
  }
  const cl::Buffer large = pool.take(std::size_t{1} << 20);
  const cl::Buffer small = pool.take(1);
  CHECK(small() != large());
  CHECK(small.getInfo<CL_MEM_SIZE>() == 65536);
}

TEST_CASE("scratch: an event of a command that failed frees the buffer") {
  const smem::Context context;
  smem::runtime::ScratchPool pool(context.cl_context(), context.device());
  cl_int status = CL_SUCCESS;
  const cl::Event failing(clCreateUserEvent(context.cl_context()(), &status));
  REQUIRE(status == CL_SUCCESS);
  const cl::Buffer buffer = pool.take(1);
  pool.give_back(buffer, failing);
  CHECK(clSetUserEventStatus(failing(), -5) == CL_SUCCESS);
  CHECK(pool.take(1)() == buffer());
}

TEST_CASE("scratch: transposes need none") {
  const smem::Context context;
  const smem::Array<int> in(context, smem::Count{10000}), out(context, smem::Count{10000});
  smem::transpose(context, in.matrix(100, 100), out.matrix(100, 100));
  smem::transpose_in_place(context, out.matrix(100, 100));
  context.finish();
  CHECK(context.runtime().scratch().bytes() == 0);
}
