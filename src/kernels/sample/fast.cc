// sample around vector passes: top-k and top-p by a search for the threshold, never a full sort.
#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "kernels/sample/kernels.h"
#include "kernels/sample/weight.h"
#include "kernels/scratch.h"

namespace headroom::kernels {
namespace {

// Tokens fall into buckets of an eighth of a nat by x = (logit - top) / temperature. Bucket numbers
// are monotonic in the logit, so whole buckets are kept or dropped and one, at most, is sorted.
constexpr int kBuckets = 240;  // down to x = -30, where weights end

struct Row {
  const float* logits;
  int32_t vocab;
  float top, temperature;
  const uint64_t* weights;
};

int bucket_of(const Row& row, int32_t id) {
  const float x = (row.logits[id] - row.top) / row.temperature;
  return x >= sampling::kSmallest ? std::min(kBuckets - 1, static_cast<int>(x * -8.0f)) : kBuckets;
}

/// Buckets 0 … whole - 1 are kept, and of bucket `whole` the tokens in `part`, best first.
struct Kept {
  int whole = kBuckets;
  std::vector<int32_t> part;
  uint64_t mass = 0;
};

struct Histogram {
  std::array<int64_t, kBuckets> count{};
  std::array<uint64_t, kBuckets> mass{};
};

std::vector<int32_t> sorted_bucket(const Row& row, int bucket) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < row.vocab; ++id)
    if (bucket_of(row, id) == bucket) ids.push_back(id);
  std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
    return row.logits[a] > row.logits[b] || (row.logits[a] == row.logits[b] && a < b);
  });
  return ids;
}

Kept keep_top_k(const Row& row, const Histogram& histogram, int32_t top_k) {
  Kept kept;
  int64_t left = top_k;
  for (int b = 0; b < kBuckets; ++b) {
    if (histogram.count[static_cast<size_t>(b)] >= left) {
      kept.whole = b;
      kept.part = sorted_bucket(row, b);
      kept.part.resize(static_cast<size_t>(left));
      for (const int32_t id : kept.part) kept.mass += row.weights[id];
      return kept;
    }
    left -= histogram.count[static_cast<size_t>(b)];
    kept.mass += histogram.mass[static_cast<size_t>(b)];
  }
  return kept;  // fewer tokens than top_k have any weight
}

/// Cuts `kept` down to the most probable tokens whose mass reaches top_p of it.
void keep_top_p(const Row& row, const Histogram& histogram, float top_p, Kept& kept) {
  uint64_t left = sampling::mass_needed(top_p, kept.mass);
  kept.mass = 0;
  for (int b = 0; b < kept.whole; ++b) {
    const uint64_t mass = histogram.mass[static_cast<size_t>(b)];
    if (mass >= left) {
      kept.whole = b;
      kept.part = sorted_bucket(row, b);
      break;
    }
    left -= mass;
    kept.mass += mass;
  }
  size_t count = 0;
  for (uint64_t mass = 0; mass < left && count < kept.part.size(); ++count) {
    mass += row.weights[kept.part[count]];
    kept.mass += row.weights[kept.part[count]];
  }
  kept.part.resize(count);
}

int32_t draw_from_all(const Row& row, uint64_t left) {
  for (int32_t id = 0; id < row.vocab; ++id) {
    if (left < row.weights[id]) return id;
    left -= row.weights[id];
  }
  return -1;  // not reached: left is below the sum
}

int32_t draw(const Row& row, uint64_t total, const SampleParams& params) {
  const uint64_t bits = sampling::draw_bits(params.seed, params.position);
  const bool limited = params.top_k > 0 && params.top_k < row.vocab;
  if (!limited && params.top_p >= 1) return draw_from_all(row, sampling::draw_below(bits, total));

  Histogram histogram;
  for (int32_t id = 0; id < row.vocab; ++id) {
    const int b = bucket_of(row, id);
    if (b == kBuckets) continue;
    ++histogram.count[static_cast<size_t>(b)];
    histogram.mass[static_cast<size_t>(b)] += row.weights[id];
  }
  Kept kept;
  if (limited)
    kept = keep_top_k(row, histogram, params.top_k);
  else
    kept.mass = total;
  if (params.top_p < 1) keep_top_p(row, histogram, params.top_p, kept);

  std::sort(kept.part.begin(), kept.part.end());
  uint64_t left = sampling::draw_below(bits, kept.mass);
  auto part = kept.part.begin();
  for (int32_t id = 0; id < row.vocab; ++id) {
    bool in = bucket_of(row, id) < kept.whole;
    if (part != kept.part.end() && *part == id) {
      in = true;
      ++part;
    }
    if (!in) continue;
    if (left < row.weights[id]) return id;
    left -= row.weights[id];
  }
  return -1;  // not reached: left is below the mass
}

}  // namespace

void sample_fast(const SampleDesc& desc, const SampleArgs& args, base::ThreadPool& pool,
                 const SamplePasses& passes) {
  pool.parallel_for(args.rows, [&](int64_t index, int) {
    const float* logits = args.logits + index * desc.vocab;
    const SampleParams& params = args.params[index];
    SampleResult& result = args.results[index];
    result = {-1, std::numeric_limits<float>::quiet_NaN()};
    float top = 0;
    int32_t best = 0;
    if (!passes.scan(logits, desc.vocab, &top, &best)) return;
    result.id = best;
    if (params.temperature > 0) {
      auto* weights = reinterpret_cast<uint64_t*>(
          scratch(Scratch::kTaskA, 2 * static_cast<size_t>(desc.vocab)));
      const uint64_t total = passes.weigh(logits, desc.vocab, top, params.temperature, weights);
      result.id = draw({logits, desc.vocab, top, params.temperature, weights}, total, params);
    }
    result.logprob =
        sampling::logprob(logits[result.id], top, passes.total(logits, desc.vocab, top));
  });
}

}  // namespace headroom::kernels
