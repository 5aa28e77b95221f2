// mla_decode, portable: every (query token, head) walks the rows it sees with an online softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/mla_decode/kernels.h"
#include "kernels/reference_math.h"

namespace headroom::kernels {
namespace {

/// One head of one query token over rows 0 … visible - 1. Returns the log-sum-exp.
float attend(const MlaDecodeDesc& desc, const MlaDecodeArgs& args, const SequenceView& sequence,
             int64_t visible, const float* q, float* out) {
  std::vector<float> row(static_cast<size_t>(desc.latent + desc.rope));
  float top = -std::numeric_limits<float>::infinity(), sum = 0;
  std::fill_n(out, desc.latent, 0.0f);
  for (int64_t position = 0; position < visible; ++position) {
    kv_decode_row(desc.kv, desc.latent, desc.rope, args.cache.row(sequence.pages, position),
                  row.data());
    const float score = args.scale * reference::dot(q, row.data(), desc.latent + desc.rope);
    if (score > top) {
      const float shrink = std::exp(top - score);  // 0 at the first row
      sum *= shrink;
      for (int i = 0; i < desc.latent; ++i) out[i] *= shrink;
      top = score;
    }
    const float p = std::exp(score - top);
    sum += p;
    for (int i = 0; i < desc.latent; ++i) out[i] += p * row[static_cast<size_t>(i)];
  }
  for (int i = 0; i < desc.latent; ++i) out[i] /= sum;
  return top + std::log(sum);
}

}  // namespace

void mla_decode_reference(const MlaDecodeDesc& desc, const MlaDecodeArgs& args,
                          base::ThreadPool& pool) {
  // Tasks are (sequence, token, head); a sequence's tasks follow those of the ones before it.
  std::vector<int64_t> first_task(args.sequences.size() + 1);
  for (size_t s = 0; s < args.sequences.size(); ++s)
    first_task[s + 1] = first_task[s] + int64_t{args.sequences[s].tokens} * desc.heads;
  pool.parallel_for(first_task.back(), [&](int64_t task, int) {
    const auto after = std::upper_bound(first_task.begin(), first_task.end(), task);
    const auto s = static_cast<size_t>(after - first_task.begin() - 1);
    const SequenceView& sequence = args.sequences[s];
    const int64_t token = (task - first_task[s]) / desc.heads;
    const int64_t head = (task - first_task[s]) % desc.heads;
    const int64_t visible = int64_t{sequence.length} - sequence.tokens + token + 1;
    const int64_t index = (sequence.first_row + token) * desc.heads + head;
    const float lse =
        attend(desc, args, sequence, visible, args.q + index * (desc.latent + desc.rope),
               args.out + index * desc.latent);
    if (args.lse) args.lse[index] = lse;
  });
}

}  // namespace headroom::kernels
