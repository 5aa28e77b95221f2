// Config: the shape and arithmetic of a DeepSeek-V2/V3 or Kimi-K2 model, read from its config.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kernels/router/desc.h"

namespace headroom::model {

/// YaRN context extension (facts in rope.h).
struct Yarn {
  double factor = 1;
  double beta_fast = 32, beta_slow = 1;
  double mscale = 1, mscale_all_dim = 0;
  double original_positions = 0;
};

struct Config {
  std::string source;         // the file, for messages
  std::string name;           // shape files: their `name`; otherwise the folder's
  std::string model_type;     // "deepseek_v3"
  std::string weight_prefix;  // "" or "language_model." (text part of a vision model)
  std::string quantization;   // "" or quantization_config.quant_method

  int32_t vocab = 0, hidden = 0, layers = 0;
  int32_t heads = 0;   // of the whole model; a rank has heads / tp
  int32_t q_lora = 0;  // 0: one q_proj instead of q_a, norm, q_b
  int32_t latent = 0, nope = 0, rope = 0, value = 0;
  int32_t max_positions = 0;

  int32_t dense_inter = 0;
  int32_t first_dense = 0;  // layers before the first with experts; == layers: no experts at all
  int32_t experts = 0, top_k = 0, expert_inter = 0;
  int32_t shared_experts = 0;  // fused into one MLP of shared_experts * expert_inter
  int32_t groups = 1, top_groups = 1;
  kernels::Scoring scoring = kernels::Scoring::kSigmoid;
  kernels::GroupScore group_score = kernels::GroupScore::kTopTwoSum;
  bool router_bias = true;
  bool normalize = true;
  float routed_scaling = 1;

  float rms_eps = 0;
  double rope_theta = 0;
  std::optional<Yarn> yarn;
  int32_t mtp_layers = 0;  // stored behind the model's own layers

  int32_t query_width() const { return nope + rope; }
  bool is_moe(int32_t layer) const { return experts > 0 && layer >= first_dense; }
  int32_t moe_layers() const { return experts > 0 ? layers - first_dense : 0; }
  kernels::RouterDesc router() const;
};

/// Reads the text of a config.json, or of a shape file (the same with `name` and `source`).
/// Every error names `source`, the key and its value: kDataLoss for what is malformed, missing or
/// contradictory, kUnsupported for a value that we know of and cannot serve.
base::Result<Config> parse_config(std::string_view source, std::string_view text);

/// DIR/config.json, or a shape file itself.
base::Result<Config> load_config(const std::filesystem::path& path);

}  // namespace headroom::model
