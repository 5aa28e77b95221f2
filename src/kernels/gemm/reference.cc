// gemm, portable: one dot product per output, in blocks that keep a tile of x and w in the cache.
#include <algorithm>

#include "kernels/gemm/kernels.h"
#include "kernels/reference_math.h"

namespace headroom::kernels {
namespace {

constexpr int64_t kBlockRows = 32, kBlockColumns = 32;

template <typename Weight>
void run(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  const int64_t row_blocks = (args.m + kBlockRows - 1) / kBlockRows;
  const int64_t column_blocks = (desc.n + kBlockColumns - 1) / kBlockColumns;
  pool.parallel_for(desc.batch * row_blocks * column_blocks, [&](int64_t task, int) {
    const int64_t batch = task / (row_blocks * column_blocks);
    const int64_t row_begin = task / column_blocks % row_blocks * kBlockRows;
    const int64_t column_begin = task % column_blocks * kBlockColumns;
    const int64_t row_end = std::min(row_begin + kBlockRows, args.m);
    const int64_t column_end = std::min<int64_t>(column_begin + kBlockColumns, desc.n);
    const float* x = args.x + batch * args.x_batch;
    const Weight* w = static_cast<const Weight*>(args.w) + batch * desc.n * desc.k;
    float* y = args.y + batch * args.y_batch;
    for (int64_t row = row_begin; row < row_end; ++row)
      for (int64_t column = column_begin; column < column_end; ++column)
        y[row * args.y_stride + column] =
            reference::dot(x + row * args.x_stride, w + column * desc.k, desc.k);
  });
}

}  // namespace

void gemm_reference(const GemmDesc& desc, const GemmArgs& args, base::ThreadPool& pool) {
  if (desc.weight == tensor::DType::kF32) return run<float>(desc, args, pool);
  run<tensor::bf16>(desc, args, pool);
}

}  // namespace headroom::kernels
