// mla_decode over any vector type: each block of cache rows is widened once and serves as keys and
// values of all heads of a task.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/mla_decode/kernels.h"
#include "kernels/scratch.h"
#include "kernels/simd/row-inl.h"
#include "kernels/simd/softmax-inl.h"

namespace headroom::kernels {

// Boundaries are absolute positions: a query's result is a function of the rows it sees.
// A split is one task's share of a context; its partial result is merged in the order of splits.
constexpr int64_t kDecodeSplit = 256;
// Rows widened together: 32 rows of 576 floats and the state of a group stay in the L2 cache.
constexpr int64_t kDecodeBlock = 32;
// Query rows (token, head) of one task at most; more would push the block out of the cache.
constexpr int64_t kDecodeGroup = 32;

template <typename V>
struct DecodeTask {
  const MlaDecodeDesc& desc;
  const MlaDecodeArgs& args;
  const SequenceView& sequence;
  int64_t first, count;  // query rows of the sequence, in the order (token, head)
  float *rows, *scores, *out;
  SoftmaxState* state;

  int64_t width() const { return desc.latent + desc.rope; }
  const float* q(int64_t row) const {
    return args.q + (int64_t{sequence.first_row} * desc.heads + first + row) * width();
  }
  /// Cache rows that a query row sees.
  int64_t visible(int64_t row) const {
    return int64_t{sequence.length} - sequence.tokens + (first + row) / desc.heads + 1;
  }

  /// Asks for rows [begin, end) of the cache; hardware prefetchers stop at the ends of pages.
  void prefetch(int64_t begin, int64_t end) const {
    for (int64_t r = begin; r < end; ++r) {
      const std::byte* row = args.cache.row(sequence.pages, r);
      for (int64_t i = 0; i < args.cache.row_bytes; i += 64) __builtin_prefetch(row + i, 0, 2);
    }
  }

  /// scores[row, 0 … n) of kRows query rows; n is a multiple of 4.
  template <int kRows>
  void score(int64_t row, int64_t n, int64_t next, int64_t end) {
    using F = typename V::F;
    const int64_t stride = width();
    const float* queries = q(row);
    for (int64_t r = 0; r < n; r += 4) {
      if (row == 0) prefetch(next + r, next + r + 4 < end ? next + r + 4 : end);
      const float* keys = rows + r * stride;
      F dot[kRows][4];
      for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < 4; ++j) dot[i][j] = V::zero();
      for (int64_t d = 0; d < stride; d += V::kLanes) {
        F key[4];
        for (int j = 0; j < 4; ++j) key[j] = V::load(keys + j * stride + d);
        for (int i = 0; i < kRows; ++i) {
          const F query = V::load(queries + i * stride + d);
          for (int j = 0; j < 4; ++j) dot[i][j] = V::fma(query, key[j], dot[i][j]);
        }
      }
      for (int i = 0; i < kRows; ++i) {
        const auto four = V::reduce4(dot[i][0], dot[i][1], dot[i][2], dot[i][3]);
        std::memcpy(scores + (row + i) * kDecodeBlock + r, &four, sizeof four);
      }
    }
  }

  /// out[row] = out[row] · shrink + Σ p · latent, for kRows query rows and n cache rows.
  template <int kRows>
  void accumulate(int64_t row, int64_t n) {
    using F = typename V::F;
    constexpr int kVectors = V::kHeadVectors;
    const int64_t stride = width();
    for (int64_t d = 0; d < desc.latent; d += kVectors * V::kLanes) {
      F sums[kRows][kVectors];
      for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kVectors; ++j)
          sums[i][j] = V::mul(V::load(out + (row + i) * desc.latent + d + j * V::kLanes),
                              V::set(state[row + i].shrink));
      const float* values = rows + d;
      for (int64_t r = 0; r < n; ++r, values += stride) {
        F value[kVectors];
        for (int j = 0; j < kVectors; ++j) value[j] = V::load(values + j * V::kLanes);
        for (int i = 0; i < kRows; ++i) {
          const F p = V::set(scores[(row + i) * kDecodeBlock + r]);
          for (int j = 0; j < kVectors; ++j) sums[i][j] = V::fma(p, value[j], sums[i][j]);
        }
      }
      for (int i = 0; i < kRows; ++i)
        for (int j = 0; j < kVectors; ++j)
          V::store(out + (row + i) * desc.latent + d + j * V::kLanes, sums[i][j]);
    }
  }

  /// Calls step.template operator()<n>(row) over the query rows, V::kHeads at a time.
  template <typename Step>
  void in_tiles(Step&& step) {
    static_assert(V::kHeads == 2 || V::kHeads == 4);
    int64_t row = 0;
    for (; row + V::kHeads <= count; row += V::kHeads) step.template operator()<V::kHeads>(row);
    if constexpr (V::kHeads == 4) {
      if (count - row == 3) return step.template operator()<3>(row);
      if (count - row == 2) return step.template operator()<2>(row);
    }
    if (count - row == 1) step.template operator()<1>(row);
  }

  /// Rows [begin, end) of the cache.
  void run(int64_t begin, int64_t end) {
    for (int64_t i = 0; i < count * desc.latent; i += V::kLanes) V::store(out + i, V::zero());
    for (int64_t i = 0; i < count; ++i) state[i] = kEmptySoftmax;
    const int64_t last = visible(count - 1);
    end = end < last ? end : last;
    for (; begin < end; begin += kDecodeBlock) {
      const int64_t n = end - begin < kDecodeBlock ? end - begin : kDecodeBlock;
      const int64_t padded = (n + 3) / 4 * 4;
      for (int64_t r = 0; r < n; ++r)
        load_row<V>(args.cache, args.cache.row(sequence.pages, begin + r), rows + r * width());
      for (int64_t i = n * width(); i < padded * width(); i += V::kLanes)
        V::store(rows + i, V::zero());
      in_tiles(
          [&]<int kRows>(int64_t row) { score<kRows>(row, padded, begin + kDecodeBlock, end); });
      for (int64_t row = 0; row < count; ++row) {
        const int64_t seen = visible(row) - begin;
        soften<V, kDecodeBlock>(scores + row * kDecodeBlock, seen < n ? seen : n, args.scale,
                                state[row]);
      }
      in_tiles([&]<int kRows>(int64_t row) { accumulate<kRows>(row, n); });
    }
  }
};

/// How a step is cut into tasks: (sequence, split of the context, group of query rows).
struct DecodeCut {
  int64_t group = kDecodeGroup;

  static int64_t splits(const SequenceView& s) {
    return s.tokens > 0 ? (s.length + kDecodeSplit - 1) / kDecodeSplit : 0;
  }
  int64_t groups(const SequenceView& s, int64_t heads) const {
    return (s.tokens * heads + group - 1) / group;
  }
};

template <typename V>
void mla_decode_fast(const MlaDecodeDesc& desc, const MlaDecodeArgs& args, base::ThreadPool& pool) {
  const int64_t latent = desc.latent, width = latent + desc.rope, heads = desc.heads;
  const auto sequences = static_cast<int64_t>(args.sequences.size());
  const SequenceView* views = args.sequences.data();
  DecodeCut cut;
  const auto count_tasks = [&] {
    int64_t tasks = 0;
    for (int64_t s = 0; s < sequences; ++s)
      tasks += cut.splits(views[s]) * cut.groups(views[s], heads);
    return tasks;
  };
  // Smaller groups widen the same rows more than once, which still beats an idle thread. The cut
  // does not change any result: query rows are independent of each other.
  while (cut.group > V::kHeads && count_tasks() < 2 * pool.size()) cut.group /= 2;

  // Per sequence: its first task and its first partial, (query row, split) → [latent + 2 floats].
  const int64_t partial = latent + 16;  // output, maximum, sum; keeps vectors aligned
  int64_t* starts = reinterpret_cast<int64_t*>(
      scratch(Scratch::kSharedIndex, static_cast<size_t>(4 * (sequences + 1))));
  int64_t tasks = 0, partials = 0, merges = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    starts[2 * s] = tasks;
    starts[2 * s + 1] = partials;
    const int64_t splits = cut.splits(views[s]);
    tasks += splits * cut.groups(views[s], heads);
    if (splits > 1) {
      partials += splits * views[s].tokens * heads;
      ++merges;
    }
  }
  starts[2 * sequences] = tasks;
  float* store = scratch(Scratch::kSharedInner, static_cast<size_t>(partials * partial));
  const auto write = [&](int64_t index, const float* from, float factor, float top, float sum) {
    for (int64_t i = 0; i < latent; i += V::kLanes)
      V::store(args.out + index * latent + i, V::mul(V::load(from + i), V::set(factor)));
    if (args.lse) args.lse[index] = top + __builtin_logf(sum);
  };

  pool.parallel_for(tasks, [&](int64_t task, int) {
    int64_t low = 0, high = sequences;  // the last sequence whose first task is not behind `task`
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      (starts[2 * middle] <= task ? low : high) = middle;
    }
    const SequenceView& sequence = views[low];
    const int64_t groups = cut.groups(sequence, heads), splits = cut.splits(sequence);
    const int64_t split = (task - starts[2 * low]) / groups;
    const int64_t group = (task - starts[2 * low]) % groups;
    const int64_t first = group * cut.group;
    const int64_t all = sequence.tokens * heads;
    const int64_t count = all - first < cut.group ? all - first : cut.group;

    constexpr int64_t kState = sizeof(SoftmaxState) / sizeof(float);
    float* space = scratch(Scratch::kTaskA,
                           static_cast<size_t>(kDecodeBlock * width +
                                               kDecodeGroup * (kDecodeBlock + latent + kState)));
    float* scores = space + kDecodeBlock * width;
    float* out = scores + kDecodeGroup * kDecodeBlock;
    auto* state = reinterpret_cast<SoftmaxState*>(out + kDecodeGroup * latent);
    DecodeTask<V> work{desc, args, sequence, first, count, space, scores, out, state};
    work.run(split * kDecodeSplit, (split + 1) * kDecodeSplit);

    for (int64_t row = 0; row < count; ++row) {
      if (splits == 1) {
        write(sequence.first_row * heads + first + row, out + row * latent, 1.0f / state[row].sum,
              state[row].top, state[row].sum);
      } else {
        float* to = store + (starts[2 * low + 1] + (first + row) * splits + split) * partial;
        std::memcpy(to, out + row * latent, static_cast<size_t>(latent) * sizeof(float));
        to[latent] = state[row].top;
        to[latent + 1] = state[row].sum;
      }
    }
  });
  if (merges == 0) return;

  // A merge task is one (sequence, query row); sequences without partials have none to do.
  for (int64_t s = 0; s < sequences; ++s) {
    const SequenceView& sequence = views[s];
    const int64_t splits = cut.splits(sequence);
    if (splits <= 1) continue;
    pool.parallel_for(sequence.tokens * heads, [&](int64_t row, int) {
      float* parts = store + (starts[2 * s + 1] + row * splits) * partial;
      float top = parts[latent];
      for (int64_t i = 1; i < splits; ++i) {
        const float other = parts[i * partial + latent];
        top = other > top ? other : top;
      }
      float sum = 0;
      for (int64_t i = 0; i < splits; ++i) {
        float* part = parts + i * partial;
        // A split that the row does not see: (0, -inf). It can only follow those that it sees.
        if (part[latent + 1] == 0) break;
        const float factor = V::first_lane(V::exp(V::set(part[latent] - top)));
        sum += factor * part[latent + 1];
        for (int64_t d = 0; d < latent; d += V::kLanes) {
          const auto scaled = V::mul(V::load(part + d), V::set(factor));
          V::store(parts + d, i == 0 ? scaled : V::add(V::load(parts + d), scaled));
        }
      }
      write(sequence.first_row * heads + row, parts, 1.0f / sum, top, sum);
    });
  }
}

}  // namespace headroom::kernels
