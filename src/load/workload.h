// Workload: the prompts of a run and the request bodies that carry them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::load {

enum class Endpoint { kCompletions, kChat };
/// "completions" or "chat"; kInvalidArgument else.
base::Result<Endpoint> parse_endpoint(std::string_view text);
std::string_view endpoint_path(Endpoint endpoint);

struct WorkloadOptions {
  std::string model;
  /// "random": token ids of exact length; "text": random words; else the path of a file: one prompt
  /// a line, or a JSON object a line with "prompt" when the name ends in .jsonl.
  std::string dataset = "random";
  int64_t input_tokens = 512;  // not used for files
  int64_t output_tokens = 64;
  Endpoint endpoint = Endpoint::kCompletions;
  double temperature = 0;
  uint64_t seed = 0;
  /// Goes into every prompt, so that no cache knows it from an earlier run. Empty: prompts depend
  /// on the seed alone.
  std::string salt;
  /// Asks for the token ids beside the text, where the server is known to give them: a token that
  /// completes no character yet then counts when it comes.
  bool ask_token_ids = false;
  int64_t token_low = 1000, token_high = 20000;  // random ids are taken from [low, high)
  double words_per_token = 0.75;                 // for "text"
};

/// Prompts are functions of (options, index): the same index gives the same body, and no two
/// indices share a prompt unless a file is shorter than the run.
class Workload {
 public:
  static base::Result<Workload> create(WorkloadOptions options);

  struct Prompt {
    std::string body;                     // JSON of the request
    std::optional<int64_t> input_tokens;  // exactly what it has, where that is known
  };
  Prompt prompt(uint64_t index) const;

  const WorkloadOptions& options() const { return options_; }
  /// The workload's name in records: "random", "text" or the file's name.
  std::string dataset_name() const;
  /// Prompts of a file; 0: endless.
  size_t distinct_prompts() const { return lines_.size(); }

 private:
  std::string text_prompt(uint64_t index) const;

  WorkloadOptions options_;
  uint64_t salted_seed_ = 0;
  std::vector<std::string> lines_;
};

/// A salt that no earlier run had.
std::string fresh_salt();

}  // namespace headroom::load
