// Takes a model's sizes from its config.json.
#include "limit/shape.h"

namespace headroom::limit {

int64_t Shape::replicated_attention() const {
  return hidden * (q_lora + latent + rope);
}

int64_t Shape::sharded_attention() const {
  const int64_t query_input = q_lora > 0 ? q_lora : hidden;
  return heads * (query_input * (nope + rope) + latent * (nope + value) + value * hidden);
}

Shape shape_of(const model::Config& config) {
  Shape shape;
  shape.name = config.name;
  shape.vocab = config.vocab;
  shape.hidden = config.hidden;
  shape.layers = config.layers;
  shape.dense_layers = config.layers - config.moe_layers();
  shape.heads = config.heads;
  shape.q_lora = config.q_lora;
  shape.latent = config.latent;
  shape.rope = config.rope;
  shape.nope = config.nope;
  shape.value = config.value;
  shape.dense_inter = config.dense_inter;
  shape.expert_inter = config.expert_inter;
  shape.experts = config.experts;
  shape.top_k = config.top_k;
  shape.shared_experts = config.shared_experts;
  return shape;
}

base::Result<Shape> parse_shape(std::string_view json, std::string_view file) {
  HEADROOM_TRY(const model::Config config, model::parse_config(file, json));
  return shape_of(config);
}

}  // namespace headroom::limit
