// Sharding of every published shape for TP 1 to 16, with and without expert groups.
#include "model/sharding.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

namespace headroom::model {
namespace {

using ::testing::HasSubstr;

Config shape(const std::string& path) {
  auto config = load_config(std::string(HEADROOM_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(config) << config.error().message;
  return *config;
}

Config tiny() {
  return shape("models/tiny-mla");
}

/// Every element of every tensor is on exactly one rank, or whole on all.
void check_cover(const Config& config, int32_t tp, int32_t ep) {
  for (const TensorSpec& spec : tensor_specs(config)) {
    int64_t held = 0;
    for (int32_t rank = 0; rank < tp; ++rank) {
      const ShardRange range = shard_range(config, {tp, ep, rank}, spec);
      ASSERT_LE(range.row_end, spec.shape[0]);
      held += range.elements();
    }
    if (spec.split == Split::kReplicated)
      ASSERT_EQ(held, spec.elements() * tp) << spec.name;
    else
      ASSERT_EQ(held, spec.elements()) << spec.name;
  }
}

TEST(Sharding, CoversTheEmbeddedModel) {
  const Config config = tiny();
  for (const int32_t tp : {1, 2, 4, 8})
    for (int32_t ep = 1; ep <= tp; ep *= 2) {
      ASSERT_TRUE(shard(config, {tp, ep, 0}));
      check_cover(config, tp, ep);
    }
}

TEST(Sharding, HeadsPerRankOfPublishedModels) {
  const std::map<std::string, int32_t> heads = {
      {"deepseek-v3", 128}, {"kimi-k2", 64}, {"kimi-k2.5", 64}, {"deepseek-v2-lite", 16}};
  for (const auto& [name, count] : heads) {
    const Config config = shape("perf/shapes/" + name + ".json");
    for (int32_t tp = 1; tp <= 16; ++tp) {
      const auto rank = shard(config, {tp, 1, tp - 1});
      if (count % tp != 0) {
        ASSERT_FALSE(rank);
        EXPECT_THAT(rank.error().message,
                    HasSubstr(fmt::format("{} heads (num_attention_heads)", count)));
        continue;
      }
      ASSERT_TRUE(rank) << rank.error().message;
      EXPECT_EQ(rank->heads, count / tp);
      EXPECT_EQ(rank->dense_inter, config.dense_inter / tp);
      EXPECT_EQ(rank->first_vocab + rank->vocab, config.vocab);
    }
  }
}

TEST(Sharding, RangesFollowHeads) {
  const Config config = tiny();
  const Parallel third{4, 1, 2};
  for (const TensorSpec& spec : tensor_specs(config)) {
    const ShardRange range = shard_range(config, third, spec);
    if (spec.name == "model.layers.0.self_attn.q_b_proj.weight") {
      EXPECT_EQ(range, (ShardRange{4 * 192, 6 * 192, 0, 128}));
    } else if (spec.name == "model.layers.0.self_attn.kv_b_proj.weight") {
      EXPECT_EQ(range, (ShardRange{4 * 256, 6 * 256, 0, 512}));
    } else if (spec.name == "model.layers.0.self_attn.o_proj.weight") {
      EXPECT_EQ(range, (ShardRange{0, 256, 4 * 128, 6 * 128}));
    } else if (spec.name == "model.layers.0.self_attn.kv_a_proj_with_mqa.weight") {
      EXPECT_EQ(range, (ShardRange{0, 576, 0, 256}));
    } else if (spec.name == "model.layers.1.mlp.experts.3.down_proj.weight") {
      EXPECT_EQ(range, (ShardRange{0, 256, 64, 96}));
    } else if (spec.name == "model.layers.1.mlp.gate.e_score_correction_bias") {
      EXPECT_EQ(range, (ShardRange{0, 16, 0, 1}));
    }
  }
}

TEST(Sharding, ExpertGroupsHoldWholeExperts) {
  const Config config = tiny();
  const auto rank = shard(config, {4, 4, 3});
  ASSERT_TRUE(rank);
  EXPECT_EQ(rank->experts, 4);
  EXPECT_EQ(rank->first_expert, 12);
  EXPECT_EQ(rank->expert_inter, config.expert_inter);
  TensorSpec spec = tensor_specs(config).back();
  spec.expert = 11;
  EXPECT_EQ(shard_range(config, {4, 4, 3}, spec).elements(), 0);
  spec.expert = 12;
  EXPECT_EQ(shard_range(config, {4, 4, 3}, spec).elements(), spec.elements());
}

TEST(Sharding, ImpossibleLayoutsAreRefusedInOneLine) {
  const Config config = tiny();
  const auto error = [&](Parallel p) {
    const auto rank = shard(config, p);
    return rank ? "" : rank.error().message;
  };
  EXPECT_THAT(error({0, 1, 0}), HasSubstr("tp 0"));
  EXPECT_THAT(error({3, 1, 0}), HasSubstr("8 heads (num_attention_heads) do not divide by 3"));
  EXPECT_THAT(error({16, 1, 0}), HasSubstr("do not divide by 16"));
  EXPECT_THAT(error({4, 3, 0}), HasSubstr("ep 3: does not divide tp 4"));
  EXPECT_THAT(error({4, 1, 4}), HasSubstr("rank 4: tp 4 has ranks 0 to 3"));
}

TEST(Sharding, ParameterCountsOfPublishedModels) {
  EXPECT_NEAR(static_cast<double>(count_parameters(shape("perf/shapes/deepseek-v3.json")).total),
              671.0e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(shape("perf/shapes/deepseek-v3.json")).active),
              36.7e9, 0.1e9);
  EXPECT_NEAR(static_cast<double>(count_parameters(shape("perf/shapes/kimi-k2.json")).total),
              1.0265e12, 0.0005e12);
  EXPECT_NEAR(
      static_cast<double>(count_parameters(shape("perf/shapes/deepseek-v2-lite.json")).total),
      15.7e9, 0.05e9);
}

}  // namespace
}  // namespace headroom::model
