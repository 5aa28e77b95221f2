// Reads a model's sizes from config.json text.
#include "limit/shape.h"

#include <simdjson.h>

namespace headroom::limit {
namespace {

using base::ErrorCode;
using base::fail;
using simdjson::dom::element;
using simdjson::dom::object;

/// Sizes are counted in 64 bits; this keeps every product below 2^62.
constexpr int64_t kLargest = int64_t{1} << 20;

class Reader {
 public:
  Reader(object config, std::string_view file) : config_(config), file_(file) {}

  base::Result<int64_t> size(const char* key, int64_t least) const {
    element value;
    if (config_[key].get(value) != simdjson::SUCCESS)
      return fail(ErrorCode::kInvalidArgument, "{}: {} is missing", file_, key);
    int64_t number = 0;
    if (value.get(number) != simdjson::SUCCESS || number < least || number > kLargest)
      return fail(ErrorCode::kInvalidArgument, "{}: {} is {}, a whole number from {} to {} is due",
                  file_, key, simdjson::minify(value), least, kLargest);
    return number;
  }

  /// `otherwise` when the field is missing or null.
  base::Result<int64_t> size_or(const char* key, int64_t least, int64_t otherwise) const {
    element value;
    if (config_[key].get(value) != simdjson::SUCCESS || value.is_null()) return otherwise;
    return size(key, least);
  }

 private:
  object config_;
  std::string_view file_;
};

std::string text_or(object root, const char* key, std::string_view otherwise) {
  std::string_view text;
  return std::string(root[key].get(text) == simdjson::SUCCESS ? text : otherwise);
}

}  // namespace

int64_t Shape::replicated_attention() const {
  return hidden * (q_lora + latent + rope);
}

int64_t Shape::sharded_attention() const {
  const int64_t query_input = q_lora > 0 ? q_lora : hidden;
  return heads * (query_input * (nope + rope) + latent * (nope + value) + value * hidden);
}

base::Result<Shape> parse_shape(std::string_view json, std::string_view file) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(json);
  element document;
  if (const auto error = parser.parse(padded).get(document); error)
    return fail(ErrorCode::kInvalidArgument, "{}: {}", file, simdjson::error_message(error));
  object root, config;
  if (document.get(root) != simdjson::SUCCESS)
    return fail(ErrorCode::kInvalidArgument, "{}: a JSON object is due", file);
  if (root["text_config"].get(config) != simdjson::SUCCESS) config = root;
  const Reader reader(config, file);
  Shape shape;
  shape.name = text_or(root, "name", file);
  shape.source = text_or(root, "source", "");
  HEADROOM_TRY(shape.vocab, reader.size("vocab_size", 1));
  HEADROOM_TRY(shape.hidden, reader.size("hidden_size", 1));
  HEADROOM_TRY(shape.layers, reader.size("num_hidden_layers", 1));
  HEADROOM_TRY(shape.dense_layers, reader.size_or("first_k_dense_replace", 0, 0));
  HEADROOM_TRY(shape.heads, reader.size("num_attention_heads", 1));
  HEADROOM_TRY(shape.q_lora, reader.size_or("q_lora_rank", 1, 0));
  HEADROOM_TRY(shape.latent, reader.size("kv_lora_rank", 1));
  HEADROOM_TRY(shape.rope, reader.size("qk_rope_head_dim", 0));
  HEADROOM_TRY(shape.nope, reader.size("qk_nope_head_dim", 1));
  HEADROOM_TRY(shape.value, reader.size("v_head_dim", 1));
  HEADROOM_TRY(shape.dense_inter, reader.size_or("intermediate_size", 1, 0));
  if (shape.dense_layers > shape.layers)
    return fail(ErrorCode::kInvalidArgument,
                "{}: first_k_dense_replace is {}, more than num_hidden_layers {}", file,
                shape.dense_layers, shape.layers);
  if (shape.dense_layers > 0 && shape.dense_inter == 0)
    return fail(ErrorCode::kInvalidArgument, "{}: intermediate_size is missing", file);
  if (shape.moe_layers() == 0) return shape;
  HEADROOM_TRY(shape.expert_inter, reader.size("moe_intermediate_size", 1));
  HEADROOM_TRY(shape.experts, reader.size("n_routed_experts", 1));
  HEADROOM_TRY(shape.top_k, reader.size("num_experts_per_tok", 1));
  HEADROOM_TRY(shape.shared_experts, reader.size_or("n_shared_experts", 0, 0));
  if (shape.top_k > shape.experts)
    return fail(ErrorCode::kInvalidArgument,
                "{}: num_experts_per_tok is {}, more than n_routed_experts {}", file, shape.top_k,
                shape.experts);
  return shape;
}

}  // namespace headroom::limit
