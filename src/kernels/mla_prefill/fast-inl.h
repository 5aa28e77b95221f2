// mla_prefill over any vector type: keys and values of a block of cache rows are projected once and
// serve every query of the chunk.
#pragma once

#include <cstring>

#include "kernels/mla_prefill/kernels.h"
#include "kernels/scratch.h"
#include "kernels/simd/outer-inl.h"
#include "kernels/simd/row-inl.h"
#include "kernels/simd/softmax-inl.h"
#include "kernels/simd/transpose-inl.h"

namespace headroom::kernels {

// Key blocks begin at multiples of this position, so a query's result is a function of the rows it
// sees, however the prompt was cut.
constexpr int64_t kPrefillBlock = 64;
// Queries whose scores are held together; whole tiles of six.
constexpr int64_t kPrefillQueries = 48;

/// One head of one sequence, for some of its new tokens.
template <typename V>
struct PrefillTask {
  const MlaPrefillDesc& desc;
  const MlaPrefillArgs& args;
  const SequenceView& sequence;
  int64_t head, first, count;  // new tokens first … first + count - 1

  float* weights;       // kv_b of the head, transposed: [latent, nope + value]
  float* rows;          // [block, latent + rope]
  float* projected;     // [block, nope + value]
  float* keys;          // [nope + rope, block]
  float* scores;        // [queries, block]
  float* out;           // [count, value]
  SoftmaxState* state;  // [count]

  int64_t projections() const { return desc.nope + desc.value; }
  int64_t key_width() const { return desc.nope + desc.rope; }
  int64_t row_width() const { return desc.latent + desc.rope; }

  static size_t scratch_floats(const MlaPrefillDesc& d, int64_t count) {
    constexpr int64_t kState = sizeof(SoftmaxState) / sizeof(float);
    const int64_t projections = d.nope + d.value;
    return static_cast<size_t>(d.latent * projections +
                               kPrefillBlock * (d.latent + d.rope + projections + d.nope + d.rope) +
                               kPrefillQueries * kPrefillBlock + count * (d.value + kState));
  }
  void place(float* space) {
    weights = space;
    rows = weights + desc.latent * projections();
    projected = rows + kPrefillBlock * row_width();
    keys = projected + kPrefillBlock * projections();
    scores = keys + kPrefillBlock * key_width();
    out = scores + kPrefillQueries * kPrefillBlock;
    state = reinterpret_cast<SoftmaxState*>(out + count * desc.value);
  }

  void load_weights() {
    const tensor::bf16* kv_b = args.kv_b + head * projections() * desc.latent;
    transpose<V>(
        projections(), desc.latent,
        [&](int64_t i, int64_t l) { return V::load_bf16(kv_b + i * desc.latent + l); }, weights,
        projections());
  }

  /// Keys (transposed) and values of cache rows begin … begin + n - 1; zeros behind them.
  void project(int64_t begin, int64_t n) {
    for (int64_t r = 0; r < n; ++r)
      load_row<V>(args.cache, args.cache.row(sequence.pages, begin + r), rows + r * row_width());
    for (int64_t i = n * row_width(); i < kPrefillBlock * row_width(); ++i) rows[i] = 0;
    const OuterArgs multiply{rows,          row_width(),   weights,       projections(), projected,
                             projections(), kPrefillBlock, projections(), desc.latent};
    outer_block<V, false>(multiply, [](int64_t) { return 1.0f; });
    transpose<V>(
        kPrefillBlock, desc.nope,
        [&](int64_t r, int64_t i) { return V::load(projected + r * projections() + i); }, keys,
        kPrefillBlock);
    transpose<V>(
        kPrefillBlock, desc.rope,
        [&](int64_t r, int64_t i) { return V::load(rows + r * row_width() + desc.latent + i); },
        keys + desc.nope * kPrefillBlock, kPrefillBlock);
  }

  /// Queries first + begin … of n; the block's first key is at `position`.
  void attend(int64_t begin, int64_t n, int64_t position) {
    const float* q =
        args.q + ((sequence.first_row + first + begin) * desc.heads + head) * key_width();
    const OuterArgs score{q,          desc.heads * key_width(),
                          keys,       kPrefillBlock,
                          scores,     kPrefillBlock,
                          n,          kPrefillBlock,
                          key_width()};
    outer_block<V, false>(score, [](int64_t) { return 1.0f; });
    for (int64_t i = 0; i < n; ++i) {
      const int64_t visible = sequence.length - sequence.tokens + first + begin + i + 1;
      const int64_t seen = visible - position;
      soften<V, kPrefillBlock>(scores + i * kPrefillBlock,
                               seen < kPrefillBlock ? seen : kPrefillBlock, args.scale,
                               state[begin + i]);
    }
    const OuterArgs add{scores,
                        kPrefillBlock,
                        projected + desc.nope,
                        projections(),
                        out + begin * desc.value,
                        desc.value,
                        n,
                        desc.value,
                        kPrefillBlock};
    const SoftmaxState* states = state + begin;
    outer_block<V, true>(add, [states](int64_t i) { return states[i].shrink; });
  }

  void run() {
    load_weights();
    std::memset(out, 0, static_cast<size_t>(count * desc.value) * sizeof(float));
    for (int64_t i = 0; i < count; ++i) state[i] = kEmptySoftmax;
    const int64_t first_position = sequence.length - sequence.tokens + first;
    const int64_t end = first_position + count;
    for (int64_t begin = 0; begin < end; begin += kPrefillBlock) {
      project(begin,
              sequence.length - begin < kPrefillBlock ? sequence.length - begin : kPrefillBlock);
      // Queries before the block see nothing of it.
      const int64_t skip = begin > first_position ? begin - first_position : 0;
      for (int64_t i = skip; i < count; i += kPrefillQueries)
        attend(i, count - i < kPrefillQueries ? count - i : kPrefillQueries, begin);
    }
    for (int64_t i = 0; i < count; ++i) {
      float* to = args.out + ((sequence.first_row + first + i) * desc.heads + head) * desc.value;
      const auto factor = V::set(1.0f / state[i].sum);
      for (int64_t d = 0; d < desc.value; d += V::kLanes)
        V::store(to + d, V::mul(V::load(out + i * desc.value + d), factor));
    }
  }
};

template <typename V>
void mla_prefill_fast(const MlaPrefillDesc& desc, const MlaPrefillArgs& args,
                      base::ThreadPool& pool) {
  const auto sequences = static_cast<int64_t>(args.sequences.size());
  // Parts of a chunk project the same rows again, so a chunk is cut only when threads would idle.
  // The cut changes no result: queries are independent of each other.
  int64_t parts = 1;
  while (sequences * desc.heads * parts < pool.size() && parts < 64) parts *= 2;
  pool.parallel_for(sequences * desc.heads * parts, [&](int64_t task, int) {
    const SequenceView& sequence = args.sequences.data()[task / parts / desc.heads];
    // Later parts see more rows; the last part comes first so that the longest task starts first.
    const int64_t part = parts - 1 - task % parts;
    const int64_t first = sequence.tokens * part / parts;
    const int64_t count = sequence.tokens * (part + 1) / parts - first;
    if (count == 0) return;
    PrefillTask<V> work{desc,    args,    sequence, task / parts % desc.heads,
                        first,   count,   nullptr,  nullptr,
                        nullptr, nullptr, nullptr,  nullptr,
                        nullptr};
    work.place(scratch(Scratch::kTaskA, PrefillTask<V>::scratch_floats(desc, count)));
    work.run();
  });
}

}  // namespace headroom::kernels
