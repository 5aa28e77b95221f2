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

/// JSON has no infinity; this is the wire's word for "impossible".
float clamped(float logprob) {
  return std::max(logprob, -9999.0f);
}

/// The token itself, then the best; tokens that share a name are told once.
std::vector<std::pair<std::string, float>> top_row(
    const std::string& own, float logprob, const std::vector<std::pair<int32_t, float>>& top,
    const ServedModel& model) {
  std::vector<std::pair<std::string, float>> row{{own, clamped(logprob)}};
  for (const auto& [id, value] : top) {
    std::string name = token_name(id, model);
    const bool told =
        std::any_of(row.begin(), row.end(), [&](const auto& entry) { return entry.first == name; });
    if (!told) row.emplace_back(std::move(name), clamped(value));
  }
  return row;
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
  for (const auto& value : columns.token_logprobs) json.value(value);
  json.end_array().key("top_logprobs").begin_array();
  for (size_t i = 0; i < columns.top.size(); ++i) {
    if (!columns.token_logprobs[i]) {
      json.null();
      continue;
    }
    json.begin_object();
    for (const auto& [token, value] : columns.top[i]) json.field(token, value);
    json.end_object();
  }
  json.end_array().key("text_offset").begin_array();
  for (const int64_t offset : columns.text_offset) json.value(offset);
  json.end_array().end_object();
}

/// [null, {"id": {"logprob", "rank", "decoded_token"}, …}, …]: the prompt's own token first, then
/// the best.
void write_prompt(base::JsonWriter& json, const PromptScores& prompt, const ServedModel& model) {
  json.key("prompt_logprobs").begin_array();
  if (!prompt.ids.empty()) json.null();
  const auto entry = [&](int32_t id, float logprob, int32_t rank) {
    json.key(std::to_string(id)).begin_object().field("logprob", clamped(logprob));
    json.field("rank", rank).field("decoded_token", token_name(id, model)).end_object();
  };
  for (size_t i = 0; i < prompt.scores.size(); ++i) {
    const model::TokenScore& score = prompt.scores[i];
    const int32_t own = prompt.ids[i + 1];
    json.begin_object();
    entry(own, score.logprob, score.rank);
    int32_t rank = 0;
    for (const auto& [id, logprob] : score.top) {
      ++rank;
      if (id != own) entry(id, logprob, rank);
    }
    json.end_object();
  }
  json.end_array();
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
  token_logprobs.push_back(clamped(token.logprob));
  text_offset.push_back(offset);
  top.push_back(top_row(tokens.back(), token.logprob, token.top, model));
}

void LogprobsColumns::add_prompt(int32_t id, const model::TokenScore* score, int64_t offset,
                                 const ServedModel& model) {
  tokens.push_back(token_name(id, model));
  text_offset.push_back(offset);
  token_logprobs.push_back(score != nullptr ? std::optional(clamped(score->logprob))
                                            : std::nullopt);
  auto& row = top.emplace_back();
  if (score != nullptr) row = top_row(tokens.back(), score->logprob, score->top, model);
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
                  const std::vector<int32_t>* prompt_ids, const ServedModel& model) {
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
  if (part.prompt) write_prompt(json, *part.prompt, model);
  if (facts.token_ids) {
    if (prompt_ids != nullptr) write_ids(json, "prompt_token_ids", *prompt_ids);
    write_ids(json, "token_ids", part.ids);
  }
  json.end_object();
}

}  // namespace headroom::openai
