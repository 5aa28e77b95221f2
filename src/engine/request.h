// What a request asks of the engine, and what it gets back: tokens and one finish.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::engine {

/// How tokens are drawn and when to stop.
struct SamplingOptions {
  float temperature = 1;  // 0: greedy
  float top_p = 1;        // (0, 1]
  int32_t top_k = 0;      // 0: all
  uint64_t seed = 0;  // with the position decides every draw; the caller picks one if none given
  int32_t max_tokens = 16;
  int32_t min_tokens = 0;         // end-of-sequence and stop rules are off until then
  bool ignore_eos = false;        // the model's own end-of-sequence ids don't stop
  std::vector<int32_t> stop_ids;  // asked for by the request; ignore_eos doesn't lift them
  std::vector<std::string> stop;  // texts that end the output
  bool include_stop = false;      // keep the matched stop text
  /// Of the prompt's tokens from the second on, in the form of `logprobs`. With it, and only with
  /// it, max_tokens may be 0: the prompt is scored and nothing is drawn.
  std::optional<int32_t> prompt_logprobs{};
  std::optional<int32_t> logprobs{};  // absent: none; 0: the sampled token's; k: the k best as well
};

struct Request {
  std::string id;
  std::vector<int32_t> prompt;  // ids as the model sees them, BOS included
  SamplingOptions sampling;
};

/// One generated token.
struct TokenOutput {
  int32_t id = 0;
  std::string text;   // what may be shown now; may hold text of earlier tokens that was held back
  bool held = false;  // no text yet, because a character or a stop text may still be completed
  float logprob = 0;  // of id, under the unmodified distribution
  std::vector<std::pair<int32_t, float>> top;  // the best ids, best first; when asked for
};

enum class FinishReason : uint8_t {
  kStop,       // end-of-sequence, stop id or stop text
  kLength,     // max_tokens or the context is full
  kCancelled,  // the consumer gave up, or the engine was stopped
  kError,      // the model gave no usable logits
};
inline constexpr int kFinishReasons = 4;
/// "stop", "length", "abort", "error": the words of the wire.
std::string_view finish_reason_name(FinishReason reason);

/// The end of a request; comes once, after its last token.
struct Finish {
  FinishReason reason = FinishReason::kStop;
  std::string stop_text;           // the stop text that matched
  std::optional<int32_t> stop_id;  // the stop id that was drawn
  std::string error;               // one line, when reason is kError or kCancelled
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;  // the stop id is counted
};

}  // namespace headroom::engine
