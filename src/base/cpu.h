// What this machine's processor can do and how large its caches are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom::base {

/// Instruction sets that kernels ask for. Read once; HEADROOM_ISA=reference|avx2|avx512 lowers it.
struct CpuFeatures {
  bool avx2 = false;         // with FMA, F16C and BMI2
  bool avx512 = false;       // F, BW, DQ, VL
  bool avx512_bf16 = false;  // VDPBF16PS
  bool avx512_vnni = false;  // VPDPBUSD
};
const CpuFeatures& cpu_features();

struct CpuInfo {
  std::string model;         // "AMD EPYC"
  int cores = 1;             // that this process may run on
  int64_t l1d_bytes = 0;     // of one core
  int64_t l2_bytes = 0;      // of one core
  int64_t l3_bytes = 0;      // as seen by core 0
  int64_t memory_bytes = 0;  // of the machine
  std::string isa;           // "avx512+bf16+vnni", "avx2", "baseline"
};
const CpuInfo& cpu_info();

}  // namespace headroom::base
