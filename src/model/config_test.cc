// The reader of config.json: published shapes, both rope spellings, and every refusal.
#include "model/config.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/file.h"
#include "base/rng.h"

namespace headroom::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kTiny = std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";

std::string tiny_text() {
  return *base::read_file(kTiny + "/config.json");
}

/// tiny-mla's config with `from` replaced by `to`.
std::string error_with(std::string_view from, std::string_view to) {
  std::string text = tiny_text();
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto config = parse_config("config.json", text);
  return config ? "" : config.error().message;
}

TEST(Config, ReadsTheEmbeddedModel) {
  const auto config = load_config(kTiny);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->name, "tiny-mla");
  EXPECT_EQ(config->heads, 8);
  EXPECT_EQ(config->q_lora, 128);
  EXPECT_EQ(config->latent, 512);
  EXPECT_EQ(config->experts, 16);
  EXPECT_EQ(config->groups, 4);
  EXPECT_EQ(config->top_groups, 2);
  EXPECT_EQ(config->first_dense, 1);
  EXPECT_EQ(config->mtp_layers, 1);
  EXPECT_EQ(config->scoring, kernels::Scoring::kSigmoid);
  EXPECT_TRUE(config->router_bias);
  EXPECT_FLOAT_EQ(config->routed_scaling, 1.5f);
  ASSERT_TRUE(config->yarn);
  EXPECT_EQ(config->yarn->factor, 4);
  EXPECT_EQ(config->yarn->original_positions, 1024);
}

constexpr const char* kV2 =
    R"({"model_type":"deepseek_v2","architectures":["DeepseekV2ForCausalLM"],
  "vocab_size":102400,"hidden_size":2048,"num_hidden_layers":27,"num_attention_heads":16,
  "q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,
  "v_head_dim":128,"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,
  "n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"norm_topk_prob":false,
  "routed_scaling_factor":1.0,"rms_norm_eps":1e-6,"max_position_embeddings":163840,
  "hidden_act":"silu","rope_parameters":{"rope_theta":10000,"rope_type":"yarn","type":"yarn",
  "factor":40,"beta_fast":32,"beta_slow":1,"mscale":0.707,"mscale_all_dim":0.707,
  "original_max_position_embeddings":4096}})";

TEST(Config, V2MeansSoftmaxAndNoBias) {
  const auto config = parse_config("c", kV2);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->q_lora, 0);
  EXPECT_EQ(config->scoring, kernels::Scoring::kSoftmax);
  EXPECT_EQ(config->group_score, kernels::GroupScore::kMax);
  EXPECT_FALSE(config->router_bias);
  EXPECT_EQ(config->groups, 1);
  EXPECT_EQ(config->shared_experts, 2);
  EXPECT_EQ(config->rope_theta, 10000);
  EXPECT_EQ(config->yarn->mscale_all_dim, 0.707);
}

TEST(Config, TextPartOfAVisionModel) {
  std::string inner = kV2;
  inner.replace(inner.find("deepseek_v2"), 11, "deepseek_v3");
  inner.replace(inner.find("DeepseekV2"), 10, "DeepseekV3");
  const auto config = parse_config("c", fmt::format(R"({{"model_type":"kimi_k25","text_config":{},
                           "architectures":["KimiK25ForConditionalGeneration"]}})",
                                                    inner));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->weight_prefix, "language_model.");
  EXPECT_EQ(config->model_type, "deepseek_v3");
  EXPECT_EQ(config->layers, 27);
}

TEST(Config, RefusesByKeyAndValue) {
  EXPECT_EQ(error_with("\"silu\"", "\"silu\""), "");
  EXPECT_THAT(
      error_with("deepseek_v3", "deepseek_v32"),
      AllOf(HasSubstr("config.json: `model_type` is `deepseek_v32`"), HasSubstr("kimi_k2")));
  EXPECT_THAT(error_with("DeepseekV3ForCausalLM", "LlamaForCausalLM"),
              HasSubstr("`architectures` names \"LlamaForCausalLM\""));
  EXPECT_THAT(error_with("\"silu\"", "\"gelu\""), HasSubstr("`hidden_act` is `gelu`"));
  EXPECT_THAT(error_with("\"sigmoid\"", "\"tanh\""), HasSubstr("`scoring_func` is `tanh`"));
  EXPECT_THAT(error_with("noaux_tc", "greedy"), HasSubstr("`topk_method` is `greedy`"));
  EXPECT_THAT(error_with("\"type\": \"yarn\"", "\"type\": \"linear\""),
              HasSubstr("`rope_scaling.type` is `linear`"));
  EXPECT_THAT(error_with("\"type\": \"yarn\"", "\"type\": \"yarn\", \"short_factor\": 2"),
              HasSubstr("`rope_scaling.short_factor` is 2"));
  EXPECT_THAT(error_with("\"attention_bias\": false", "\"attention_bias\": true"),
              HasSubstr("`attention_bias` is true"));
  EXPECT_THAT(
      error_with("\"use_cache\": true", R"("quantization_config": {"quant_method": "awq"})"),
      HasSubstr("`quantization_config.quant_method` is `awq`"));
  EXPECT_THAT(error_with("\"moe_layer_freq\": 1", "\"moe_layer_freq\": 2"),
              HasSubstr("`moe_layer_freq` is 2"));
}

TEST(Config, NamesWhatIsMissingOrImpossible) {
  EXPECT_THAT(error_with("\"kv_lora_rank\": 512,", ""), HasSubstr("`kv_lora_rank` is missing"));
  EXPECT_THAT(error_with("\"rope_theta\": 10000.0,", ""), HasSubstr("`rope_theta` is missing"));
  EXPECT_THAT(error_with("\"factor\": 4.0,", ""), HasSubstr("`rope_scaling.factor` is missing"));
  EXPECT_THAT(error_with("\"hidden_size\": 256", "\"hidden_size\": -256"),
              HasSubstr("`hidden_size` is -256, not an integer from 1"));
  EXPECT_THAT(error_with("\"hidden_size\": 256", "\"hidden_size\": \"256\""),
              HasSubstr("`hidden_size` is \"256\""));
  EXPECT_THAT(error_with("\"n_group\": 4", "\"n_group\": 5"), HasSubstr("does not divide"));
  EXPECT_THAT(error_with("\"topk_group\": 2", "\"topk_group\": 5"), HasSubstr("more than n_group"));
  EXPECT_THAT(error_with("\"num_experts_per_tok\": 4", "\"num_experts_per_tok\": 9"),
              HasSubstr("more than the 8 experts"));
  EXPECT_THAT(error_with("{", "["), HasSubstr("not valid JSON"));
  EXPECT_THAT(load_config("/nowhere/model").error().message, HasSubstr("/nowhere/model"));
}

TEST(Config, MutatedTextIsReadOrRefused) {
  const std::string sound = tiny_text();
  base::Rng rng(11);
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = sound;
    if (round % 4 == 0) text.resize(rng.below(text.size()));
    for (uint64_t i = 1 + rng.below(3); i > 0 && !text.empty(); --i)
      text[rng.below(text.size())] = static_cast<char>(rng.below(256));
    const auto config = parse_config("c", text);
    if (config) {
      EXPECT_GE(config->heads, 1);
      EXPECT_LE(config->first_dense, config->layers);
    } else {
      ++refused;
      EXPECT_EQ(config.error().message.substr(0, 3), "c: ");
      EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace headroom::model
