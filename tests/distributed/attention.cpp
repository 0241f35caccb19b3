// Attention over all ranks: near to what one device gives of the whole sequence.
#include "support.hpp"

#include <smem/array.hpp>
#include <smem/attention.hpp>
#include <smem/context.hpp>
#include <smem/distributed/attention.hpp>

#include <algorithm>
#include <cmath>

namespace d = smem::distributed;

namespace {

struct Sizes {
  std::size_t queries, keys, heads, key_heads, size, value_size;
};

void check_attention(const Sizes& s, const d::SequenceAttention& how) {
  static const smem::Context context;
  const auto random = [](std::size_t count, unsigned seed) {
    std::vector<float> all = test::numbers<float>(count, -100, 100, seed);
    for (float& x : all)
      x /= 64;
    return all;
  };
  const std::vector<float> q = random(s.queries * s.heads * s.size, 1),
                           k = random(s.keys * s.key_heads * s.size, 2),
                           v = random(s.keys * s.key_heads * s.value_size, 3);
  const smem::Array<float> on_q(context, q), on_k(context, k), on_v(context, v),
      on_out(context, smem::Count{s.queries * s.heads * s.value_size});
  const auto view = [](const smem::Array<float>& array, std::size_t heads, std::size_t tokens,
                       std::size_t size) {
    const smem::HeadsShape shape{1, heads, tokens, size};
    return smem::Heads(array.buffer()(), smem::Scalar::float32, shape, smem::tokens_before_heads(shape));
  };
  smem::attention(context, view(on_q, s.heads, s.queries, s.size), view(on_k, s.key_heads, s.keys, s.size),
                  view(on_v, s.key_heads, s.keys, s.value_size),
                  view(on_out, s.heads, s.queries, s.value_size),
                  {.scale = how.scale,
                   .causal = how.causal,
                   .window = {.left = how.left, .sinks = how.sinks},
                   .soft_cap = how.soft_cap});
  const std::vector<float> wanted = on_out.to_host();
  const std::vector<d::Layout> of_q = test::layouts(s.queries), of_k = test::layouts(s.keys);
  for (std::size_t i = 0; i < of_q.size(); ++i) {
    const d::Session& session = test::session();
    d::Matrix<float> in(session, s.queries, s.heads * s.size, of_q[i]),
        keys(session, s.keys, s.key_heads * s.size, of_k[(i + 1) % of_k.size()]),
        values(session, s.keys, s.key_heads * s.value_size, of_k[(i + 2) % of_k.size()]),
        out(session, s.queries, s.heads * s.value_size, of_q[i]);
    in.write(q);
    keys.write(k);
    values.write(v);
    d::attention(in, keys, values, out, how);
    const std::vector<float> found = out.to_host();
    double worst = 0;
    for (std::size_t j = 0; j < found.size(); ++j)
      worst = std::max(worst, std::fabs(static_cast<double>(found[j]) - static_cast<double>(wanted[j])));
    CHECK(worst < 1e-5);  // weights of float32, values below 2
  }
}

}  // namespace

TEST_CASE("attention: blocks of queries, causal, windows, grouped heads") {
  check_attention({100, 130, 2, 2, 16, 16}, {.heads = 2});
  check_attention({130, 130, 4, 2, 16, 8}, {.heads = 4, .key_heads = 2, .causal = true});
  check_attention({130, 130, 4, 2, 16, 8},
                  {.heads = 4, .key_heads = 2, .causal = true, .left = 20, .sinks = 3, .soft_cap = 5});
  check_attention({2, 1, 1, 1, 16, 16}, {});
}

TEST_CASE("attention: refused shapes") {
  const d::Session& session = test::session();
  d::Matrix<float> q(session, 20, 32), k(session, 30, 32), v(session, 30, 32), out(session, 20, 32),
      narrow(session, 30, 16);
  CHECK(test::failure_of([&] { d::attention(q, k, v, out); }).argument == "q");  // without values
  q.write(std::vector<float>(20 * 32));
  for (d::Matrix<float>* one : {&k, &v})
    one->write(std::vector<float>(30 * 32));
  narrow.write(std::vector<float>(30 * 16));
  CHECK(test::failure_of([&] { d::attention(q, narrow, v, out); }).argument == "k");
  CHECK(test::failure_of([&] { d::attention(q, k, v, q); }).argument == "out");
  CHECK(test::failure_of([&] { d::attention(q, k, v, out, {.heads = 3}); }).argument == "q");
  CHECK(test::failure_of([&] { d::attention(q, k, v, out, {.causal = true}); }).argument == "how.causal");
  CHECK(test::failure_of([&] { d::attention(q, k, v, out, {.left = 3}); }).argument == "how.left");
}
