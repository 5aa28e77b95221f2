// Dataset: where prompts come from. One file a dataset; datasets() is the list of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "load/workload_options.h"

namespace headroom::load {

/// What a user says in one turn: token ids, text, or whole chat messages.
struct Ask {
  std::vector<int32_t> ids;
  std::string text;
  std::string messages;           // JSON objects with commas between them; chat only
  std::optional<int64_t> tokens;  // what it adds to the prompt, exactly, where that is known
  int64_t output_tokens = 0;
  std::vector<std::pair<std::string, std::string>> fields;  // of the body: name, JSON
};

/// Read-only; any thread.
class Dataset {
 public:
  virtual ~Dataset() = default;
  /// Conversations of a file; 0: endless. An index beyond them begins again.
  virtual size_t size() const { return 0; }
  virtual int64_t turns(uint64_t index) const { return 1; }
  virtual Ask ask(uint64_t index, int64_t turn) const = 0;
  /// For records, where the lengths do not follow the options.
  virtual std::string input_lengths() const { return "as in the file"; }
  virtual std::string output_lengths() const { return "as in the file"; }
  virtual bool shares_prefixes() const { return false; }
};

struct DatasetKind {
  std::string_view name;
  std::string_view help;       // one line
  bool file = false;           // reads one: "NAME:FILE"
  bool fitted = false;         // rests on options that come from the server: ids, words per token
  std::string_view extension;  // of files that are this kind when no name says so
  base::Result<std::unique_ptr<const Dataset>> (*open)(const WorkloadOptions& options,
                                                       const std::string& file);
};

/// All of them. Another dataset is a function like these and a line in datasets.cc.
std::span<const DatasetKind> datasets();

struct DatasetChoice {
  const DatasetKind* kind = nullptr;
  std::string file;
};
/// What WorkloadOptions::dataset means. Errors: kInvalidArgument with the names that there are.
base::Result<DatasetChoice> choose_dataset(const std::string& text);

base::Result<std::unique_ptr<const Dataset>> open_random(const WorkloadOptions&,
                                                         const std::string&);
base::Result<std::unique_ptr<const Dataset>> open_text(const WorkloadOptions&, const std::string&);
base::Result<std::unique_ptr<const Dataset>> open_lines(const WorkloadOptions&, const std::string&);
base::Result<std::unique_ptr<const Dataset>> open_jsonl(const WorkloadOptions&, const std::string&);
base::Result<std::unique_ptr<const Dataset>> open_sharegpt(const WorkloadOptions&,
                                                           const std::string&);
base::Result<std::unique_ptr<const Dataset>> open_mooncake(const WorkloadOptions&,
                                                           const std::string&);

}  // namespace headroom::load
