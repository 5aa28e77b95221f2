// Workload: the conversations of a run and the request bodies that carry them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "load/workload_options.h"

namespace headroom::load {

class Dataset;

/// One request of a conversation.
struct Turn {
  std::string body;                     // JSON of the request
  std::optional<int64_t> input_tokens;  // exactly what the server must count, where that is known
  int64_t output_tokens = 0;            // asked for
  /// Due so long after the end of the answer before; 0 for a first turn.
  int64_t think_ns = 0;
  /// The answer's text goes into the next turn: next() wants it.
  bool keep_answer = false;
};

/// What one user says. A single request is a conversation of one turn.
class Conversation {
 public:
  virtual ~Conversation() = default;
  /// The next turn, or nothing at the end. `answer` is the text of the answer to the turn before
  /// (empty for the first, and where keep_answer was not set).
  virtual std::optional<Turn> next(std::string_view answer) = 0;
};

/// Conversations are functions of (options, index): the same index says the same, and no two
/// indices share a prompt unless a file is shorter than the run (or a trace says so).
class Workload {
 public:
  static base::Result<Workload> create(WorkloadOptions options);
  ~Workload();
  Workload(Workload&&) noexcept;
  Workload& operator=(Workload&&) noexcept;

  /// The workload must outlive it. Any thread.
  std::unique_ptr<Conversation> conversation(uint64_t index) const;

  const WorkloadOptions& options() const { return options_; }
  /// The one option that may still change: the dataset knows nothing of it.
  void ask_token_ids(bool ask) { options_.ask_token_ids = ask; }
  /// The workload's name in records: "random", "text" or the file's name.
  std::string dataset_name() const;
  /// How lengths are distributed, for records: "fixed", "uniform 0.8-1", "as in the file".
  std::string input_lengths() const;
  std::string output_lengths() const;
  /// Conversations of a file; 0: endless.
  size_t distinct_prompts() const;
  /// True when the file is a trace whose rows may share their prefixes.
  bool shares_prefixes() const;

 private:
  Workload();
  WorkloadOptions options_;
  std::shared_ptr<const Dataset> dataset_;
  std::vector<std::pair<std::string, std::string>> extra_;  // name, JSON
};

/// A salt that no earlier run had.
std::string fresh_salt();

}  // namespace headroom::load
