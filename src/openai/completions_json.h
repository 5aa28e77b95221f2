// The JSON of completions: chunks, whole answers, usage, log-probabilities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_writer.h"
#include "engine/request.h"
#include "openai/service.h"

namespace headroom::openai {

/// Log-probabilities in the form of the completions API. `text_offset` counts code points of the
/// choice's text before each token. A row of `top` holds the token itself and the best.
struct LogprobsColumns {
  std::vector<std::string> tokens;
  std::vector<std::optional<float>> token_logprobs;  // absent: a prompt's first token
  std::vector<std::vector<std::pair<std::string, float>>> top;
  std::vector<int64_t> text_offset;
  void add(const engine::TokenOutput& token, int64_t offset, const ServedModel& model);
  /// `score`: null for a prompt's first token.
  void add_prompt(int32_t id, const model::TokenScore* score, int64_t offset,
                  const ServedModel& model);
};

/// Of a whole prompt, for the field prompt_logprobs.
struct PromptScores {
  std::vector<int32_t> ids;
  std::vector<model::TokenScore> scores;  // of ids[1…]
};

/// One choice, or one chunk's part of it.
struct ChoicePart {
  int32_t index = 0;
  std::string text;
  std::vector<int32_t> ids;  // written when return_token_ids
  LogprobsColumns logprobs;  // written when asked for
  std::optional<engine::Finish> finish;
  std::optional<uint64_t> seed;        // drawn with; written beside finish_reason
  std::optional<PromptScores> prompt;  // written when prompt_logprobs
};

struct Usage {
  int64_t prompt = 0, completion = 0;
  void write(base::JsonWriter& json) const;
};

struct AnswerFacts {
  std::string id, model;
  int64_t created = 0;
  bool logprobs = false;
  bool token_ids = false;
};

/// {"id",…,"choices":[ — then parts, then close with end_answer().
void begin_answer(base::JsonWriter& json, const AnswerFacts& facts);
/// `prompt_ids`: written in a choice's first part when return_token_ids.
void write_choice(base::JsonWriter& json, const AnswerFacts& facts, const ChoicePart& part,
                  const std::vector<int32_t>* prompt_ids, const ServedModel& model);

/// A token's own text: as it is when UTF-8, otherwise "bytes:\xe2\x80".
std::string token_name(int32_t id, const ServedModel& model);

}  // namespace headroom::openai
