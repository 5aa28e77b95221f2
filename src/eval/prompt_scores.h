// PromptScores: what servers say about the likelihood of a prompt, in the two forms in use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "eval/windows.h"

namespace headroom::eval {

enum class Form {
  kEcho,            // echo, logprobs 0, max_tokens 0: OpenAI's, vLLM's, ours
  kEchoOne,         // the same with max_tokens 1, for servers that must draw
  kPromptLogprobs,  // prompt_logprobs 0, max_tokens 1: vLLM's
};
inline constexpr Form kForms[] = {Form::kEcho, Form::kEchoOne, Form::kPromptLogprobs};
std::string_view form_name(Form form);

std::string score_request(std::string_view model, const Window& window, Form form);

/// Sums over one window.
struct WindowScore {
  int64_t tokens = 0;       // scored
  int64_t bytes = 0;        // of their text, as the server shows it
  double nll = 0;           // nats
  bool from_start = false;  // the first token has no text: the whole window's text was scored
};

/// Absent when the answer is not of that form, or does not score every token but the first.
std::optional<WindowScore> read_scores(std::string_view body, const Window& window, Form form);

}  // namespace headroom::eval
