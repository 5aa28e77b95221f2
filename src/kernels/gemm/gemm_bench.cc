// Speed of gemm at the shapes of small and of published models.
#include <benchmark/benchmark.h>

#include "kernels/gemm/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const GemmKernel& kernel, GemmDesc desc, int64_t m, int threads) {
  base::ThreadPool pool(threads);
  const auto x = test::random_floats(static_cast<size_t>(desc.batch * m * desc.k), 1);
  const auto w = test::random_bf16(
      static_cast<size_t>(desc.batch) * static_cast<size_t>(desc.n) * static_cast<size_t>(desc.k),
      2);
  std::vector<float> y(static_cast<size_t>(desc.batch * m * desc.n));
  const GemmArgs args{x.data(), desc.k, m * desc.k, w.data(), y.data(), desc.n, m * desc.n, m};
  for (auto _ : state) kernel.run(desc, args, pool);
  const double work = 2.0 * desc.batch * static_cast<double>(m) * desc.n * desc.k;
  state.counters["flop/s"] =
      benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["weight B/s"] = benchmark::Counter(static_cast<double>(w.size()) * 2,
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

const int kRegistered = [] {
  for (const GemmKernel& kernel : gemm_kernels())
    for (const GemmDesc& desc : {GemmDesc{1536, 1024}, GemmDesc{512, 128, 8}, GemmDesc{7168, 2048}})
      for (const int64_t m : {1, 16, 256})
        for (const int threads : {1, 2}) {
          if (kernel.refuses(desc)) continue;
          benchmark::RegisterBenchmark(
              fmt::format("{} m={} threads={} kernel={}", desc.text(), m, threads, kernel.name)
                  .c_str(),
              [=](benchmark::State& state) { run(state, kernel, desc, m, threads); })
              ->UseRealTime();
        }
  return 0;
}();

}  // namespace
}  // namespace headroom::kernels
