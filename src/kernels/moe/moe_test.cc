// Tests of moe: float64 accuracy, skipped slots, bit-equality of a token alone and in company.
#include <gtest/gtest.h>

#include "kernels/moe/desc.h"
#include "kernels/test_support.h"

namespace headroom::kernels {
namespace {

using tensor::DType;

struct Layer {
  MoeDesc desc;
  int64_t tokens;
  std::vector<std::vector<tensor::bf16>> w16;  // gate, up, down of each expert
  std::vector<std::vector<float>> w32;
  std::vector<ExpertWeights> experts;
  std::vector<float> x, weights;
  std::vector<int32_t> ids;
  bool dense = false;

  Layer(int hidden, int inter, int expert_count, int top_k, int64_t token_count,
        DType type = DType::kBF16)
      : desc{hidden, inter, expert_count, top_k, type, static_cast<int32_t>(token_count)},
        tokens(token_count) {
    const auto size = static_cast<size_t>(hidden * inter);
    for (int i = 0; i < 3 * expert_count; ++i) {
      w16.push_back(test::random_bf16(size, static_cast<uint64_t>(100 + i), 1 / std::sqrt(hidden)));
      w32.emplace_back();
      for (const tensor::bf16 w : w16.back()) w32.back().push_back(tensor::bf16_to_float(w));
    }
    for (size_t e = 0; e < static_cast<size_t>(expert_count); ++e) {
      const auto at = [&](size_t i) -> const void* {
        return type == DType::kF32 ? static_cast<const void*>(w32[3 * e + i].data())
                                   : w16[3 * e + i].data();
      };
      experts.push_back({at(0), at(1), at(2)});
    }
    x = test::random_floats(static_cast<size_t>(tokens * hidden), 1);
    base::Rng rng(2);
    for (int64_t i = 0; i < tokens * top_k; ++i) {
      // One slot in nine is empty; a token may well meet an expert twice.
      ids.push_back(rng.below(9) == 0
                        ? -1
                        : static_cast<int32_t>(rng.below(static_cast<uint64_t>(expert_count))));
      weights.push_back(static_cast<float>(rng.uniform()));
    }
  }

  std::vector<float> run(const MoeKernel& kernel, base::ThreadPool& pool, int64_t first,
                         int64_t count, bool add) const {
    std::vector<float> y(static_cast<size_t>((count + 1) * desc.hidden), 0.5f);
    MoeArgs args;
    args.x = x.data() + first * desc.hidden;
    args.y = y.data();
    args.add = add;
    args.experts = experts;
    args.ids = dense ? nullptr : ids.data() + first * desc.top_k;
    args.weights = dense ? nullptr : weights.data() + first * desc.top_k;
    args.tokens = count;
    kernel.run(desc, args, pool);
    for (size_t i = static_cast<size_t>(count * desc.hidden); i < y.size(); ++i)
      EXPECT_EQ(y[i], 0.5f) << "canary";
    y.resize(static_cast<size_t>(count * desc.hidden));
    return y;
  }
};

void expect_accurate(const Layer& layer, const std::vector<float>& y, bool add,
                     const char* kernel) {
  const int64_t hidden = layer.desc.hidden, inter = layer.desc.inter;
  for (int64_t token = 0; token < layer.tokens; ++token) {
    std::vector<double> exact(static_cast<size_t>(hidden), add ? 0.5 : 0.0);
    std::vector<double> tolerance(static_cast<size_t>(hidden), test::kUnit);
    for (int64_t slot = 0; slot < layer.desc.top_k; ++slot) {
      const auto pair = static_cast<size_t>(token * layer.desc.top_k + slot);
      const int32_t id = layer.dense ? 0 : layer.ids[pair];
      if (id < 0) continue;
      const double weight = layer.dense ? 1 : layer.weights[pair];
      const auto* w = &layer.w32[static_cast<size_t>(3 * id)];
      std::vector<double> inner(static_cast<size_t>(inter)), error(inner.size());
      for (int64_t i = 0; i < inter; ++i) {
        double gate = 0, up = 0, gate_size = 0, up_size = 0;
        for (int64_t h = 0; h < hidden; ++h) {
          const double value = layer.x[static_cast<size_t>(token * hidden + h)];
          const double g = value * w[0][static_cast<size_t>(i * hidden + h)];
          const double u = value * w[1][static_cast<size_t>(i * hidden + h)];
          gate += g;
          up += u;
          gate_size += std::abs(g);
          up_size += std::abs(u);
        }
        const double silu = gate / (1 + std::exp(-gate));
        // Dot products of `hidden` terms; silu's slope is below 1.1; exp, sum, quotient, product
        // add less than 8 roundings.
        const double unit = (hidden + 1) * test::kUnit;
        inner[static_cast<size_t>(i)] = silu * up;
        error[static_cast<size_t>(i)] = 1.1 * gate_size * unit * std::abs(up) +
                                        std::abs(silu) * up_size * unit +
                                        8 * test::kUnit * std::abs(silu * up);
      }
      for (int64_t h = 0; h < hidden; ++h) {
        double sum = 0;
        for (int64_t i = 0; i < inter; ++i) {
          const double down = w[2][static_cast<size_t>(h * inter + i)];
          const double term = down * inner[static_cast<size_t>(i)];
          sum += term;
          tolerance[static_cast<size_t>(h)] +=
              weight * (std::abs(down) * error[static_cast<size_t>(i)] +
                        (static_cast<double>(inter) + 4) * test::kUnit * std::abs(term));
        }
        exact[static_cast<size_t>(h)] += weight * sum;
      }
    }
    for (int64_t h = 0; h < hidden; ++h) {
      const auto at = static_cast<size_t>(h);
      // The sums over slots: one rounding per slot of what is there so far.
      const double slots =
          layer.desc.top_k * test::kUnit * (std::abs(exact[at]) + 1 + layer.desc.top_k);
      ASSERT_NEAR(y[static_cast<size_t>(token * hidden + h)], exact[at], tolerance[at] + slots)
          << kernel << " " << layer.desc.text() << " token " << token << " dim " << h;
    }
  }
}

template <typename Check>
void for_each_kernel(const MoeDesc& desc, Check&& check) {
  for (const MoeKernel& kernel : moe_kernels())
    if (!kernel.refuses(desc)) check(kernel);
}

TEST(Moe, MatchesFloat64) {
  base::ThreadPool pool(2);
  for (const DType type : {DType::kBF16, DType::kF32})
    for (const auto& [hidden, inter] : {std::pair{64, 48}, {96, 33}, {37, 10}})
      for (const auto& [experts, top_k] : {std::pair{4, 2}, {16, 6}, {1, 1}})
        for (const int64_t tokens : {1, 3, 20}) {
          const Layer layer(hidden, inter, experts, top_k, tokens, type);
          for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
            for (const bool add : {false, true})
              expect_accurate(layer, layer.run(kernel, pool, 0, tokens, add), add, kernel.name);
          });
        }
}

TEST(Moe, ADenseMlpIsOneExpertOfAll) {
  base::ThreadPool pool(2);
  for (const int64_t tokens : {1, 9}) {
    Layer layer(128, 200, 1, 1, tokens);
    layer.dense = true;
    for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
      for (const bool add : {false, true})
        expect_accurate(layer, layer.run(kernel, pool, 0, tokens, add), add, kernel.name);
    });
  }
}

TEST(Moe, ATokenAloneEqualsTheTokenInABatch) {
  base::ThreadPool one(1), two(2), five(5);
  const Layer layer(256, 128, 8, 4, 64);
  for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
    const std::vector<float> all = layer.run(kernel, one, 0, 64, false);
    EXPECT_EQ(all, layer.run(kernel, two, 0, 64, false)) << kernel.name;
    EXPECT_EQ(all, layer.run(kernel, five, 0, 64, false)) << kernel.name;
    for (const int64_t count : {1, 5})
      for (int64_t first = 0; first + count <= 64; first += count) {
        const auto some = layer.run(kernel, count == 1 ? one : two, first, count, false);
        ASSERT_TRUE(test::same_bits(some.data(), all.data() + first * 256, some.size()))
            << kernel.name << " tokens " << first << "+" << count;
      }
  });
}

TEST(Moe, EmptySlotsAndNoTokens) {
  base::ThreadPool pool(2);
  Layer layer(64, 32, 4, 2, 3);
  std::fill(layer.ids.begin(), layer.ids.end(), -1);
  for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
    EXPECT_EQ(layer.run(kernel, pool, 0, 3, false), std::vector<float>(3 * 64, 0.0f));
    EXPECT_EQ(layer.run(kernel, pool, 0, 3, true), std::vector<float>(3 * 64, 0.5f));
    EXPECT_TRUE(layer.run(kernel, pool, 0, 0, false).empty());
  });
}

TEST(MoeDeathTest, AnIdOfNoExpertStopsTheProgram) {
  base::ThreadPool pool(1);
  Layer layer(64, 32, 4, 2, 2);
  layer.ids[1] = 4;
  for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
    EXPECT_DEATH(layer.run(kernel, pool, 0, 2, false), "expert 4 of 4") << kernel.name;
  });
}

TEST(Moe, UnusedExpertsAreNotRead) {
  base::ThreadPool pool(2);
  Layer layer(64, 32, 4, 2, 5);
  for (int32_t& id : layer.ids) id = id == 3 ? 2 : id;
  layer.experts[3] = {nullptr, nullptr, nullptr};  // reading it would end the test
  for_each_kernel(layer.desc, [&](const MoeKernel& kernel) {
    expect_accurate(layer, layer.run(kernel, pool, 0, 5, false), false, kernel.name);
  });
}

}  // namespace
}  // namespace headroom::kernels
