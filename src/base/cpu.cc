// Processor features through the compiler's CPUID helpers, the rest from sysfs and procfs.
#include "base/cpu.h"

#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/log.h"

namespace headroom::base {
namespace {

CpuFeatures detect() {
  CpuFeatures f;
  __builtin_cpu_init();
  f.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  f.avx512 = f.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  f.avx512_bf16 = f.avx512 && __builtin_cpu_supports("avx512bf16");
  f.avx512_vnni = f.avx512 && __builtin_cpu_supports("avx512vnni");
  const char* cap = std::getenv("HEADROOM_ISA");
  const std::string_view limit = cap ? cap : "";
  // A misspelt cap would measure another kernel than the one that was meant.
  if (!limit.empty() && limit != "reference" && limit != "avx2" && limit != "avx512")
    log_warning("HEADROOM_ISA is `{}`, which is none of reference, avx2, avx512: ignored", limit);
  if (limit == "reference") f = CpuFeatures{};
  if (limit == "avx2") f.avx512 = f.avx512_bf16 = f.avx512_vnni = false;
  return f;
}

int64_t cache_bytes(int index) {
  std::ifstream in("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
  int64_t size = 0;
  char unit = 0;
  if (!(in >> size)) return 0;
  in >> unit;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

std::string model_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

CpuInfo read_info() {
  CpuInfo info;
  info.model = model_name();
  cpu_set_t set;
  CPU_ZERO(&set);
  info.cores = sched_getaffinity(0, sizeof set, &set) == 0
                   ? CPU_COUNT(&set)
                   : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  info.l1d_bytes = cache_bytes(0);
  info.l2_bytes = cache_bytes(2);
  info.l3_bytes = cache_bytes(3);
  info.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  const CpuFeatures& f = cpu_features();
  info.isa = f.avx512 ? "avx512" : f.avx2 ? "avx2" : "baseline";
  if (f.avx512_bf16) info.isa += "+bf16";
  if (f.avx512_vnni) info.isa += "+vnni";
  return info;
}

}  // namespace

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

const CpuInfo& cpu_info() {
  static const CpuInfo info = read_info();
  return info;
}

}  // namespace headroom::base
