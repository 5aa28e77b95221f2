// Speed of mla_decode: multiplications and cache bytes per second.
#include <benchmark/benchmark.h>

#include "kernels/mla_decode/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void run(benchmark::State& state, const MlaDecodeKernel& kernel, const MlaDecodeDesc& desc,
         int threads) {
  base::ThreadPool pool(threads);
  const int length = desc.max_length, batch = desc.max_batch;
  test::PagedCache cache(desc.kv, desc.latent, desc.rope, desc.page_size,
                         batch * (length / desc.page_size + 1), 1);
  const int width = desc.latent + desc.rope;
  std::vector<std::vector<int32_t>> pages;
  std::vector<SequenceView> views;
  const auto rows = test::random_floats(static_cast<size_t>(length * width), 1);
  for (int s = 0; s < batch; ++s) {
    pages.push_back(cache.take(length));
    cache.write(pages.back(), rows, length);
    views.push_back({pages.back().data(), length, 1, s});
  }
  const auto q = test::random_floats(static_cast<size_t>(batch * desc.heads * width), 2);
  std::vector<float> out(static_cast<size_t>(batch * desc.heads * desc.latent));
  MlaDecodeArgs args;
  args.q = q.data();
  args.out = out.data();
  args.cache = cache.view();
  args.sequences = views;
  args.scale = 0.1147f;
  for (auto _ : state) kernel.run(desc, args, pool);
  const double seen = static_cast<double>(batch) * length;
  state.counters["flop/s"] = benchmark::Counter(2.0 * seen * desc.heads * (width + desc.latent),
                                                benchmark::Counter::kIsIterationInvariantRate);
  state.counters["cache B/s"] =
      benchmark::Counter(seen * static_cast<double>(kv_row_bytes(desc.kv, desc.latent, desc.rope)),
                         benchmark::Counter::kIsIterationInvariantRate);
}

const int kRegistered = [] {
  for (const MlaDecodeKernel& kernel : mla_decode_kernels())
    for (const KvType kv : {KvType::kBf16, KvType::kFp8})
      for (const int heads : {1, 8, 12, 16, 64})
        for (const int batch : {1, 8})
          for (const int threads : {1, 2}) {
            MlaDecodeDesc desc;
            desc.heads = desc.kernel_rows = heads;
            desc.kv = kv;
            desc.max_batch = batch;
            desc.max_length = 2048;
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
