// Tests of mla_prefill: float64 accuracy, chunking, hostile caches, bit-equality.
#include <gtest/gtest.h>

#include "kernels/mla_prefill/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

constexpr float kCanary = -77.0f;
constexpr float kScale = 0.1147f;

struct Prompt {
  MlaPrefillDesc desc;
  test::PagedCache cache;
  std::vector<std::vector<int32_t>> pages;
  std::vector<int32_t> lengths;
  std::vector<float> q;  // of every position of every prompt
  std::vector<tensor::bf16> kv_b;

  Prompt(int heads, KvType kv, int page_size, const std::vector<int32_t>& prompt_lengths,
         int latent = 512, int nope = 128, int rope = 64, int value = 128)
      : cache(kv, latent, rope, page_size, pages_for(prompt_lengths, page_size), 3),
        lengths(prompt_lengths) {
    desc.heads = desc.kernel_rows = heads;
    desc.latent = latent;
    desc.nope = nope;
    desc.rope = rope;
    desc.value = value;
    desc.kv = kv;
    desc.page_size = page_size;
    uint64_t seed = 10;
    for (const int32_t length : lengths) {
      pages.push_back(cache.take(length));
      cache.write(pages.back(),
                  test::random_floats(static_cast<size_t>(length * (latent + rope)), seed++),
                  length);
      const auto part =
          test::random_floats(static_cast<size_t>(length * heads * (nope + rope)), seed++);
      q.insert(q.end(), part.begin(), part.end());
    }
    // Weights as a model has them: projections of unit rows have unit size.
    kv_b = test::random_bf16(static_cast<size_t>(heads * (nope + value) * latent), 4,
                             1 / std::sqrt(latent));
  }
  static int pages_for(const std::vector<int32_t>& lengths, int page_size) {
    int pages = 3;
    for (const int32_t length : lengths) pages += (length + page_size - 1) / page_size;
    return pages;
  }
  int64_t first_row(size_t s) const {
    int64_t row = 0;
    for (size_t i = 0; i < s; ++i) row += lengths[i];
    return row;
  }
  size_t q_width() const { return static_cast<size_t>(desc.heads * (desc.nope + desc.rope)); }
  size_t out_width() const { return static_cast<size_t>(desc.heads * desc.value); }

  /// Tokens [begin, end) of prompt s, in one call → [end - begin, heads, value].
  std::vector<float> chunk(const MlaPrefillKernel& kernel, base::ThreadPool& pool, size_t s,
                           int32_t begin, int32_t end) const {
    const SequenceView view{pages[s].data(), end, end - begin, 0};
    return call(kernel, pool, {&view, 1}, static_cast<size_t>(first_row(s) + begin),
                static_cast<size_t>(end - begin));
  }
  /// Every prompt whole, in one call.
  std::vector<float> all(const MlaPrefillKernel& kernel, base::ThreadPool& pool) const {
    std::vector<SequenceView> views;
    for (size_t s = 0; s < lengths.size(); ++s)
      views.push_back(
          {pages[s].data(), lengths[s], lengths[s], static_cast<int32_t>(first_row(s))});
    return call(kernel, pool, views, 0, static_cast<size_t>(first_row(lengths.size())));
  }
  std::vector<float> call(const MlaPrefillKernel& kernel, base::ThreadPool& pool,
                          std::span<const SequenceView> views, size_t row, size_t rows) const {
    std::vector<float> out((rows + 1) * out_width(), kCanary);
    MlaPrefillArgs args;
    args.q = q.data() + row * q_width();
    args.kv_b = kv_b.data();
    args.out = out.data();
    args.cache = cache.view();
    args.sequences = views;
    args.scale = kScale;
    kernel.run(desc, args, pool);
    for (size_t i = rows * out_width(); i < out.size(); ++i) EXPECT_EQ(out[i], kCanary);
    out.resize(rows * out_width());
    return out;
  }
};

/// One query of one head against float64, with a tolerance that follows the arithmetic.
void expect_query_accurate(const Prompt& p, const std::vector<float>& out, size_t s, int position,
                           int head, const std::vector<float>& rows, const char* kernel) {
  const auto& d = p.desc;
  const int row_width = d.latent + d.rope;
  const int64_t index = (p.first_row(s) + position) * d.heads + head;
  const float* q = p.q.data() + index * (d.nope + d.rope);
  const tensor::bf16* kv_b = p.kv_b.data() + int64_t{head} * (d.nope + d.value) * d.latent;
  const int visible = position + 1;
  const auto project = [&](const float* row, int i, double& magnitude) {
    double sum = 0;
    magnitude = 0;
    for (int l = 0; l < d.latent; ++l) {
      const double term = double{tensor::bf16_to_float(kv_b[i * d.latent + l])} * row[l];
      sum += term;
      magnitude += std::abs(term);
    }
    return sum;
  };
  std::vector<double> score(static_cast<size_t>(visible));
  double top = -1e300, score_error = 0;
  for (int r = 0; r < visible; ++r) {
    const float* row = rows.data() + r * row_width;
    double dot = 0, error = 0;
    for (int i = 0; i < d.nope; ++i) {
      double magnitude;
      const double key = project(row, i, magnitude);
      dot += q[i] * key;
      // The key itself is a sum of `latent` products; then one of nope + rope.
      error += std::abs(q[i]) *
               (magnitude * (d.latent + 1) + std::abs(key) * (d.nope + d.rope + 2)) * test::kUnit;
    }
    for (int i = 0; i < d.rope; ++i) {
      const double term = double{q[d.nope + i]} * row[d.latent + i];
      dot += term;
      error += std::abs(term) * (d.nope + d.rope + 2) * test::kUnit;
    }
    score[static_cast<size_t>(r)] = double{kScale} * dot;
    score_error = std::max(score_error, double{kScale} * error);
    top = std::max(top, score[static_cast<size_t>(r)]);
  }
  double sum = 0;
  for (double& value : score) sum += value = std::exp(value - top);
  // As for mla_decode: scores, exp, score - maximum, and the sums over rows.
  const double relative = 2 * score_error + (8 + 2 * 64 + 2.0 * visible) * test::kUnit;
  for (int v = 0; v < d.value; ++v) {
    double exact = 0, tolerance = 0;
    for (int r = 0; r < visible; ++r) {
      double magnitude;
      const double value = project(rows.data() + r * row_width, d.nope + v, magnitude);
      const double p_r = score[static_cast<size_t>(r)] / sum;
      exact += p_r * value;
      tolerance += p_r * (std::abs(value) * relative + magnitude * (d.latent + 1) * test::kUnit);
    }
    ASSERT_NEAR(out[static_cast<size_t>(index * d.value + v)], exact, tolerance)
        << kernel << " " << d.text() << " prompt " << s << " position " << position << " head "
        << head << " value " << v;
  }
}

template <typename Check>
void for_each_kernel(const MlaPrefillDesc& desc, Check&& check) {
  for (const MlaPrefillKernel& kernel : mla_prefill_kernels())
    if (!kernel.refuses(desc)) check(kernel);
}

void expect_accurate(const Prompt& p, base::ThreadPool& pool, int head_step, int position_step) {
  for_each_kernel(p.desc, [&](const MlaPrefillKernel& kernel) {
    const std::vector<float> out = p.all(kernel, pool);
    for (size_t s = 0; s < p.lengths.size(); ++s) {
      const auto rows = test::decoded_rows(p.cache.view(), p.pages[s].data(), p.lengths[s]);
      for (int position = p.lengths[s] - 1; position >= 0; position -= position_step)
        for (int head = p.desc.heads - 1; head >= 0; head -= head_step)
          expect_query_accurate(p, out, s, position, head, rows, kernel.name);
    }
  });
}

TEST(MlaPrefill, MatchesFloat64AtEveryHeadCount) {
  base::ThreadPool pool(2);
  size_t turn = 0;
  for (const int heads : {1, 2, 3, 5, 8, 12, 16, 20, 48, 128}) {
    const KvType kv = std::array{KvType::kBf16, KvType::kFp8, KvType::kFp32}[turn++ % 3];
    expect_accurate(Prompt(heads, kv, 16, {11, 3}), pool, heads > 8 ? 19 : 1, 5);
  }
}

TEST(MlaPrefill, MatchesFloat64OverSeveralBlocks) {
  base::ThreadPool pool(2);
  expect_accurate(Prompt(2, KvType::kBf16, 16, {64, 65, 130, 0}), pool, 1, 32);
  expect_accurate(Prompt(1, KvType::kFp8, 32, {200}), pool, 1, 67);
}

TEST(MlaPrefill, MatchesFloat64AtOtherWidths) {
  base::ThreadPool pool(2);
  expect_accurate(Prompt(3, KvType::kBf16, 16, {70}, 64, 32, 16, 48), pool, 1, 23);
  expect_accurate(Prompt(2, KvType::kBf16, 16, {20}, 20, 10, 6, 9), pool, 1, 7);
}

TEST(MlaPrefill, ChunksOfAnySizeGiveTheSameBits) {
  base::ThreadPool one(1), two(2);
  for (const KvType kv : {KvType::kBf16, KvType::kFp8}) {
    const Prompt p(3, kv, 16, {150});
    for_each_kernel(p.desc, [&](const MlaPrefillKernel& kernel) {
      const std::vector<float> whole = p.all(kernel, two);
      for (const int32_t size : {1, 7, 64, 149}) {
        if (size == 1 && std::string_view(kernel.name) == "reference") continue;  // slow
        std::vector<float> joined;
        for (int32_t begin = 0; begin < 150; begin += size) {
          const auto part =
              p.chunk(kernel, size < 64 ? one : two, 0, begin, std::min(begin + size, 150));
          joined.insert(joined.end(), part.begin(), part.end());
        }
        ASSERT_EQ(joined.size(), whole.size());
        EXPECT_TRUE(test::same_bits(joined.data(), whole.data(), whole.size()))
            << kernel.name << " chunks of " << size;
      }
    });
  }
}

TEST(MlaPrefill, BatchThreadsAndPagesChangeNothing) {
  base::ThreadPool one(1), two(2), five(5);
  for (const int heads : {1, 3}) {
    const std::vector<int32_t> lengths{70, 1, 33, 0, 129};
    const Prompt p(heads, KvType::kBf16, 16, lengths);
    for_each_kernel(p.desc, [&](const MlaPrefillKernel& kernel) {
      const std::vector<float> all = p.all(kernel, two);
      EXPECT_EQ(all, p.all(kernel, one)) << kernel.name;
      EXPECT_EQ(all, p.all(kernel, five)) << kernel.name;
      for (size_t s = 0; s < lengths.size(); ++s) {
        const auto alone = p.chunk(kernel, five, s, 0, lengths[s]);
        EXPECT_TRUE(test::same_bits(
            alone.data(), all.data() + static_cast<size_t>(p.first_row(s)) * p.out_width(),
            alone.size()))
            << kernel.name << " prompt " << s;
      }
      for (const int page_size : {1, 32, 64, 128})
        EXPECT_EQ(all, Prompt(heads, KvType::kBf16, page_size, lengths).all(kernel, two))
            << kernel.name << " page size " << page_size;
    });
  }
}

TEST(MlaPrefill, LaterRowsAreInvisible) {
  base::ThreadPool pool(2);
  Prompt p(2, KvType::kBf16, 16, {90});
  for_each_kernel(p.desc, [&](const MlaPrefillKernel& kernel) {
    const auto before = p.chunk(kernel, pool, 0, 30, 90);
    Prompt changed(2, KvType::kBf16, 16, {90});
    const std::vector<float> row(576, 50.0f);
    kv_encode_row(KvType::kBf16, 512, 64, row.data(),
                  changed.cache.view().row(changed.pages[0].data(), 77));
    const auto after = changed.chunk(kernel, pool, 0, 30, 90);
    const size_t unseen = (77 - 30) * p.out_width();
    EXPECT_TRUE(test::same_bits(before.data(), after.data(), unseen)) << kernel.name;
    EXPECT_FALSE(test::same_bits(before.data() + unseen, after.data() + unseen, p.out_width()));
  });
}

}  // namespace
}  // namespace headroom::kernels
