// rms_norm, rope_query and kv_write, portable.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/norm_rope/kernels.h"
#include "kernels/reference_math.h"

namespace headroom::kernels {
namespace {

void norm_row(const float* x, const tensor::bf16* weight, float* y, int width, float eps) {
  const float mean = reference::dot(x, x, width) / static_cast<float>(width);
  const float factor = 1.0f / std::sqrt(mean + eps);
  for (int i = 0; i < width; ++i) y[i] = x[i] * factor * tensor::bf16_to_float(weight[i]);
}

void rotate(float* x, const RopeTables& tables, int64_t position, int rope) {
  const float* cos = tables.cos + position * (rope / 2);
  const float* sin = tables.sin + position * (rope / 2);
  for (int i = 0; i < rope / 2; ++i) {
    const float real = x[2 * i], imaginary = x[2 * i + 1];
    x[2 * i] = real * cos[i] - imaginary * sin[i];
    x[2 * i + 1] = real * sin[i] + imaginary * cos[i];
  }
}

}  // namespace

void rms_norm_reference(const RmsNormDesc& desc, const RmsNormArgs& args, base::ThreadPool& pool) {
  pool.parallel_for(args.rows, [&](int64_t row, int) {
    norm_row(args.x + row * args.x_stride, args.weight, args.y + row * args.y_stride, desc.width,
             args.eps);
  });
}

void rope_query_reference(const RopeQueryDesc& desc, const RopeQueryArgs& args,
                          base::ThreadPool& pool) {
  const int64_t width = desc.nope + desc.rope;
  pool.parallel_for(args.rows, [&](int64_t row, int) {
    for (int64_t head = 0; head < desc.heads; ++head)
      rotate(args.q + (row * desc.heads + head) * width + desc.nope, args.tables,
             args.positions[row], desc.rope);
  });
}

void kv_write_reference(const KvWriteDesc& desc, const KvWriteArgs& args, base::ThreadPool& pool) {
  pool.parallel_for(static_cast<int64_t>(args.sequences.size()), [&](int64_t task, int) {
    const SequenceView& sequence = args.sequences[static_cast<size_t>(task)];
    std::vector<float> row(static_cast<size_t>(desc.latent + desc.rope));
    for (int32_t token = 0; token < sequence.tokens; ++token) {
      const int64_t position = int64_t{sequence.length} - sequence.tokens + token;
      const float* kv_a = args.kv_a + (int64_t{sequence.first_row} + token) * args.kv_a_stride;
      norm_row(kv_a, args.weight, row.data(), desc.latent, args.eps);
      std::copy_n(kv_a + desc.latent, desc.rope, row.data() + desc.latent);
      rotate(row.data() + desc.latent, args.tables, position, desc.rope);
      kv_encode_row(desc.kv, desc.latent, desc.rope, row.data(),
                    args.cache.row(sequence.pages, position));
    }
  });
}

}  // namespace headroom::kernels
