// Loading: small random checkpoints, each spoiled in one way, and what the error says.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/file.h"
#include "base/rng.h"
#include "model/deepseek.h"
#include "model/generate.h"
#include "model/weight_map.h"
#include "tensor/safetensors_writer.h"

namespace headroom::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConfig = R"({"model_type":"deepseek_v3","vocab_size":96,"hidden_size":64,
  "num_hidden_layers":2,"first_k_dense_replace":1,"num_attention_heads":2,"q_lora_rank":32,
  "kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
  "intermediate_size":96,"moe_intermediate_size":32,"n_routed_experts":4,"num_experts_per_tok":2,
  "n_group":1,"topk_group":1,"n_shared_experts":1,"routed_scaling_factor":2.0,
  "norm_topk_prob":true,"rms_norm_eps":1e-6,"rope_theta":10000,"num_nextn_predict_layers":1,
  "max_position_embeddings":64})";

class Load : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("model-{}-{}", getpid(),
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "config.json") << kConfig;
    config_ = *load_config(folder_);
    base::Rng rng(1);
    for (const TensorSpec& spec : tensor_specs(config_)) {
      std::string& bytes = data_.emplace_back();
      for (int64_t i = 0; i < spec.elements(); ++i) {
        const tensor::bf16 value = tensor::float_to_bf16(
            static_cast<float>(spec.kind == TensorKind::kNorm ? 1.0 : rng.normal() * 0.1));
        bytes.append(reinterpret_cast<const char*>(&value), 2);
      }
      tensors_.push_back({spec.name, "", tensor::DType::kBF16, spec.shape, {}});
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  size_t index_of(std::string_view name) {
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].name == name) return i;
    ADD_FAILURE() << name;
    return 0;
  }
  void write() {
    for (size_t i = 0; i < tensors_.size(); ++i)
      tensors_[i].data = std::as_bytes(std::span(data_[i].data(), data_[i].size()));
    ASSERT_TRUE(tensor::write_safetensors(folder_ / "model.safetensors", tensors_));
  }
  base::Result<std::unique_ptr<Deepseek>> load(LoadOptions options) {
    return Deepseek::load(folder_, options, pool_);
  }
  static LoadOptions options() {
    LoadOptions out;
    out.kv = kernels::KvType::kBf16;
    out.limits = {.max_tokens = 16, .max_sequences = 2, .max_logits_rows = 16};
    out.policy.allow_reference = true;
    return out;
  }
  std::string error() {
    write();
    const auto model = load(options());
    return model ? "" : model.error().message;
  }
  std::vector<float> logits() {
    write();
    const auto model = load(options());
    EXPECT_TRUE(model) << model.error().message;
    const std::vector<int32_t> ids = {1, 2, 3, 4, 5}, pages = {0, 1};
    const StepSequence sequence{
        .tokens = ids, .pages = pages.data(), .logits = StepSequence::Logits::kAll};
    const auto rows = (*model)->step({&sequence, 1});
    return {rows.begin(), rows.end()};
  }

  std::filesystem::path folder_;
  Config config_;
  std::vector<std::string> data_;
  std::vector<tensor::Tensor> tensors_;
  base::ThreadPool pool_{1};
};

TEST_F(Load, ASoundCheckpointRuns) {
  const auto rows = logits();
  EXPECT_EQ(rows.size(), 5u * 96u);
  for (const float value : rows) EXPECT_TRUE(std::isfinite(value));
}

TEST_F(Load, F32AndF16WeightsGiveTheSameAsBf16) {
  const auto expected = logits();
  int changed = 0;
  for (size_t i = 0; i < tensors_.size(); i += 2, ++changed) {  // values are exact in BF16
    std::string wide;
    for (size_t e = 0; e < data_[i].size(); e += 2) {
      tensor::bf16 value;
      std::memcpy(&value, data_[i].data() + e, 2);
      const float f = tensor::bf16_to_float(value);
      wide.append(reinterpret_cast<const char*>(&f), 4);
    }
    data_[i] = wide;
    tensors_[i].dtype = tensor::DType::kF32;
  }
  EXPECT_GT(changed, 10);
  EXPECT_EQ(logits(), expected);
}

TEST_F(Load, WrongShapeNamesFileTensorFoundAndExpected) {
  const size_t i = index_of("model.layers.1.self_attn.o_proj.weight");
  tensors_[i].shape = {256, 64};
  EXPECT_THAT(error(), AllOf(HasSubstr("model.safetensors: tensor `model.layers.1.self_attn."
                                       "o_proj.weight`: shape [256, 64], expected [64, 256]")));
}

TEST_F(Load, WrongDtypeNamesFileTensorAndType) {
  const size_t i = index_of("model.layers.1.mlp.experts.2.up_proj.weight");
  tensors_[i].dtype = tensor::DType::kF8E4M3;
  data_[i].resize(data_[i].size() / 2);
  EXPECT_THAT(error(), AllOf(HasSubstr("experts.2.up_proj.weight`: dtype F8_E4M3"),
                             HasSubstr("BF16, F16 or F32")));
}

TEST_F(Load, MissingTensorIsNamed) {
  const size_t i = index_of("model.layers.0.mlp.down_proj.weight");
  tensors_.erase(tensors_.begin() + static_cast<std::ptrdiff_t>(i));
  data_.erase(data_.begin() + static_cast<std::ptrdiff_t>(i));
  EXPECT_THAT(error(),
              HasSubstr("tensor `model.layers.0.mlp.down_proj.weight` [64, 96] is missing"));
}

TEST_F(Load, AForeignTensorIsRefusedButNotTheNextTokenLayer) {
  tensors_.push_back({"model.layers.2.eh_proj.weight", "", tensor::DType::kBF16, {4}, {}});
  data_.push_back(std::string(8, '\0'));
  EXPECT_EQ(error(), "");
  tensors_.push_back(
      {"model.layers.1.mlp.gate.weight_scale_inv", "", tensor::DType::kF32, {2}, {}});
  data_.push_back(std::string(8, '\0'));
  EXPECT_THAT(error(), HasSubstr("`model.layers.1.mlp.gate.weight_scale_inv` has no place"));
}

TEST_F(Load, TruncatedAndMissingFiles) {
  write();
  const auto file = folder_ / "model.safetensors";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
  EXPECT_THAT(load(options()).error().message,
              AllOf(HasSubstr("model.safetensors: tensor `"), HasSubstr("truncated")));
  std::filesystem::remove(file);
  EXPECT_THAT(load(options()).error().message, HasSubstr("holds neither model.safetensors nor"));
  std::ofstream(folder_ / "config.json") << "{\"model_type\": ";
  EXPECT_THAT(load(options()).error().message, HasSubstr("config.json: not valid JSON"));
  EXPECT_EQ(Deepseek::load("/nowhere", options(), pool_).error().code, base::ErrorCode::kNotFound);
}

TEST_F(Load, LimitsLayoutsAndMemory) {
  write();
  LoadOptions o = options();
  o.parallel.tp = 2;
  EXPECT_THAT(load(o).error().message, HasSubstr("this build runs one rank"));
  o = options();
  o.limits.max_context = 65;
  EXPECT_THAT(load(o).error().message, HasSubstr("context 65"));
  o = options();
  o.limits.max_sequences = 0;
  EXPECT_THAT(load(o).error().message, HasSubstr("0 sequences"));
  o = options();
  o.page_count = INT32_MAX;
  EXPECT_EQ(load(o).error().code, base::ErrorCode::kResourceExhausted);
}

TEST_F(Load, QuantizedConfigsAreRefusedBeforeTheirTensors) {
  write();
  std::string text = kConfig;
  text.insert(1, R"("quantization_config":{"quant_method":"fp8"},)");
  std::ofstream(folder_ / "config.json") << text;
  EXPECT_THAT(load(options()).error().message,
              HasSubstr("`quantization_config.quant_method` is `fp8`"));
}

TEST_F(Load, GenerateChecksItsPromptAndEnds) {
  write();
  const auto model = *load(options());
  const auto error_of = [&](std::vector<int32_t> ids) {
    const auto result = generate(*model, ids, {.max_tokens = 4}, {});
    return result ? base::Error{} : result.error();
  };
  EXPECT_THAT(error_of({}).message, HasSubstr("holds no token"));
  EXPECT_THAT(error_of({1, 96}).message, HasSubstr("id 96 at place 1 is outside the vocabulary (0 "
                                                   "to 95)"));
  EXPECT_THAT(error_of({-1}).message, HasSubstr("id -1"));
  EXPECT_EQ(error_of(std::vector<int32_t>(64, 3)).code, base::ErrorCode::kTooLarge);
  EXPECT_THAT(error_of(std::vector<int32_t>(64, 3)).message, HasSubstr("64 tokens"));

  std::vector<int32_t> prompt(60, 3), seen;  // chunks of 16
  const auto full = generate(*model, prompt, {.max_tokens = 100, .prompt_logprobs = true},
                             [&](int32_t id) { seen.push_back(id); });
  ASSERT_TRUE(full) << full.error().message;
  EXPECT_EQ(full->ids.size(), 4u) << "prompt and output fill the context";
  EXPECT_EQ(full->ids, seen);
  EXPECT_EQ(full->prompt_logprobs.size(), 59u);
  const auto stopped = generate(*model, prompt, {.max_tokens = 100, .eos = {full->ids[0]}}, {});
  EXPECT_TRUE(stopped->stopped);
  EXPECT_THAT(stopped->ids, ElementsAre(full->ids[0]));
}

TEST(TopLogits, LargestFirstTiesToTheLowestId) {
  const std::vector<float> logits = {1, 3, 2, 3, 0};
  EXPECT_THAT(top_logits(logits, 3),
              ElementsAre(std::pair(1, 3.0f), std::pair(3, 3.0f), std::pair(2, 2.0f)));
  EXPECT_EQ(top_logits(logits, 9).size(), 5u);
  EXPECT_TRUE(top_logits(logits, 0).empty());
}

}  // namespace
}  // namespace headroom::model
