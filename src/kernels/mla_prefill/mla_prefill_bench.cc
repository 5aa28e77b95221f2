// Speed of mla_prefill: one prompt, whole or as the last chunk of a long one.
#include <benchmark/benchmark.h>

#include "kernels/mla_prefill/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const MlaPrefillKernel& kernel, const MlaPrefillDesc& desc,
         int threads) {
  base::ThreadPool pool(threads);
  const int length = desc.max_length, tokens = desc.max_tokens;
  test::PagedCache cache(desc.kv, desc.latent, desc.rope, desc.page_size,
                         length / desc.page_size + 1, 1);
  const auto pages = cache.take(length);
  const int width = desc.latent + desc.rope, key = desc.nope + desc.rope;
  cache.write(pages, test::random_floats(static_cast<size_t>(length * width), 1), length);
  const auto q = test::random_floats(static_cast<size_t>(tokens * desc.heads * key), 2);
  const auto kv_b = test::random_bf16(
      static_cast<size_t>(desc.heads * (desc.nope + desc.value) * desc.latent), 3, 0.05);
  std::vector<float> out(static_cast<size_t>(tokens * desc.heads * desc.value));
  const SequenceView view{pages.data(), length, tokens, 0};
  MlaPrefillArgs args{q.data(), kv_b.data(), out.data(), cache.view(), {&view, 1}, 0.1147f};
  for (auto _ : state) kernel.run(desc, args, pool);
  // Every row projected once, every query against the rows before it.
  const double seen = static_cast<double>(tokens) * (length - (tokens - 1) / 2.0);
  const double work = 2.0 * desc.heads *
                      (static_cast<double>(length) * (desc.nope + desc.value) * desc.latent +
                       seen * (key + desc.value));
  state.counters["flop/s"] =
      benchmark::Counter(work, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["tok/s"] =
      benchmark::Counter(tokens, benchmark::Counter::kIsIterationInvariantRate);
}

const int kRegistered = [] {
  for (const MlaPrefillKernel& kernel : mla_prefill_kernels())
    for (const KvType kv : {KvType::kBf16, KvType::kFp8})
      for (const auto& [tokens, length] : {std::pair{64, 64}, {512, 512}, {512, 2048}})
        for (const int threads : {1, 2}) {
          MlaPrefillDesc desc;
          desc.heads = desc.kernel_rows = 8;
          desc.kv = kv;
          desc.max_tokens = tokens;
          desc.max_length = length;
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
