// gemm: y[m, n] = Σ_k x[m, k] · w[n, k], for one matrix or for one matrix per head.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/thread_pool.h"
#include "kernels/plan/kernel.h"
#include "tensor/dtype.h"

namespace headroom::kernels {

struct GemmDesc {
  int32_t n = 0, k = 0;
  int32_t batch = 1;                            // matrices (heads) multiplied in one call
  tensor::DType weight = tensor::DType::kBF16;  // kBF16 or kF32; activations are float
  std::string text() const;                     // "gemm n=1536 k=128 batch=1 w=BF16 x=F32"
};

/// Matrix b of the batch: x + b * x_batch, w + b * n * k, y + b * y_batch. Strides count elements.
/// Each y[m, n] is computed in an order that depends on k alone: not on m, on the other rows of x,
/// or on the number of threads.
struct GemmArgs {
  const float* x = nullptr;
  int64_t x_stride = 0, x_batch = 0;  // between rows, between matrices
  const void* w = nullptr;            // [batch, n, k], 64-byte aligned not required
  float* y = nullptr;
  int64_t y_stride = 0, y_batch = 0;
  int64_t m = 0;
};

using GemmRun = void (*)(const GemmDesc&, const GemmArgs&, base::ThreadPool&);
using GemmKernel = Kernel<GemmDesc, GemmRun>;
std::span<const GemmKernel> gemm_kernels();  // list.cc

}  // namespace headroom::kernels
