// Names and shapes of DeepSeek-V2/V3 and Kimi checkpoints.
#include "model/weight_map.h"

#include <charconv>

namespace headroom::model {

namespace {

void add_mlp(std::vector<TensorSpec>& out, const std::string& prefix, TensorKind kind,
             int64_t hidden, int64_t inter, int32_t expert = -1) {
  for (const char* name : {"gate_proj", "up_proj"})
    out.push_back(
        {fmt::format("{}{}.weight", prefix, name), {inter, hidden}, kind, Split::kRows, expert});
  out.push_back({prefix + "down_proj.weight", {hidden, inter}, kind, Split::kColumns, expert});
}

void add_attention(std::vector<TensorSpec>& out, const Config& c, const std::string& layer) {
  const std::string prefix = layer + "self_attn.";
  const auto add = [&](const char* name, std::vector<int64_t> shape, Split split) {
    out.push_back({prefix + name, std::move(shape), TensorKind::kAttention, split});
  };
  const auto norm = [&](const char* name, int64_t width) {
    out.push_back({prefix + name, {width}, TensorKind::kNorm});
  };
  const int64_t query = int64_t{c.heads} * c.query_width();
  if (c.q_lora > 0) {
    add("q_a_proj.weight", {c.q_lora, c.hidden}, Split::kReplicated);
    norm("q_a_layernorm.weight", c.q_lora);
    add("q_b_proj.weight", {query, c.q_lora}, Split::kRows);
  } else {
    add("q_proj.weight", {query, c.hidden}, Split::kRows);
  }
  add("kv_a_proj_with_mqa.weight", {c.latent + c.rope, c.hidden}, Split::kReplicated);
  norm("kv_a_layernorm.weight", c.latent);
  add("kv_b_proj.weight", {int64_t{c.heads} * (c.nope + c.value), c.latent}, Split::kRows);
  add("o_proj.weight", {c.hidden, int64_t{c.heads} * c.value}, Split::kColumns);
}

void add_moe(std::vector<TensorSpec>& out, const Config& c, const std::string& layer) {
  const std::string prefix = layer + "mlp.";
  out.push_back({prefix + "gate.weight", {c.experts, c.hidden}, TensorKind::kRouter});
  if (c.router_bias)
    out.push_back({prefix + "gate.e_score_correction_bias", {c.experts}, TensorKind::kRouterBias});
  for (int32_t e = 0; e < c.experts; ++e)
    add_mlp(out, fmt::format("{}experts.{}.", prefix, e), TensorKind::kExpert, c.hidden,
            c.expert_inter, e);
  if (c.shared_experts > 0)
    add_mlp(out, prefix + "shared_experts.", TensorKind::kSharedExpert, c.hidden,
            int64_t{c.shared_experts} * c.expert_inter);
}

}  // namespace

std::string_view tensor_kind_name(TensorKind kind) {
  switch (kind) {
    case TensorKind::kEmbedding:
      return "embedding";
    case TensorKind::kNorm:
      return "norms";
    case TensorKind::kAttention:
      return "attention";
    case TensorKind::kDenseMlp:
      return "dense MLP";
    case TensorKind::kRouter:
      return "router";
    case TensorKind::kRouterBias:
      return "router bias";
    case TensorKind::kExpert:
      return "experts";
    case TensorKind::kSharedExpert:
      return "shared experts";
    case TensorKind::kHead:
      return "lm_head";
  }
  return "unknown";
}

int64_t TensorSpec::elements() const {
  int64_t product = 1;
  for (const int64_t dim : shape) product *= dim;
  return product;
}

std::string layer_prefix(const Config& config, int32_t layer) {
  return fmt::format("{}model.layers.{}.", config.weight_prefix, layer);
}

std::vector<TensorSpec> tensor_specs(const Config& c) {
  std::vector<TensorSpec> out;
  out.push_back({c.weight_prefix + "model.embed_tokens.weight",
                 {c.vocab, c.hidden},
                 TensorKind::kEmbedding,
                 Split::kRows});
  for (int32_t l = 0; l < c.layers; ++l) {
    const std::string layer = layer_prefix(c, l);
    out.push_back({layer + "input_layernorm.weight", {c.hidden}, TensorKind::kNorm});
    add_attention(out, c, layer);
    out.push_back({layer + "post_attention_layernorm.weight", {c.hidden}, TensorKind::kNorm});
    if (c.is_moe(l))
      add_moe(out, c, layer);
    else
      add_mlp(out, layer + "mlp.", TensorKind::kDenseMlp, c.hidden, c.dense_inter);
  }
  out.push_back({c.weight_prefix + "model.norm.weight", {c.hidden}, TensorKind::kNorm});
  out.push_back(
      {c.weight_prefix + "lm_head.weight", {c.vocab, c.hidden}, TensorKind::kHead, Split::kRows});
  return out;
}

bool is_mtp_tensor(const Config& config, std::string_view name) {
  const std::string prefix = config.weight_prefix + "model.layers.";
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  int32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  return error == std::errc() && layer >= config.layers &&
         layer < config.layers + config.mtp_layers;
}

bool is_ignored_tensor(const Config& config, std::string_view name) {
  return is_mtp_tensor(config, name) || name.ends_with(".rotary_emb.inv_freq") ||
         (!config.weight_prefix.empty() && !name.starts_with(config.weight_prefix));
}

ParameterCount count_parameters(const Config& config) {
  ParameterCount count;
  for (const TensorSpec& spec : tensor_specs(config)) {
    count.total += spec.elements();
    if (spec.kind == TensorKind::kEmbedding)
      count.active += spec.shape[1];
    else if (spec.kind != TensorKind::kExpert || spec.expert < config.top_k)
      count.active += spec.elements();
  }
  return count;
}

}  // namespace headroom::model
