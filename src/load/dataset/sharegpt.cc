// Dataset "sharegpt": a JSON list of conversations; questions are sent, the answers tell lengths.
#include <simdjson.h>

#include <cmath>

#include "load/dataset/file_dataset.h"
#include "load/text_lines.h"

namespace headroom::load {

namespace dom = simdjson::dom;

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

/// Tokens of an answer in the file: near enough, since it only says how long ours is to be.
int64_t tokens_of(std::string_view answer) {
  int64_t words = 0;
  bool inside = false;
  for (const char c : answer) {
    const bool word = c != ' ' && c != '\n' && c != '\t';
    words += word && !inside;
    inside = word;
  }
  return std::max<int64_t>(1, std::llround(static_cast<double>(words) / 0.75));
}

std::string_view text_of(dom::object object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    std::string_view text;
    if (object.at_key(name).get(text) == simdjson::SUCCESS) return text;
  }
  return {};
}

/// Questions with an answer behind them; a conversation may begin with the answer's end (cut).
Result<Row> read_conversation(const WorkloadOptions& options, dom::element element) {
  dom::object object;
  dom::array entries;
  if (element.get(object) != simdjson::SUCCESS ||
      (object.at_key("conversations").get(entries) != simdjson::SUCCESS &&
       object.at_key("conversation").get(entries) != simdjson::SUCCESS))
    return fail(ErrorCode::kDataLoss, "no list \"conversations\"");
  Row row;
  std::string_view question;
  for (const dom::element entry : entries) {
    dom::object message;
    if (entry.get(message) != simdjson::SUCCESS)
      return fail(ErrorCode::kDataLoss, "conversations: {} is not an object",
                  shortened(simdjson::minify(entry)));
    const std::string_view from = text_of(message, {"from", "role"});
    const std::string_view value = text_of(message, {"value", "content"});
    if (from == "human" || from == "user") {
      question = value;
    } else if ((from == "gpt" || from == "chatgpt" || from == "assistant" || from == "bard") &&
               !question.empty() && !value.empty()) {
      Ask ask;
      ask.text = row.empty() ? salted(options, question) : std::string(question);
      ask.output_tokens = tokens_of(value);
      row.push_back(std::move(ask));
      question = {};
      if (static_cast<int64_t>(row.size()) >= options.turns) break;
    }
  }
  return row;
}

}  // namespace

Result<std::vector<Row>> parse_sharegpt(const WorkloadOptions& options, std::string_view where,
                                        std::string_view text) {
  dom::parser parser;
  dom::array conversations;
  dom::element root;
  const auto parsed = parser.parse(text.data(), text.size()).get(root);
  if (parsed != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "{}: not JSON: {}", where, simdjson::error_message(parsed));
  if (root.get(conversations) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "{}: not a list of conversations", where);
  std::vector<Row> rows;
  size_t number = 0;
  for (const dom::element element : conversations) {
    auto row = read_conversation(options, element);
    if (!row)
      return fail(ErrorCode::kDataLoss, "{}: conversation {}: {}", where, number,
                  row.error().message);
    ++number;
    if (!row->empty()) rows.push_back(std::move(*row));  // many have no question with an answer
  }
  return rows;
}

}  // namespace headroom::load
