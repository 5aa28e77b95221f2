// WorkloadOptions: what the requests of a run are like: dataset, lengths, sessions, body.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::load {

enum class Endpoint { kCompletions, kChat };
/// "completions" or "chat"; kInvalidArgument else.
base::Result<Endpoint> parse_endpoint(std::string_view text);
std::string_view endpoint_path(Endpoint endpoint);

/// How lengths vary about their nominal value L. Drawn by the seed alone, so that runs with another
/// salt have the same lengths.
struct LengthSpread {
  enum class Kind { kFixed, kUniform, kNormal };
  Kind kind = Kind::kFixed;
  /// kUniform: lengths in [ratio × L, L]. kNormal: standard deviation ÷ L, cut off at 1 and 2 L.
  double ratio = 1;
  bool operator==(const LengthSpread&) const = default;
};
/// "fixed", "uniform:0.8", "normal:0.2"; kInvalidArgument else.
base::Result<LengthSpread> parse_length_spread(std::string_view text);
std::string length_spread_text(const LengthSpread& spread);

/// A session's pause before a turn is due, counted from the end of the answer before.
struct ThinkTime {
  double seconds = 0;  // the mean
  bool exponential = false;
  bool operator==(const ThinkTime&) const = default;
};

struct WorkloadOptions {
  std::string model;
  /// A name of datasets(), "NAME:FILE" for those that read a file, or a file whose name tells
  /// which: .jsonl, .json (ShareGPT), else a prompt a line.
  std::string dataset = "random";
  int64_t input_tokens = 512;  // of a prompt (a turn, in sessions), prefix included; not for files
  int64_t output_tokens = 64;  // files: where they do not tell
  LengthSpread input_spread, output_spread;
  /// Every prompt begins with one of `prefixes` texts of so many tokens. random and text only.
  int64_t prefix_tokens = 0, prefixes = 1;
  /// Turns of a session; 1: single requests. Files with conversations: the most that are used.
  int64_t turns = 1;
  ThinkTime think;

  Endpoint endpoint = Endpoint::kCompletions;
  bool stream = true;
  /// Asks for exactly output_tokens (min_tokens, ignore_eos); else for at most so many.
  bool force_length = true;
  double temperature = 0;
  /// A JSON object whose members go into every body, in place of ours of the same name.
  std::string extra_body;
  /// Asks for the token ids beside the text, where the server is known to give them: a token that
  /// completes no character yet then counts when it comes.
  bool ask_token_ids = false;

  uint64_t seed = 0;
  /// Goes into every prompt, so that no cache knows it from an earlier run. Empty: prompts depend
  /// on the seed alone.
  std::string salt;
  /// A folder with tokenizer.json: text gets exact lengths, random ids stay clear of special ones.
  std::string tokenizer;
  int64_t token_low = 1000, token_high = 20000;  // random ids are taken from [low, high)
  double words_per_token = 0.75;                 // for words, where there is no tokenizer
  double template_tokens = 0;                    // that the server adds to every text prompt
  bool operator==(const WorkloadOptions&) const = default;
};

}  // namespace headroom::load
