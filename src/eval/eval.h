// run_eval: asks a server that is up the questions of a file and scores what it answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "results/record.h"

namespace headroom::eval {

/// Versions of the definitions below; part of results::Eval::protocol. A change of a prompt's form
/// moves scores by more than most changes of an engine do.
inline constexpr int kExactMatchVersion = 1;
inline constexpr int kPerplexityVersion = 1;

struct EvalOptions {
  std::string url;                   // "http://host:8000", with or without /v1
  std::string model;                 // empty: the only one that the server lists
  std::vector<std::string> headers;  // "Name: value" each
  /// Questions when its name ends in .jsonl (one object a line, `question` and `answer`, the
  /// answer's number behind "#### "); any other file is text whose perplexity is measured.
  std::filesystem::path file;
  int64_t limit = 0;  // questions or windows, from the first on; 0: all
  int32_t concurrency = 16;
  double timeout_s = 600;  // of one request

  // Questions.
  int32_t shots = 5;               // worked examples in front of each question
  std::filesystem::path examples;  // where they come from; empty: the file's first, not asked then
  bool chat = false;               // /v1/chat/completions, the whole prompt as one user message
  int32_t max_tokens = 512;

  // Text.
  int32_t window = 1024;            // tokens scored by one request
  std::filesystem::path tokenizer;  // the model's directory; empty: the server's own /tokenize

  /// One JSON object (a line without its end) for every question or window, as it is answered.
  std::function<void(const std::string& json)> on_item;
};

struct EvalOutcome {
  /// The first is the one to bind to a point: strict match, or NLL per token. The second: flexible
  /// match, or bits per byte.
  std::vector<results::Eval> evals;
  int64_t total = 0;      // questions or windows to ask
  int64_t attempted = 0;  // answered or failed; fewer than total after a stop
  int64_t failed = 0;     // no usable answer; a question that failed counts as wrong
  std::map<std::string, int64_t> failures;  // by kind: "http 500", "timeout", …
  int64_t truncated = 0;                    // answers that max_tokens cut
  bool stopped = false;
  double seconds = 0;
  std::string model;

  // Text only.
  std::string form;         // "echo" or "prompt_logprobs": how the server gives them
  std::string tokens_from;  // who cut the text: "tokenizer", "server", or "text windows"
  int64_t tokens = 0;       // scored
  int64_t bytes = 0;        // of text behind them
  double nll_sum = 0;       // nats
};

/// "3 of 100 attempted (2 × http 500, 1 × timeout); each counts as wrong"; empty without failures.
std::string failures_text(const EvalOutcome& outcome);

/// `progress` is called after each answer with how many came and how many there will be, and the
/// score so far. When `stop` turns true the outcome holds what was scored. Errors: files
/// (FILE:LINE), a server that cannot be reached or gives no prompt log-probabilities
/// (kUnsupported), and no usable answer at all.
base::Result<EvalOutcome> run_eval(
    const EvalOptions& options,
    const std::function<void(int64_t done, int64_t total, const std::string& note)>& progress = {},
    const std::atomic<bool>* stop = nullptr);

}  // namespace headroom::eval
