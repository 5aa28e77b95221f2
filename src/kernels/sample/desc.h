// sample: one token from each row of logits, greedy or by temperature, top-k and top-p.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

struct SampleDesc {
  int32_t vocab = 0;
  std::string text() const;
};

struct SampleParams {
  float temperature = 0;  // 0: greedy, ties to the lowest id
  float top_p = 1;        // smallest set of most probable tokens whose mass reaches it
  int32_t top_k = 0;      // 0: all
  uint64_t seed = 0;      // with `position` decides the draw; nothing else does
  int32_t position = 0;   // of the token being drawn
};

struct SampleResult {
  int32_t id = -1;    // -1: the row holds NaN or +inf or nothing above -inf: the request failed
  float logprob = 0;  // log softmax of the unmodified logits at id; NaN when id is -1
};

struct SampleArgs {
  const float* logits = nullptr;         // [rows, vocab]
  const SampleParams* params = nullptr;  // [rows]
  SampleResult* results = nullptr;       // [rows]
  int64_t rows = 0;
};

using SampleRun = void (*)(const SampleDesc&, const SampleArgs&, base::ThreadPool&);
using SampleKernel = Kernel<SampleDesc, SampleRun>;
std::span<const SampleKernel> sample_kernels();

}  // namespace headroom::kernels
