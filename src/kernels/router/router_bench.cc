// Speed of router at published expert counts.
#include <benchmark/benchmark.h>

#include "kernels/router/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const RouterKernel& kernel, const RouterDesc& desc,
         int64_t tokens) {
  base::ThreadPool pool(1);
  const auto logits = test::random_floats(static_cast<size_t>(tokens * desc.experts), 1, 2);
  const auto bias = test::random_floats(static_cast<size_t>(desc.experts), 2, 0.1);
  std::vector<int32_t> ids(static_cast<size_t>(tokens * desc.top_k));
  std::vector<float> weights(ids.size());
  for (auto _ : state)
    kernel.run(desc, {logits.data(), bias.data(), ids.data(), weights.data(), tokens}, pool);
  state.SetItemsProcessed(state.iterations() * tokens);
}

const int kRegistered = [] {
  for (const RouterKernel& kernel : router_kernels())
    for (const RouterDesc& desc : {RouterDesc{256, 8, 8, 4}, RouterDesc{384, 8}, RouterDesc{32, 4}})
      for (const int64_t tokens : {1, 64})
        if (!kernel.refuses(desc))
          benchmark::RegisterBenchmark(
              fmt::format("{} tokens={} kernel={}", desc.text(), tokens, kernel.name).c_str(),
              [=](benchmark::State& state) { run(state, kernel, desc, tokens); });
  return 0;
}();

}  // namespace
}  // namespace headroom::kernels
