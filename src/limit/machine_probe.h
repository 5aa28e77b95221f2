// machine_probe: times the probe loops on all cores and on one.
#pragma once

#include <cstdint>

namespace headroom::limit {

struct ProbeSizes {
  int cores = 1;
  int64_t l2_total = 0, l3_total = 0;  // bytes over all cores; 0: unknown, not probed
};

/// Bytes/s and flop/s; `_one` is what one core alone reaches. 0: not probed.
struct ProbeRates {
  double memory = 0, memory_one = 0;
  double l3 = 0, l2 = 0;
  double flops = 0, flops_one = 0;            // fp32 multiply-adds
  double bf16_flops = 0, bf16_flops_one = 0;  // BF16 dot products
  int64_t memory_bytes = 0;                   // size of the buffer that was read
};

/// Best of several rounds, each of which times every loop once, so that a slow spell of the machine
/// cannot spoil one figure alone. About two seconds.
ProbeRates probe_rates(const ProbeSizes& sizes);

}  // namespace headroom::limit
