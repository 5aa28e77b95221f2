// Shape: the sizes of an MLA mixture-of-experts model, as far as they decide bytes and operations.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/config.h"

namespace headroom::limit {

struct Shape {
  std::string name;
  int64_t vocab = 0, hidden = 0;
  int64_t layers = 0, dense_layers = 0;  // of all layers, the first ones without experts
  int64_t heads = 0;
  int64_t q_lora = 0;  // 0: queries are projected directly
  int64_t latent = 0, rope = 0, nope = 0, value = 0;
  int64_t dense_inter = 0, expert_inter = 0;
  int64_t experts = 0, top_k = 0, shared_experts = 0;

  int64_t moe_layers() const { return layers - dense_layers; }
  // Weights of one layer's part, or of the whole model's where it says so.
  int64_t replicated_attention() const;  // q_a and kv_a: every rank of a tensor-parallel group
  int64_t sharded_attention() const;     // q_b (or q), kv_b and o: cut by heads
  int64_t expert_weights() const { return 3 * hidden * expert_inter; }
  int64_t shared_weights() const { return shared_experts * expert_weights(); }
  int64_t gate_weights() const { return experts * hidden; }
  int64_t dense_weights() const { return 3 * hidden * dense_inter; }
  int64_t lm_head_weights() const { return vocab * hidden; }  // whole model
};

Shape shape_of(const model::Config& config);

/// Reads the text of a config.json, or of a shape file (the same with `name`); `file` names it in
/// errors, which are those of model::parse_config.
base::Result<Shape> parse_shape(std::string_view json, std::string_view file);

}  // namespace headroom::limit
