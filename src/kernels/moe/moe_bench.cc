// Speed of moe: a dense MLP and routed experts.
#include <benchmark/benchmark.h>

#include "kernels/moe/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const MoeKernel& kernel, const MoeDesc& desc, int threads) {
  base::ThreadPool pool(threads);
  const auto size = static_cast<size_t>(desc.hidden) * static_cast<size_t>(desc.inter);
  const auto experts = static_cast<size_t>(desc.experts);
  const auto weights = test::random_bf16(3 * experts * size, 1, 0.05);
  std::vector<ExpertWeights> views;
  for (size_t e = 0; e < experts; ++e) {
    const tensor::bf16* w = weights.data() + 3 * e * size;
    views.push_back({w, w + size, w + 2 * size});
  }
  const int64_t tokens = desc.max_tokens;
  const auto x = test::random_floats(static_cast<size_t>(tokens * desc.hidden), 2);
  std::vector<float> y(x.size());
  base::Rng rng(3);
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < tokens * desc.top_k; ++i)
    ids.push_back(static_cast<int32_t>(rng.below(experts)));
  const std::vector<float> factors(ids.size(), 0.25f);
  MoeArgs args{x.data(), y.data(), false, views, ids.data(), factors.data(), tokens};
  for (auto _ : state) kernel.run(desc, args, pool);
  state.counters["flop/s"] =
      benchmark::Counter(6.0 * static_cast<double>(tokens * desc.top_k) * static_cast<double>(size),
                         benchmark::Counter::kIsIterationInvariantRate);
}

const int kRegistered = [] {
  for (const MoeKernel& kernel : moe_kernels())
    for (MoeDesc desc : {MoeDesc{1024, 2048, 1, 1}, MoeDesc{1024, 256, 32, 4}})
      for (const int tokens : {1, 16, 256})
        for (const int threads : {1, 2}) {
          desc.max_tokens = tokens;
          if (kernel.refuses(desc)) continue;
          benchmark::RegisterBenchmark(
              fmt::format("{} threads={} kernel={}", desc.text(), threads, kernel.name).c_str(),
              [=](benchmark::State& state) { run(state, kernel, desc, threads); })
              ->UseRealTime();
        }
  return 0;
}();

}  // namespace
}  // namespace headroom::kernels
