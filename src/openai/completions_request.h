// The body of POST /v1/completions, read and checked.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/request.h"
#include "openai/error.h"
#include "openai/service.h"

namespace headroom::openai {

using Prompt = std::variant<std::string, std::vector<int32_t>>;

struct CompletionsRequest {
  std::vector<Prompt> prompts;  // one choice each
  engine::SamplingOptions sampling;
  bool seed_given = false;
  bool stream = false;
  bool include_usage = false;  // stream_options.include_usage
  bool return_token_ids = false;
  bool add_special_tokens = true;  // BOS in front of text prompts
  bool echo = false;
  bool prompt_logprobs = false;  // asked for by that name, not by echo and logprobs
};

/// Every bad field is a 400 that names it, its value and what is right; another model's name is
/// 404. Fields that we don't know are ignored; those that we know and don't have are refused unless
/// they ask for nothing.
ApiResult<CompletionsRequest> parse_completions(std::string_view body, const ServedModel& model);

}  // namespace headroom::openai
