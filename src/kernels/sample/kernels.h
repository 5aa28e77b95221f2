// The implementations of sample that list.cc ranks.
#pragma once

#include "kernels/sample/desc.h"

namespace headroom::kernels {

void sample_avx512(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool);
void sample_avx2(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool);
void sample_reference(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool);

/// The passes over a row of logits that depend on the instruction set.
struct SamplePasses {
  /// The largest logit and its lowest index; false where a logit is NaN or +inf, or all are -inf.
  bool (*scan)(const float* logits, int64_t count, float* top, int32_t* best);
  /// weights[i] = sampling::weight((logits[i] - top) / temperature), and their sum.
  uint64_t (*weigh)(const float* logits, int64_t count, float top, float temperature,
                    uint64_t* weights);
  /// The sum of weights at temperature 1.
  uint64_t (*total)(const float* logits, int64_t count, float top);
};

/// The rest of the work, around those passes.
void sample_fast(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool,
                 const SamplePasses& passes);

}  // namespace headroom::kernels
