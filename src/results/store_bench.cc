// How long a view waits for its records in a large store.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/rng.h"
#include "results/store.h"

namespace headroom::results {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kModels = 8, kHardware = 12, kFrameworks = 4, kShapes = 3, kLevels = 9;

/// A point as our own client stores it: 200 requests in four histograms, or an imported row.
Record point(int64_t index, base::Rng& rng) {
  Record r;
  int64_t rest = index;
  const auto take = [&](int64_t of) {
    const int64_t digit = rest % of;
    rest /= of;
    return digit;
  };
  r.workload.concurrency = int64_t{1} << take(kLevels);
  r.server.framework = fmt::format("framework-{}", take(kFrameworks));
  const int64_t shape = take(kShapes);
  r.workload.input_tokens = shape == 0 ? 1024 : 8192;
  r.workload.output_tokens = shape == 2 ? 8192 : 1024;
  r.hardware = {fmt::format("gpu-{}", take(kHardware)), 8, "stated"};
  r.server.model = fmt::format("Model-{}", take(kModels));
  const int64_t day = rest;
  r.date = fmt::format("{}-{:02}-{:02}", 2024 + day / 336, day / 28 % 12 + 1, day % 28 + 1);
  r.run = fmt::format("{}-{}", r.date, index / kLevels);
  r.server.precision = "fp8";
  r.server.layout.tp = 8;
  r.measures.requests_sent = r.measures.requests_ok = 200;
  auto& w = r.measures.whole;
  w.duration_s = 60;
  w.requests = 200;
  w.input_tokens = 200 * *r.workload.input_tokens;
  w.output_tokens = 200 * *r.workload.output_tokens;
  if (index % 10 != 0) {  // imported: no histograms
    r.published.tpot_ms = Printed::parse(fmt::format("{:.2f}", 10 + 10 * rng.uniform())).value();
    return r;
  }
  for (auto* histogram : {&w.ttft, &w.tpot, &w.itl, &w.e2e}) {
    histogram->emplace();
    for (int i = 0; i < 200; ++i)
      (*histogram)->record(static_cast<int64_t>(1e7 * (1 + rng.exponential())));
  }
  return r;
}

/// HEADROOM_BENCH_POINTS (20,000 unless set) in a fresh store; HEADROOM_BENCH_STORE keeps it.
Store& filled_store() {
  static std::optional<Store> store;
  if (store) return *store;
  const char* count = std::getenv("HEADROOM_BENCH_POINTS");
  const char* at = std::getenv("HEADROOM_BENCH_STORE");
  const int64_t points = count != nullptr ? std::atoll(count) : 20'000;
  const std::string location =
      at != nullptr ? at : fs::temp_directory_path() / fmt::format("store-bench-{}.db", getpid());
  store = std::move(Store::open(location).value());
  base::Rng rng(1);
  std::vector<Store::Entry> entries;
  for (int64_t i = 0; i < points; ++i) {
    entries.push_back({point(i, rng), "bench"});
    if (entries.size() < 10'000 && i + 1 < points) continue;
    (void)store->add_all(entries).value();
    entries.clear();
  }
  if (at == nullptr) {  // the open connection keeps it readable
    std::error_code ignored;
    fs::remove(location, ignored);
  }
  return *store;
}

void BM_View(benchmark::State& state, const char* format) {
  Store& store = filled_store();
  base::Rng rng(7);
  std::vector<double> times;
  size_t records = 0;
  for (auto unused : state) {
    const std::string text = fmt::format(
        fmt::runtime(format), fmt::arg("model", rng.below(kModels)),
        fmt::arg("gpu", rng.below(kHardware)), fmt::arg("framework", rng.below(kFrameworks)),
        fmt::arg("day", rng.below(28) + 1));
    const auto begin = std::chrono::steady_clock::now();
    const auto found = store.query(parse_selector(text).value()).value();
    times.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
            .count());
    records += found.size();
  }
  std::ranges::sort(times);
  state.counters["p95_ms"] = times[times.size() * 95 / 100];
  state.counters["records"] = static_cast<double>(records) / static_cast<double>(times.size());
}
BENCHMARK_CAPTURE(
    BM_View, frontier_of_a_day,
    "model=Model-{model},hardware=gpu-{gpu},input=8192,output=1024,date=2024-01-{day:02}")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_View, history_of_a_level,
                  "model=Model-{model},hardware=gpu-{gpu},input=8192,output=1024,"
                  "framework=framework-{framework},concurrency=64")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_View, all_of_a_model_and_hardware,
                  "model=Model-{model},hardware=gpu-{gpu},input=8192,output=1024")
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom::results
