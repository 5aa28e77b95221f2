// Writing completions.
#include "openai/completions_json.h"

#include "base/utf8.h"

namespace headroom::openai {
namespace {

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t n = base::utf8_length(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

void write_ids(base::JsonWriter& json, std::string_view name, const std::vector<int32_t>& ids) {
  json.key(name).begin_array();
  for (const int32_t id : ids) json.value(id);
  json.end_array();
}

void write_logprobs(base::JsonWriter& json, const LogprobsColumns& columns) {
  json.key("logprobs").begin_object();
  json.key("tokens").begin_array();
  for (const std::string& token : columns.tokens) json.value(token);
  json.end_array().key("token_logprobs").begin_array();
  for (const float value : columns.token_logprobs) json.value(value);
  json.end_array().key("top_logprobs").begin_array();
  for (const auto& row : columns.top) {
    json.begin_object();
    for (const auto& [token, value] : row) json.field(token, value);
    json.end_object();
  }
  json.end_array().key("text_offset").begin_array();
  for (const int64_t offset : columns.text_offset) json.value(offset);
  json.end_array().end_object();
}

void write_stop_reason(base::JsonWriter& json, const engine::Finish& finish) {
  json.key("stop_reason");
  if (finish.stop_id) {
    json.value(*finish.stop_id);
  } else if (!finish.stop_text.empty()) {
    json.value(finish.stop_text);
  } else {
    json.null();
  }
}

}  // namespace

std::string token_name(int32_t id, const ServedModel& model) {
  const std::string_view bytes = model.token_bytes ? model.token_bytes(id) : std::string_view();
  if (bytes.empty()) return fmt::format("token_id:{}", id);
  if (is_utf8(bytes)) return std::string(bytes);
  std::string name = "bytes:";
  for (const char c : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return name;
}

void LogprobsColumns::add(const engine::TokenOutput& token, int64_t offset,
                          const ServedModel& model) {
  tokens.push_back(token_name(token.id, model));
  token_logprobs.push_back(token.logprob);
  text_offset.push_back(offset);
  auto& row = top.emplace_back();
  for (const auto& [id, value] : token.top) row.emplace_back(token_name(id, model), value);
}

void Usage::write(base::JsonWriter& json) const {
  json.key("usage")
      .begin_object()
      .field("prompt_tokens", prompt)
      .field("completion_tokens", completion)
      .field("total_tokens", prompt + completion)
      .end_object();
}

void begin_answer(base::JsonWriter& json, const AnswerFacts& facts) {
  json.begin_object()
      .field("id", facts.id)
      .field("object", "text_completion")
      .field("created", facts.created)
      .field("model", facts.model)
      .key("choices")
      .begin_array();
}

void write_choice(base::JsonWriter& json, const AnswerFacts& facts, const ChoicePart& part,
                  const std::vector<int32_t>* prompt_ids) {
  json.begin_object().field("index", part.index).field("text", part.text);
  if (facts.logprobs) {
    write_logprobs(json, part.logprobs);
  } else {
    json.key("logprobs").null();
  }
  json.key("finish_reason");
  if (part.finish) {
    json.value(engine::finish_reason_name(part.finish->reason));
    write_stop_reason(json, *part.finish);
    if (part.seed) json.field("seed", *part.seed);
  } else {
    json.null();
  }
  if (facts.token_ids) {
    if (prompt_ids != nullptr) write_ids(json, "prompt_token_ids", *prompt_ids);
    write_ids(json, "token_ids", part.ids);
  }
  json.end_object();
}

}  // namespace headroom::openai
