// A program on several ranks, of a project of its own; without arguments it needs no device.
#include <smem/distributed/distributed.hpp>

#include <cstdio>
#include <vector>

namespace d = smem::distributed;

int main(int argc, char**) {
  if (argc > 1) {
    const d::Session session;
    d::Vector<float> data(session, 10);
    data.write(std::vector<float>(10, 1.0F));
    std::printf("%f\n", static_cast<double>(d::sum(data)));
  }
  const d::MachineRates rates;
  const d::DistributedPlan plan = d::plan({.operation = "sort", .rows = 1000000}, 4, rates);
  std::printf("%s", d::explain(plan, rates).c_str());
  return plan.bytes > 0 ? 0 : 1;
}
