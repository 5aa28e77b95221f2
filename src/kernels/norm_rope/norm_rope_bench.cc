// Speed of rms_norm, rope_query and kv_write.
#include <benchmark/benchmark.h>

#include "kernels/norm_rope/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

void norm(benchmark::State& state, const RmsNormKernel& kernel, const RmsNormDesc& desc,
          int64_t rows) {
  base::ThreadPool pool(1);
  const auto x = test::random_floats(static_cast<size_t>(rows * desc.width), 1);
  const auto weight = test::random_bf16(static_cast<size_t>(desc.width), 2);
  std::vector<float> y(x.size());
  const RmsNormArgs args{x.data(), desc.width, weight.data(), y.data(), desc.width, rows, 1e-6f};
  for (auto _ : state) kernel.run(desc, args, pool);
  state.SetItemsProcessed(state.iterations() * rows);
}

void rope(benchmark::State& state, const RopeQueryKernel& kernel, const RopeQueryDesc& desc,
          int64_t rows) {
  base::ThreadPool pool(1);
  auto q = test::random_floats(static_cast<size_t>(rows * desc.heads * (desc.nope + desc.rope)), 1);
  const std::vector<int32_t> positions(static_cast<size_t>(rows), 0);
  const std::vector<float> cos(static_cast<size_t>(desc.rope / 2), 1.0f), sin(cos.size(), 0.0f);
  const RopeQueryArgs args{q.data(), positions.data(), {cos.data(), sin.data()}, rows};
  for (auto _ : state) kernel.run(desc, args, pool);
  state.SetItemsProcessed(state.iterations() * rows);
}

void write(benchmark::State& state, const KvWriteKernel& kernel, const KvWriteDesc& desc,
           int32_t rows) {
  base::ThreadPool pool(1);
  const int width = desc.latent + desc.rope;
  const auto kv_a = test::random_floats(static_cast<size_t>(rows * width), 1);
  const auto weight = test::random_bf16(static_cast<size_t>(desc.latent), 2);
  const std::vector<float> cos(static_cast<size_t>(rows * desc.rope / 2), 1.0f), sin(cos.size());
  test::PagedCache cache(desc.kv, desc.latent, desc.rope, desc.page_size, rows / desc.page_size + 1,
                         1);
  const auto pages = cache.take(rows);
  const SequenceView view{pages.data(), rows, rows, 0};
  const KvWriteArgs args{kv_a.data(),  width,     weight.data(), 1e-6f, {cos.data(), sin.data()},
                         cache.view(), {&view, 1}};
  for (auto _ : state) kernel.run(desc, args, pool);
  state.SetItemsProcessed(state.iterations() * rows);
}

template <typename Kernel, typename Desc, typename Run>
void add(const Kernel& kernel, const Desc& desc, int rows, Run run) {
  if (kernel.refuses(desc)) return;
  benchmark::RegisterBenchmark(
      fmt::format("{} rows={} kernel={}", desc.text(), rows, kernel.name).c_str(),
      [=](benchmark::State& state) { run(state, kernel, desc, rows); });
}

const int kRegistered = [] {
  for (const int rows : {1, 64}) {
    for (const RmsNormKernel& kernel : rms_norm_kernels())
      add(kernel, RmsNormDesc{1024}, rows, norm);
    for (const RopeQueryKernel& kernel : rope_query_kernels())
      add(kernel, RopeQueryDesc{8, 128, 64}, rows, rope);
    for (const KvType kv : {KvType::kBf16, KvType::kFp8})
      for (const KvWriteKernel& kernel : kv_write_kernels())
        add(kernel, KvWriteDesc{512, 64, kv, 16}, rows, write);
  }
  return 0;
}();

}  // namespace
}  // namespace headroom::kernels
