// mla_prefill, portable: per (sequence, head) the cached rows are up-projected once, then every
// query of the chunk attends to the rows before it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/mla_prefill/kernels.h"
#include "kernels/reference_math.h"

namespace headroom::kernels {
namespace {

// Rows that are up-projected together: their latents stay in the cache while kv_b passes by.
constexpr int64_t kBlockRows = 32;

/// Keys [length, nope + rope] and values [length, value] of one head.
void project(const MlaPrefillDesc& desc, const MlaPrefillArgs& args, const SequenceView& sequence,
             int64_t head, float* keys, float* values) {
  const int64_t row_width = desc.latent + desc.rope, key_width = desc.nope + desc.rope;
  const tensor::bf16* kv_b = args.kv_b + head * (desc.nope + desc.value) * desc.latent;
  std::vector<float> rows(static_cast<size_t>(kBlockRows * row_width));
  for (int64_t begin = 0; begin < sequence.length; begin += kBlockRows) {
    const int64_t count = std::min<int64_t>(kBlockRows, sequence.length - begin);
    for (int64_t r = 0; r < count; ++r) {
      float* row = rows.data() + r * row_width;
      kv_decode_row(desc.kv, desc.latent, desc.rope, args.cache.row(sequence.pages, begin + r),
                    row);
      std::copy_n(row + desc.latent, desc.rope, keys + (begin + r) * key_width + desc.nope);
    }
    for (int64_t i = 0; i < desc.nope + desc.value; ++i)
      for (int64_t r = 0; r < count; ++r) {
        const float projected =
            reference::dot(rows.data() + r * row_width, kv_b + i * desc.latent, desc.latent);
        if (i < desc.nope)
          keys[(begin + r) * key_width + i] = projected;
        else
          values[(begin + r) * desc.value + i - desc.nope] = projected;
      }
  }
}

/// One query over the first `visible` keys.
void attend(const MlaPrefillDesc& desc, float scale, const float* q, const float* keys,
            const float* values, int64_t visible, float* scores, float* out) {
  const int64_t key_width = desc.nope + desc.rope;
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t j = 0; j < visible; ++j) {
    scores[j] = scale * reference::dot(q, keys + j * key_width, key_width);
    top = std::max(top, scores[j]);
  }
  float sum = 0;
  std::fill_n(out, desc.value, 0.0f);
  for (int64_t j = 0; j < visible; ++j) {
    const float p = std::exp(scores[j] - top);
    sum += p;
    for (int i = 0; i < desc.value; ++i) out[i] += p * values[j * desc.value + i];
  }
  for (int i = 0; i < desc.value; ++i) out[i] /= sum;
}

}  // namespace

void mla_prefill_reference(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                           base::ThreadPool& pool) {
  const int64_t key_width = desc.nope + desc.rope;
  const auto tasks = static_cast<int64_t>(args.sequences.size()) * desc.heads;
  pool.parallel_for(tasks, [&](int64_t task, int) {
    const SequenceView& sequence = args.sequences[static_cast<size_t>(task / desc.heads)];
    const int64_t head = task % desc.heads;
    if (sequence.tokens == 0) return;
    std::vector<float> keys(static_cast<size_t>(sequence.length * key_width));
    std::vector<float> values(static_cast<size_t>(int64_t{sequence.length} * desc.value));
    std::vector<float> scores(static_cast<size_t>(sequence.length));
    project(desc, args, sequence, head, keys.data(), values.data());
    for (int64_t token = 0; token < sequence.tokens; ++token) {
      const int64_t index = (sequence.first_row + token) * desc.heads + head;
      attend(desc, args.scale, args.q + index * key_width, keys.data(), values.data(),
             int64_t{sequence.length} - sequence.tokens + token + 1, scores.data(),
             args.out + index * desc.value);
    }
  });
}

}  // namespace headroom::kernels
