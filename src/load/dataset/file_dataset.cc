// Rows of files; a prompt a line.
#include "load/dataset/file_dataset.h"

#include "base/file.h"
#include "base/utf8.h"
#include "load/text_lines.h"
#include "text/tokenizer.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

class FileDataset final : public Dataset {
 public:
  FileDataset(std::vector<Row> rows, uint64_t seed) : rows_(std::move(rows)), seed_(seed) {}
  size_t size() const override { return rows_.size(); }
  int64_t turns(uint64_t index) const override { return static_cast<int64_t>(row(index).size()); }
  Ask ask(uint64_t index, int64_t turn) const override {
    return row(index)[static_cast<size_t>(turn)];
  }

 private:
  const Row& row(uint64_t index) const { return rows_[(index + seed_) % rows_.size()]; }
  std::vector<Row> rows_;
  uint64_t seed_;
};

/// With a tokenizer, how long the prompts are. What a chat template or an answer adds, only the
/// server knows.
Result<> count_tokens(const WorkloadOptions& options, std::vector<Row>& rows) {
  if (options.tokenizer.empty() || options.endpoint == Endpoint::kChat) return {};
  HEADROOM_TRY(const auto tokenizer, text::Tokenizer::load(options.tokenizer));
  const int64_t bos = tokenizer.special_ids().add_bos ? 1 : 0;
  for (Row& row : rows) {
    Ask& first = row.front();
    if (first.text.empty()) continue;
    HEADROOM_TRY(const std::vector<int32_t> ids, tokenizer.encode(first.text));
    first.tokens = static_cast<int64_t>(ids.size()) + bos;
  }
  return {};
}

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = base::utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::string salted(const WorkloadOptions& options, std::string_view text) {
  return options.salt.empty() ? std::string(text) : fmt::format("[{}] {}", options.salt, text);
}

Result<std::unique_ptr<const Dataset>> open_rows(const WorkloadOptions& options,
                                                 const std::string& file, RowParser parse) {
  if (options.prefix_tokens > 0)
    return fail(ErrorCode::kInvalidArgument,
                "prefix tokens: only datasets random and text can be given a shared prefix");
  HEADROOM_TRY(const std::string text, base::read_file(file));
  HEADROOM_TRY(std::vector<Row> rows, parse(options, file, text));
  if (rows.empty()) return fail(ErrorCode::kDataLoss, "{}: has no prompt", file);
  HEADROOM_TRY_VOID(count_tokens(options, rows));
  return std::make_unique<FileDataset>(std::move(rows), options.seed);
}

Result<std::vector<Row>> parse_lines(const WorkloadOptions& options, std::string_view where,
                                     std::string_view text) {
  std::vector<Row> rows;
  std::optional<base::Error> error;
  for_each_line(text, [&](std::string_view line, size_t number) {
    if (!valid_utf8(line)) {
      error = base::Error{ErrorCode::kDataLoss,
                          fmt::format("{}:{}: the line is not UTF-8", where, number)};
      return false;
    }
    Ask ask;
    ask.text = salted(options, line);
    ask.output_tokens = options.output_tokens;
    rows.push_back({std::move(ask)});
    return true;
  });
  if (error) return tl::unexpected<base::Error>(*error);
  return rows;
}

Result<std::unique_ptr<const Dataset>> open_lines(const WorkloadOptions& options,
                                                  const std::string& file) {
  return open_rows(options, file, parse_lines);
}
Result<std::unique_ptr<const Dataset>> open_jsonl(const WorkloadOptions& options,
                                                  const std::string& file) {
  return open_rows(options, file, parse_jsonl);
}
Result<std::unique_ptr<const Dataset>> open_sharegpt(const WorkloadOptions& options,
                                                     const std::string& file) {
  return open_rows(options, file, parse_sharegpt);
}

}  // namespace headroom::load
