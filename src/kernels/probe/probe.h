// probe: the loops that find a core's own limits, a read of memory and a chain-free multiply-add.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headroom::kernels {

/// The loops for one instruction set. Both are pure work: no allocation, no synchronisation.
struct ProbeKernels {
  const char* isa;
  /// Reads every byte of [data, data + bytes) once; 64-byte aligned, bytes a multiple of 512. The
  /// result depends on the data, so that the reads cannot be left out.
  uint64_t (*read)(const std::byte* data, size_t bytes);
  /// Runs `rounds` rounds of independent fp32 multiply-adds, flops_per_round operations each.
  float (*multiply_add)(int64_t rounds);
  int64_t flops_per_round;
};

/// The widest that this machine runs (HEADROOM_ISA lowers it).
const ProbeKernels& probe_kernels();

/// Dot products of BF16 pairs summed in fp32, where an instruction set has them.
struct Bf16Probe {
  const char* isa;
  float (*multiply_add)(int64_t rounds);  // as in ProbeKernels
  int64_t flops_per_round;
};
/// Null where this machine has none: BF16 weights are then widened to fp32.
const Bf16Probe* bf16_probe();

// One per file; call only where the machine has the instructions.
extern const ProbeKernels kProbeAvx512;
extern const ProbeKernels kProbeAvx2;
extern const ProbeKernels kProbePortable;
extern const Bf16Probe kProbeAvx512Bf16;

}  // namespace headroom::kernels
