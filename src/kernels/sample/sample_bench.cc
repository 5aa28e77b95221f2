// Speed of sample at a published vocabulary.
#include <benchmark/benchmark.h>

#include "kernels/sample/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const SampleKernel& kernel, const SampleDesc& desc,
         SampleParams params) {
  base::ThreadPool pool(1);
  const auto logits = test::random_floats(static_cast<size_t>(desc.vocab), 1, 3);
  SampleResult result;
  for (auto _ : state) {
    ++params.position;
    kernel.run(desc, {logits.data(), &params, &result, 1}, pool);
  }
}

const int kRegistered = [] {
  const SampleDesc desc{163840};
  for (const SampleKernel& kernel : sample_kernels())
    for (const SampleParams& params : {SampleParams{}, SampleParams{1, 1, 0},
                                       SampleParams{0.7f, 0.95f, 0}, SampleParams{0.7f, 1, 50}})
      if (!kernel.refuses(desc))
        benchmark::RegisterBenchmark(
            fmt::format("{} temperature={} top_p={} top_k={} kernel={}", desc.text(),
                        params.temperature, params.top_p, params.top_k, kernel.name)
                .c_str(),
            [=](benchmark::State& state) { run(state, kernel, desc, params); });
  return 0;
}();

}  // namespace
}  // namespace headroom::kernels
