// Tests of gemm: accuracy against float64, bit-equality of a row alone and in company.
#include <gtest/gtest.h>

#include "kernels/gemm/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

using tensor::DType;

struct Problem {
  GemmDesc desc;
  int64_t m;
  std::vector<float> x;
  std::vector<tensor::bf16> w16;
  std::vector<float> w32;

  Problem(int n, int k, int batch, int64_t rows, DType type) : desc{n, k, batch, type}, m(rows) {
    x = test::random_floats(static_cast<size_t>(batch * m * k), 1);
    const size_t count =
        static_cast<size_t>(batch) * static_cast<size_t>(n) * static_cast<size_t>(k);
    w16 = test::random_bf16(count, 2);
    for (const tensor::bf16 w : w16) w32.push_back(tensor::bf16_to_float(w));
  }
  /// y of `rows` rows from `first` on, [batch, rows, n] with a canary row behind each matrix.
  std::vector<float> run(const GemmKernel& kernel, base::ThreadPool& pool, int64_t first,
                         int64_t rows) const {
    const int64_t stride = desc.n + 3;
    std::vector<float> y(static_cast<size_t>(desc.batch * (rows + 1) * stride), -77.0f);
    GemmArgs args;
    args.x = x.data() + first * desc.k;
    args.x_stride = desc.k;
    args.x_batch = m * desc.k;
    args.w = desc.weight == DType::kF32 ? static_cast<const void*>(w32.data()) : w16.data();
    args.y = y.data();
    args.y_stride = stride;
    args.y_batch = (rows + 1) * stride;
    args.m = rows;
    kernel.run(desc, args, pool);
    std::vector<float> result;
    for (int64_t b = 0; b < desc.batch; ++b)
      for (int64_t row = 0; row <= rows; ++row)
        for (int64_t c = 0; c < stride; ++c) {
          const float value = y[static_cast<size_t>((b * (rows + 1) + row) * stride + c)];
          if (row < rows && c < desc.n)
            result.push_back(value);
          else
            EXPECT_EQ(value, -77.0f) << "canary of row " << row << " column " << c;
        }
    return result;
  }
};

void expect_accurate(const GemmKernel& kernel, const Problem& p, base::ThreadPool& pool) {
  const std::vector<float> y = p.run(kernel, pool, 0, p.m);
  for (int64_t b = 0; b < p.desc.batch; ++b)
    for (int64_t row = 0; row < p.m; ++row)
      for (int64_t n = 0; n < p.desc.n; ++n) {
        double exact = 0, magnitude = 0;
        for (int64_t k = 0; k < p.desc.k; ++k) {
          const double term = double{p.x[static_cast<size_t>((b * p.m + row) * p.desc.k + k)]} *
                              p.w32[static_cast<size_t>((b * p.desc.n + n) * p.desc.k + k)];
          exact += term;
          magnitude += std::abs(term);
        }
        // Any order of k products and k sums, each rounded once: |error| ≤ (k + 1)·u·Σ|x·w|.
        const double tolerance = (p.desc.k + 1) * test::kUnit * magnitude;
        ASSERT_NEAR(y[static_cast<size_t>((b * p.m + row) * p.desc.n + n)], exact, tolerance)
            << kernel.name << " " << p.desc.text() << " row " << row << " column " << n;
      }
}

TEST(Gemm, MatchesFloat64) {
  base::ThreadPool pool(2);
  for (const DType type : {DType::kBF16, DType::kF32})
    for (const auto& [n, k] : {std::pair{1, 1}, {3, 7}, {8, 32}, {17, 33}, {64, 100}, {130, 576}})
      for (const int64_t m : {1, 2, 3, 5, 6, 7, 16, 33}) {
        const Problem p(n, k, 1, m, type);
        for (const GemmKernel& kernel : gemm_kernels())
          if (!kernel.refuses(p.desc)) expect_accurate(kernel, p, pool);
      }
}

TEST(Gemm, MatchesFloat64InBatchesOfMatrices) {
  base::ThreadPool pool(2);
  for (const int batch : {2, 5, 12}) {
    const Problem p(40, 72, batch, 4, DType::kBF16);
    for (const GemmKernel& kernel : gemm_kernels())
      if (!kernel.refuses(p.desc)) expect_accurate(kernel, p, pool);
  }
}

TEST(Gemm, ARowAloneEqualsTheRowInABatch) {
  for (const DType type : {DType::kBF16, DType::kF32})
    for (const auto& [n, k] : {std::pair{200, 520}, {33, 47}}) {
      const Problem p(n, k, 1, 64, type);
      base::ThreadPool one(1), two(2), five(5);
      for (const GemmKernel& kernel : gemm_kernels()) {
        if (kernel.refuses(p.desc)) continue;
        const std::vector<float> all = p.run(kernel, one, 0, 64);
        EXPECT_EQ(all, p.run(kernel, two, 0, 64)) << kernel.name;
        EXPECT_EQ(all, p.run(kernel, five, 0, 64)) << kernel.name;
        for (const int64_t rows : {1, 2, 7, 9})
          for (int64_t first = 0; first + rows <= 64; first += rows) {
            const std::vector<float> some = p.run(kernel, rows == 9 ? two : one, first, rows);
            ASSERT_TRUE(test::same_bits(some.data(), all.data() + first * n, some.size()))
                << kernel.name << " rows " << first << "+" << rows;
          }
      }
    }
}

TEST(Gemm, NoRowsWritesNothing) {
  base::ThreadPool pool(2);
  const Problem p(8, 8, 1, 1, DType::kBF16);
  for (const GemmKernel& kernel : gemm_kernels())
    if (!kernel.refuses(p.desc)) {
      EXPECT_TRUE(p.run(kernel, pool, 0, 0).empty());
    }
}

TEST(Gemm, OtherWeightTypesAreRefused) {
  GemmDesc desc{8, 8, 1, DType::kF16};
  EXPECT_EQ(gemm_kernels().back().refuses(desc), Reason::kWeightType);
}

TEST(Gemm, TextNamesTheDescriptor) {
  EXPECT_EQ((GemmDesc{1536, 128, 1, DType::kBF16}.text()),
            "gemm n=1536 k=128 batch=1 w=BF16 x=F32");
}

}  // namespace
}  // namespace headroom::kernels
