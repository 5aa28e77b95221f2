// Runs the probe loops on pinned threads that start together.
#include "limit/machine_probe.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "kernels/probe/probe.h"

namespace headroom::limit {
namespace {

/// Anonymous memory in huge pages where the system gives them, so that the probe times memory and
/// not address translation.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) return;
    data_ = static_cast<std::byte*>(data);
    ::madvise(data, bytes, MADV_HUGEPAGE);
  }
  ~Buffer() {
    if (data_ != nullptr) ::munmap(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cores.push_back(cpu);
  return cores;
}

/// Runs work(i) on `threads` pinned threads at once; seconds from the start to the last one's end.
double seconds(int threads, const std::function<void(int)>& work) {
  const std::vector<int> cores = usable_cores();
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> team;
  std::vector<int64_t> ends(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i)
    team.emplace_back([&, i] {
      if (!cores.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(cores[static_cast<size_t>(i) % cores.size()], &set);
        ::sched_setaffinity(0, sizeof set, &set);
      }
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      work(i);
      ends[static_cast<size_t>(i)] = base::now_ns();
    });
  while (ready.load() < threads) std::this_thread::yield();
  const int64_t start = base::now_ns();
  go.store(true);
  for (std::thread& thread : team) thread.join();
  return static_cast<double>(*std::max_element(ends.begin(), ends.end()) - start) * 1e-9;
}

std::atomic<uint64_t> sink;  // keeps results alive

/// Bytes/s of `threads` cores that each read their own share of `bytes`, `times` times over.
double read_rate(const Buffer& buffer, int64_t bytes, int threads, int times) {
  const int64_t share = bytes / threads / 4096 * 4096;
  const double took = seconds(threads, [&](int i) {
    uint64_t sum = 0;
    for (int t = 0; t < times; ++t)
      sum += kernels::probe_kernels().read(buffer.data() + i * share, static_cast<size_t>(share));
    sink.fetch_add(sum);
  });
  return static_cast<double>(share) * threads * times / took;
}

/// `probe`: a kernels::ProbeKernels or a kernels::Bf16Probe.
double flop_rate(const auto& probe, int threads, int64_t rounds) {
  const double took = seconds(
      threads, [&](int) { sink.fetch_add(static_cast<uint64_t>(probe.multiply_add(rounds))); });
  return static_cast<double>(probe.flops_per_round * rounds) * threads / took;
}

void best(double& rate, double seen) {
  rate = std::max(rate, seen);
}

}  // namespace

ProbeRates probe_rates(const ProbeSizes& sizes) {
  constexpr int kRounds = 15;
  constexpr int64_t kMega = int64_t{1} << 20;
  ProbeRates rates;
  rates.memory_bytes = std::clamp(4 * sizes.l3_total, 128 * kMega, 1024 * kMega);
  const Buffer buffer(static_cast<size_t>(rates.memory_bytes));
  if (buffer.data() == nullptr) return rates;
  seconds(sizes.cores, [&](int i) {  // each core touches what it will read
    const int64_t share = rates.memory_bytes / sizes.cores;
    for (int64_t at = i * share; at < (i + 1) * share; at += 64) buffer.data()[at] = std::byte{1};
  });
  const kernels::ProbeKernels& fp32 = kernels::probe_kernels();
  const kernels::Bf16Probe* bf16 = kernels::bf16_probe();
  // Half a cache stays in it whatever shares it; several passes hide the start.
  const int64_t l3_part = sizes.l3_total / 2, l2_part = sizes.l2_total / 2;
  for (int round = 0; round < kRounds; ++round) {
    best(rates.memory, read_rate(buffer, rates.memory_bytes, sizes.cores, 1));
    best(rates.flops, flop_rate(fp32, sizes.cores, 800'000));
    if (bf16) best(rates.bf16_flops, flop_rate(*bf16, sizes.cores, 400'000));
    if (l3_part > sizes.l2_total) best(rates.l3, read_rate(buffer, l3_part, sizes.cores, 24));
    if (l2_part > 0) best(rates.l2, read_rate(buffer, l2_part, sizes.cores, 400));
    if (round % 3 == 0) {
      best(rates.memory_one, read_rate(buffer, rates.memory_bytes, 1, 1));
      best(rates.flops_one, flop_rate(fp32, 1, 800'000));
      if (bf16) best(rates.bf16_flops_one, flop_rate(*bf16, 1, 400'000));
    }
  }
  return rates;
}

}  // namespace headroom::limit
