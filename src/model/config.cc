// config.json → Config: what it says is checked, what it leaves out takes the family's documented
// default, what we cannot serve is refused by name.
#include "model/config.h"

#include "base/file.h"
#include "model/config_fields.h"

namespace headroom::model {

using base::ErrorCode;
using base::Result;

namespace {

// Bounds far above every published model; they keep products within 64 bits.
constexpr int64_t kMaxWidth = 1 << 20;
constexpr int64_t kMaxCount = 1 << 16;
constexpr int64_t kMaxTokens = 1 << 28;

void read_shapes(ConfigFields& in, Config& out) {
  out.vocab = in.integer("vocab_size", 1, kMaxTokens);
  out.hidden = in.integer("hidden_size", 1, kMaxWidth);
  out.layers = in.integer("num_hidden_layers", 1, kMaxCount);
  out.heads = in.integer("num_attention_heads", 1, kMaxCount);
  out.q_lora = in.integer("q_lora_rank", 1, kMaxWidth, 0);
  out.latent = in.integer("kv_lora_rank", 1, kMaxWidth);
  out.nope = in.integer("qk_nope_head_dim", 1, kMaxCount);
  out.rope = in.integer("qk_rope_head_dim", 2, kMaxCount);
  out.value = in.integer("v_head_dim", 1, kMaxCount);
  out.dense_inter = in.integer("intermediate_size", 1, kMaxWidth);
  out.max_positions = in.integer("max_position_embeddings", 1, kMaxTokens);
  out.rms_eps = static_cast<float>(in.number("rms_norm_eps", 0, 1));
  out.mtp_layers = in.integer("num_nextn_predict_layers", 0, kMaxCount, 0);
  if (out.rope % 2 != 0)
    in.fail(ErrorCode::kDataLoss, "qk_rope_head_dim",
            fmt::format("is {}; rotations need an even width", out.rope));
}

/// V2 chooses by softmax and the best expert of a group, V3 by sigmoid, a bias and the two best.
void read_router(ConfigFields& in, bool v2, Config& out) {
  out.experts = in.integer("n_routed_experts", 0, kMaxCount, 0);
  if (out.experts == 0) {
    out.first_dense = out.layers;
    return;
  }
  out.first_dense = in.integer("first_k_dense_replace", 0, kMaxCount);
  out.top_k = in.integer("num_experts_per_tok", 1, kMaxCount);
  out.expert_inter = in.integer("moe_intermediate_size", 1, kMaxWidth);
  out.shared_experts = in.integer("n_shared_experts", 0, kMaxCount, 0);
  out.groups = in.integer("n_group", 1, kMaxCount, 1);
  out.top_groups = in.integer("topk_group", 1, kMaxCount, 1);
  out.normalize = in.flag("norm_topk_prob");
  out.routed_scaling = static_cast<float>(in.number("routed_scaling_factor", 1e-6, 1e6));
  in.integer("moe_layer_freq", 1, 1, 1);
  const std::string scoring =
      in.choice("scoring_func", {"softmax", "sigmoid"}, v2 ? "softmax" : "sigmoid");
  out.scoring = scoring == "softmax" ? kernels::Scoring::kSoftmax : kernels::Scoring::kSigmoid;
  if (v2) {
    const std::string method =
        in.choice("topk_method", {"greedy", "group_limited_greedy"}, "greedy");
    out.router_bias = false;
    out.group_score = kernels::GroupScore::kMax;
    if (method == "greedy") out.groups = out.top_groups = 1;  // greedy looks at no groups
    // The family's own code scales only what it has not normalised; others do both.
    if (out.normalize && out.routed_scaling != 1)
      in.fail(ErrorCode::kUnsupported, "norm_topk_prob",
              "is true beside a routed_scaling_factor other than 1: its meaning is not settled for "
              "deepseek_v2");
  } else {
    in.choice("topk_method", {"noaux_tc"}, "noaux_tc");
  }

  out.first_dense = std::min(out.first_dense, out.layers);
  if (in.error()) return;
  if (out.experts % out.groups != 0)
    in.fail(
        ErrorCode::kDataLoss, "n_group",
        fmt::format("is {}, which does not divide n_routed_experts {}", out.groups, out.experts));
  else if (out.top_groups > out.groups)
    in.fail(ErrorCode::kDataLoss, "topk_group",
            fmt::format("is {}, more than n_group {}", out.top_groups, out.groups));
  else if (out.top_k > out.experts / out.groups * out.top_groups)
    in.fail(ErrorCode::kDataLoss, "num_experts_per_tok",
            fmt::format("is {}, more than the {} experts to choose from", out.top_k,
                        out.experts / out.groups * out.top_groups));
  else if (!v2 && out.groups > 1 && out.experts / out.groups < 2)
    in.fail(ErrorCode::kDataLoss, "n_group",
            fmt::format("is {}: groups of one expert have no two best", out.groups));
}

/// `rope_scaling` beside `rope_theta` (as published), or `rope_parameters` that holds both (newer
/// writers).
void read_rope(ConfigFields& in, Config& out) {
  if (!in.flag("rope_interleave", true))
    in.fail(ErrorCode::kUnsupported, "rope_interleave",
            "is false; rotations of interleaved pairs are what is known here");
  if (in.has("rope_scaling") && in.has("rope_parameters"))
    in.fail(ErrorCode::kDataLoss, "rope_scaling", "stands beside rope_parameters; one is enough");
  auto parameters = in.object("rope_parameters");
  auto rope = parameters ? parameters : in.object("rope_scaling");
  ConfigFields& theta = parameters ? *parameters : in;
  out.rope_theta = theta.number("rope_theta", 1, 1e12);
  if (parameters) in.adopt(*parameters);
  if (!rope) return;

  rope->only({"type", "rope_type", "rope_theta", "factor", "beta_fast", "beta_slow", "mscale",
              "mscale_all_dim", "original_max_position_embeddings"});
  const std::string_view key = rope->has("rope_type") ? "rope_type" : "type";
  const std::string type = rope->choice(key, {"default", "yarn"});
  if (type == "yarn") {
    Yarn yarn;
    yarn.factor = rope->number("factor", 1, 1e6);
    yarn.beta_fast = rope->number("beta_fast", 1e-6, 1e6, 32);
    yarn.beta_slow = rope->number("beta_slow", 1e-6, 1e6, 1);
    yarn.mscale = rope->number("mscale", 0, 100, 1);
    yarn.mscale_all_dim = rope->number("mscale_all_dim", 0, 100, 0);
    yarn.original_positions = rope->number("original_max_position_embeddings", 1, kMaxTokens);
    out.yarn = yarn;
  }
  in.adopt(*rope);
}

void refuse_what_we_lack(ConfigFields& in, Config& out) {
  in.choice("hidden_act", {"silu"}, "silu");
  if (in.flag("attention_bias", false))
    in.fail(ErrorCode::kUnsupported, "attention_bias",
            "is true; projections with bias are not known");
  if (in.flag("mlp_bias", false))
    in.fail(ErrorCode::kUnsupported, "mlp_bias", "is true; projections with bias are not known");
  if (in.flag("tie_word_embeddings", false))
    in.fail(ErrorCode::kUnsupported, "tie_word_embeddings",
            "is true; an lm_head of its own is expected");
  if (auto quantization = in.object("quantization_config")) {
    out.quantization = quantization->choice("quant_method", {"fp8", "compressed-tensors", "quark"});
    in.adopt(*quantization);
  }
}

}  // namespace

kernels::RouterDesc Config::router() const {
  return {.experts = experts,
          .top_k = top_k,
          .groups = groups,
          .top_groups = top_groups,
          .scoring = scoring,
          .group_score = group_score,
          .bias = router_bias,
          .normalize = normalize,
          .scaling = routed_scaling};
}

Result<Config> parse_config(std::string_view source, std::string_view text) {
  HEADROOM_TRY(const auto document, tensor::parse_json(source, text));
  simdjson::dom::object root;
  if (document->root.get(root))
    return base::fail(ErrorCode::kDataLoss, "{}: is {}, not an object", source,
                      tensor::describe_json(document->root));
  Config config;
  config.source = source;
  ConfigFields outer(config.source, root);
  ConfigFields in = outer;
  config.name = outer.text("name", "");
  config.model_type =
      outer.choice("model_type", {"deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"});
  if (!outer.error() && config.model_type == "kimi_k25") {
    // A vision model: its text part is a deepseek_v3 of its own, under another prefix.
    auto inner = outer.object("text_config");
    if (inner) {
      in = *inner;
      config.weight_prefix = "language_model.";
      config.model_type = in.choice("model_type", {"deepseek_v3", "kimi_k2"});
    }
  }
  if (outer.error()) return tl::unexpected<base::Error>(*outer.error());

  simdjson::dom::array architectures;
  if (!root.at_key("architectures").get(architectures))
    for (const simdjson::dom::element entry : architectures) {
      std::string_view name;
      if (entry.get(name) ||
          (name != "DeepseekV2ForCausalLM" && name != "DeepseekV3ForCausalLM" &&
           name != "KimiK2ForCausalLM" && name != "KimiK25ForConditionalGeneration"))
        in.fail(ErrorCode::kUnsupported, "architectures",
                fmt::format("names {}; known here: DeepseekV2ForCausalLM, DeepseekV3ForCausalLM, "
                            "KimiK2ForCausalLM, KimiK25ForConditionalGeneration",
                            tensor::describe_json(entry)));
    }
  read_shapes(in, config);
  read_router(in, config.model_type == "deepseek_v2", config);
  read_rope(in, config);
  refuse_what_we_lack(in, config);
  if (in.error()) return tl::unexpected<base::Error>(*in.error());
  return config;
}

Result<Config> load_config(const std::filesystem::path& path) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  const std::filesystem::path file = folder ? path / "config.json" : path;
  HEADROOM_TRY(const std::string text, base::read_file(file));
  HEADROOM_TRY(Config config, parse_config(file.string(), text));
  if (config.name.empty()) {
    auto whole = std::filesystem::absolute(path).lexically_normal();
    const bool in_folder = folder || whole.filename() == "config.json";
    if (!folder && in_folder) whole = whole.parent_path();
    if (!whole.has_filename()) whole = whole.parent_path();  // "dir/"
    config.name = in_folder ? whole.filename().string() : whole.stem().string();
  }
  return config;
}

}  // namespace headroom::model
