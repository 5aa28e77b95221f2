// Tests of mla_decode: float64 accuracy at every head count, hostile caches, bit-equality.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>

#include "kernels/mla_decode/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

constexpr float kCanary = -77.0f;
constexpr float kScale = 0.1147f;

struct Request {
  std::vector<int32_t> pages;
  std::vector<float> rows;  // [length, width] before encoding
  int32_t length, tokens;
};

struct Outcome {
  std::vector<float> out, lse;  // with one canary row (all heads) behind
};

struct Step {
  MlaDecodeDesc desc;
  test::PagedCache cache;
  std::vector<Request> requests;
  std::vector<SequenceView> views;
  std::vector<float> q;
  int32_t query_rows = 0;

  /// One sequence per (length, tokens); row and query data depend on `seed` and the sequence's
  /// index alone, not on page size.
  Step(int heads, KvType kv, int page_size, const std::vector<std::pair<int, int>>& shape,
       uint64_t seed = 1, int latent = 512, int rope = 64)
      : cache(kv, latent, rope, page_size, pages_for(shape, page_size), seed) {
    desc.heads = desc.kernel_rows = heads;
    desc.latent = latent;
    desc.rope = rope;
    desc.kv = kv;
    desc.page_size = page_size;
    const int width = latent + rope;
    for (size_t s = 0; s < shape.size(); ++s) {
      const auto [length, tokens] = shape[s];
      requests.push_back({cache.take(length),
                          test::random_floats(static_cast<size_t>(length * width), seed + 10 * s),
                          length, tokens});
      cache.write(requests[s].pages, requests[s].rows, length);
      const auto part =
          test::random_floats(static_cast<size_t>(tokens * heads * width), seed + 10 * s + 5);
      q.insert(q.end(), part.begin(), part.end());
      query_rows += tokens;
    }
    int32_t first_row = 0;
    for (const Request& r : requests) {
      views.push_back({r.pages.data(), r.length, r.tokens, first_row});
      first_row += r.tokens;
    }
  }
  static int pages_for(const std::vector<std::pair<int, int>>& shape, int page_size) {
    int pages = 3;
    for (const auto& [length, tokens] : shape) pages += (length + page_size - 1) / page_size;
    return pages;
  }

  Outcome run(const MlaDecodeKernel& kernel, base::ThreadPool& pool) const {
    Outcome outcome;
    const auto rows = static_cast<size_t>((query_rows + 1) * desc.heads);
    outcome.out.assign(rows * static_cast<size_t>(desc.latent), kCanary);
    outcome.lse.assign(rows, kCanary);
    MlaDecodeArgs args;
    args.q = q.data();
    args.out = outcome.out.data();
    args.lse = outcome.lse.data();
    args.cache = cache.view();
    args.sequences = views;
    args.scale = kScale;
    kernel.run(desc, args, pool);
    for (size_t i = rows - static_cast<size_t>(desc.heads); i < rows; ++i) {
      EXPECT_EQ(outcome.lse[i], kCanary) << kernel.name;
      EXPECT_EQ(outcome.out[i * static_cast<size_t>(desc.latent)], kCanary) << kernel.name;
    }
    return outcome;
  }
};

/// Compares one (sequence, token, head) with float64; the tolerance follows the arithmetic.
void expect_row_accurate(const Step& step, const Outcome& outcome, size_t s, int token, int head,
                         const std::vector<float>& rows, const char* kernel) {
  const int latent = step.desc.latent, width = latent + step.desc.rope;
  const SequenceView& view = step.views[s];
  const int64_t index = int64_t{view.first_row + token} * step.desc.heads + head;
  const float* q = step.q.data() + index * width;
  const int visible = view.length - view.tokens + token + 1;
  std::vector<double> score(static_cast<size_t>(visible));
  double top = -1e300, score_error = 0;
  for (int r = 0; r < visible; ++r) {
    double dot = 0, magnitude = 0;
    for (int d = 0; d < width; ++d) {
      const double term = double{q[d]} * rows[static_cast<size_t>(r * width + d)];
      dot += term;
      magnitude += std::abs(term);
    }
    score[static_cast<size_t>(r)] = double{kScale} * dot;
    // width products and sums in any order, then the scale.
    score_error = std::max(score_error, double{kScale} * magnitude * (width + 2) * test::kUnit);
    top = std::max(top, score[static_cast<size_t>(r)]);
  }
  double sum = 0;
  for (double& value : score) sum += value = std::exp(value - top);
  // A probability is off by twice the error of its score (its own and the sum's), by 4 ulp of each
  // exp, by one rounding of every score - maximum ≤ 2^6, and by one rounding per row and per
  // rescaling in the sums.
  const double relative = 2 * score_error + (8 + 2 * 64 + 2.0 * visible) * test::kUnit;
  for (int d = 0; d < latent; ++d) {
    double exact = 0, magnitude = 0;
    for (int r = 0; r < visible; ++r) {
      const double term =
          score[static_cast<size_t>(r)] / sum * rows[static_cast<size_t>(r * width + d)];
      exact += term;
      magnitude += std::abs(term);
    }
    ASSERT_NEAR(outcome.out[static_cast<size_t>(index * latent + d)], exact, relative * magnitude)
        << kernel << " " << step.desc.text() << " sequence " << s << " token " << token << " head "
        << head << " dim " << d;
  }
  const double lse = top + std::log(sum);
  ASSERT_NEAR(outcome.lse[static_cast<size_t>(index)], lse,
              relative + 4 * test::kUnit * std::abs(lse))
      << kernel << " " << step.desc.text();
}

void expect_accurate(const Step& step, const Outcome& outcome, const char* kernel,
                     int head_stride = 1) {
  for (size_t s = 0; s < step.views.size(); ++s) {
    const SequenceView& view = step.views[s];
    if (view.tokens == 0) continue;
    const auto rows = test::decoded_rows(step.cache.view(), view.pages, view.length);
    for (int token = 0; token < view.tokens; ++token)
      for (int head = 0; head < step.desc.heads; head += head_stride)
        expect_row_accurate(step, outcome, s, token, head, rows, kernel);
  }
}

template <typename Check>
void for_each_kernel(const MlaDecodeDesc& desc, Check&& check) {
  for (const MlaDecodeKernel& kernel : mla_decode_kernels())
    if (!kernel.refuses(desc)) check(kernel);
}

TEST(MlaDecode, MatchesFloat64AtEveryHeadCount) {
  base::ThreadPool pool(2);
  int turn = 0;
  for (const int heads : {1, 2, 3, 4, 5, 8, 12, 16, 20, 24, 32, 48, 64, 96, 128}) {
    const KvType kv =
        std::array{KvType::kBf16, KvType::kFp8, KvType::kFp32}[static_cast<size_t>(turn++ % 3)];
    const Step step(heads, kv, 16, {{1, 1}, {70, 1}, {0, 0}, {37, 3}, {5, 5}});
    for_each_kernel(step.desc, [&](const MlaDecodeKernel& kernel) {
      expect_accurate(step, step.run(kernel, pool), kernel.name, heads > 16 ? 7 : 1);
    });
  }
}

TEST(MlaDecode, MatchesFloat64OverSplitsAndAtTheirEdges) {
  base::ThreadPool pool(2);
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    const Step step(3, kv, 32, {{255, 1}, {256, 1}, {257, 3}, {700, 2}, {512, 4}});
    for_each_kernel(step.desc, [&](const MlaDecodeKernel& kernel) {
      expect_accurate(step, step.run(kernel, pool), kernel.name);
    });
  }
}

TEST(MlaDecode, MatchesFloat64AtOtherWidths) {
  base::ThreadPool pool(2);
  for (const auto& [latent, rope] : {std::pair{64, 16}, {128, 32}, {24, 8}}) {
    const Step step(5, KvType::kBf16, 16, {{40, 2}}, 1, latent, rope);
    for_each_kernel(step.desc, [&](const MlaDecodeKernel& kernel) {
      expect_accurate(step, step.run(kernel, pool), kernel.name);
    });
  }
}

TEST(MlaDecode, PageSizeAndPageIdsChangeNothing) {
  base::ThreadPool pool(2);
  for (const KvType kv : {KvType::kFp32, KvType::kBf16, KvType::kFp8})
    for (const int heads : {1, 8, 12}) {
      const std::vector<std::pair<int, int>> shape{{300, 1}, {65, 2}};
      const Step base(heads, kv, 16, shape);
      for_each_kernel(base.desc, [&](const MlaDecodeKernel& kernel) {
        const Outcome expected = base.run(kernel, pool);
        for (const int page_size : {1, 16, 32, 64, 128}) {
          const Step step(heads, kv, page_size, shape);
          const Outcome outcome = step.run(kernel, pool);
          EXPECT_EQ(outcome.out, expected.out) << kernel.name << " page size " << page_size;
          EXPECT_EQ(outcome.lse, expected.lse) << kernel.name << " page size " << page_size;
        }
      });
    }
}

TEST(MlaDecode, AloneEqualsInABatchOf64WithAnyThreads) {
  for (const bool fp8 : {false, true}) {
    const KvType kv = fp8 ? KvType::kFp8 : KvType::kBf16;
    const int heads = fp8 ? 12 : 8;
    std::vector<std::pair<int, int>> shape;
    for (int s = 0; s < 64; ++s)
      // Some contexts are longer than a split.
      shape.emplace_back(s % 21 == 0 ? 257 + s : 1 + s * 41 % 120, s % 5 == 4 ? 0 : 1);
    const Step batch(heads, kv, 16, shape);
    base::ThreadPool one(1), two(2), five(5);
    for_each_kernel(batch.desc, [&](const MlaDecodeKernel& kernel) {
      const Outcome all = batch.run(kernel, two);
      EXPECT_EQ(all.out, batch.run(kernel, one).out) << kernel.name;
      EXPECT_EQ(all.out, batch.run(kernel, five).out) << kernel.name;
      for (size_t s = 0; s < shape.size(); s += 7) {
        if (shape[s].second == 0) continue;
        Step alone = batch;
        alone.views = {batch.views[s]};
        base::ThreadPool& pool = s % 4 == 0 ? five : s % 4 == 1 ? two : one;
        const Outcome outcome = alone.run(kernel, pool);
        const auto at = static_cast<size_t>(batch.views[s].first_row * heads);
        EXPECT_TRUE(test::same_bits(outcome.out.data() + at * 512, all.out.data() + at * 512,
                                    static_cast<size_t>(heads) * 512))
            << kernel.name << " sequence " << s;
        EXPECT_TRUE(test::same_bits(outcome.lse.data() + at, all.lse.data() + at,
                                    static_cast<size_t>(heads)));
      }
    });
  }
}

TEST(MlaDecode, SeveralNewTokensEqualOneAtATime) {
  base::ThreadPool pool(2);
  for (const int length : {9, 258, 515}) {  // the new tokens straddle a split
    const Step together(8, KvType::kFp8, 16, {{length, 4}});
    for_each_kernel(together.desc, [&](const MlaDecodeKernel& kernel) {
      const Outcome expected = together.run(kernel, pool);
      for (int token = 0; token < 4; ++token) {
        Step single = together;
        single.views[0].length = length - 3 + token;
        single.views[0].tokens = 1;
        single.views[0].first_row = token;
        const Outcome outcome = single.run(kernel, pool);
        const auto at = static_cast<size_t>(token * 8);
        EXPECT_TRUE(
            test::same_bits(outcome.out.data() + at * 512, expected.out.data() + at * 512, 8 * 512))
            << kernel.name << " length " << length << " token " << token;
        EXPECT_EQ(outcome.lse[at], expected.lse[at]);
      }
    });
  }
}

TEST(MlaDecode, EmptySequencesWriteNothing) {
  base::ThreadPool pool(2);
  const Step step(8, KvType::kBf16, 16, {{0, 0}, {20, 0}});
  for_each_kernel(step.desc, [&](const MlaDecodeKernel& kernel) {
    const Outcome outcome = step.run(kernel, pool);  // run() checks the canaries
    EXPECT_EQ(outcome.lse.size(), 8u);
  });
}

TEST(MlaDecode, ANanRowPoisonsOnlyItsReaders) {
  base::ThreadPool pool(2);
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    Step step(4, kv, 16, {{50, 1}, {50, 1}});
    std::vector<float> row(576, std::numeric_limits<float>::quiet_NaN());
    kv_encode_row(kv, 512, 64, row.data(), step.cache.view().row(step.views[0].pages, 20));
    for_each_kernel(step.desc, [&](const MlaDecodeKernel& kernel) {
      const Outcome outcome = step.run(kernel, pool);
      for (size_t i = 0; i < 4 * 512; ++i) EXPECT_TRUE(std::isnan(outcome.out[i]));
      for (size_t i = 4 * 512; i < 8 * 512; ++i) ASSERT_TRUE(std::isfinite(outcome.out[i]));
    });
  }
}

TEST(MlaDecode, OffsetsBeyondFourGigabytes) {
  base::ThreadPool pool(2);
  const Step small(8, KvType::kFp8, 64, {{100, 1}});
  // Two pages, one past 2^31 bytes and one past 2^32, of a cache that is mapped but untouched.
  const int64_t page_bytes = int64_t{64} * 656;
  const std::vector<int32_t> pages{static_cast<int32_t>((int64_t{1} << 31) / page_bytes + 1),
                                   static_cast<int32_t>((int64_t{1} << 32) / page_bytes + 1)};
  const size_t bytes = static_cast<size_t>((pages[1] + 1) * page_bytes);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "cannot reserve " << bytes << " bytes of addresses";
  CacheView view = small.cache.view();
  view.base = static_cast<std::byte*>(memory);
  for (int64_t r = 0; r < 100; ++r)
    std::memcpy(view.row(pages.data(), r), small.cache.view().row(small.views[0].pages, r), 656);
  for_each_kernel(small.desc, [&](const MlaDecodeKernel& kernel) {
    const Outcome expected = small.run(kernel, pool);
    std::vector<float> out(8 * 512);
    const SequenceView sequence{pages.data(), 100, 1, 0};
    MlaDecodeArgs args;
    args.q = small.q.data();
    args.out = out.data();
    args.cache = view;
    args.sequences = {&sequence, 1};
    args.scale = kScale;
    kernel.run(small.desc, args, pool);
    EXPECT_TRUE(test::same_bits(out.data(), expected.out.data(), out.size())) << kernel.name;
  });
  munmap(memory, bytes);
}

TEST(MergePartials, SplitEqualsWholeAndEmptyPartsAreNeutral) {
  constexpr float kEmpty = -std::numeric_limits<float>::infinity();
  // Two rows with scores 1 and 3, values 10 and 20.
  float out[1] = {10}, lse = 1;
  const float other[1] = {20};
  merge_partials(out, &lse, other, 3, 1);
  const double a = std::exp(1.0), b = std::exp(3.0);
  EXPECT_NEAR(out[0], (a * 10 + b * 20) / (a + b), 1e-5);
  EXPECT_NEAR(lse, std::log(a + b), 1e-6);
  const float zero[1] = {0};
  const float before = out[0], lse_before = lse;
  merge_partials(out, &lse, zero, kEmpty, 1);
  EXPECT_EQ(out[0], before);
  EXPECT_EQ(lse, lse_before);
  float empty[1] = {0}, empty_lse = kEmpty;
  merge_partials(empty, &empty_lse, zero, kEmpty, 1);
  EXPECT_EQ(empty[0], 0);
  EXPECT_EQ(empty_lse, kEmpty);
  merge_partials(empty, &empty_lse, other, 3, 1);
  EXPECT_EQ(empty[0], 20);
  EXPECT_EQ(empty_lse, 3);
}

TEST(MlaDecode, NoHeadCountIsPadded) {
  for (int heads = 1; heads <= 128; ++heads)
    for (const MlaDecodeKernel& kernel : mla_decode_kernels()) {
      MlaDecodeDesc desc;
      desc.heads = heads;
      EXPECT_EQ(mla_decode_kernel_rows(kernel.name, desc), heads);
    }
}

}  // namespace
}  // namespace headroom::kernels
