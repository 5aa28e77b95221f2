// Chunk reading with simdjson.
#include "load/openai_chunk.h"

#include <simdjson.h>

#include <initializer_list>

namespace headroom::load {

namespace dom = simdjson::dom;

struct ChunkReader::Impl {
  dom::parser parser;
  std::string padded;
};

ChunkReader::ChunkReader() : impl_(std::make_unique<Impl>()) {}
ChunkReader::~ChunkReader() = default;

namespace {

bool has_text(dom::object object, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    std::string_view text;
    if (object.at_key(name).get(text) == simdjson::SUCCESS && !text.empty()) return true;
  }
  return false;
}

std::optional<int64_t> array_length(dom::object object, std::string_view name) {
  dom::array array;
  if (object.at_key(name).get(array) != simdjson::SUCCESS) return std::nullopt;
  return static_cast<int64_t>(array.size());
}

/// A count of tokens; nothing when it is none that one request can have.
std::optional<int64_t> count_of(dom::object object, std::string_view name) {
  constexpr int64_t kMost = 1'000'000'000;
  int64_t value = 0;
  if (object.at_key(name).get(value) != simdjson::SUCCESS || value < 0 || value > kMost)
    return std::nullopt;
  return value;
}

void add_text(dom::object object, std::string_view name, Chunk& chunk) {
  std::string_view text;
  if (object.at_key(name).get(text) == simdjson::SUCCESS) chunk.text += text;
}

/// A delta of a stream, or the message of an answer in one piece.
void read_message(dom::object message, bool want_text, Chunk& chunk, bool& reasoning) {
  if (has_text(message, {"reasoning_content", "reasoning"})) reasoning = true;
  if (has_text(message, {"content", "refusal"}) ||
      array_length(message, "tool_calls").value_or(0) > 0)
    chunk.content = true;
  if (want_text) add_text(message, "content", chunk);
}

void read_choice(dom::object choice, bool want_text, Chunk& chunk) {
  bool reasoning = false;
  const bool first = !chunk.choice;  // the answer is the first choice's
  chunk.choice = true;
  if (has_text(choice, {"text"})) chunk.content = true;
  if (want_text && first) add_text(choice, "text", chunk);
  for (const std::string_view name : {"delta", "message"}) {
    dom::object message;
    if (choice.at_key(name).get(message) == simdjson::SUCCESS)
      read_message(message, want_text && first, chunk, reasoning);
  }
  // A token may have no text of its own yet (part of a character): naming it makes it count.
  if (const auto ids = array_length(choice, "token_ids"); ids && *ids > 0) {
    chunk.token_ids = chunk.token_ids.value_or(0) + *ids;
    if (!reasoning) chunk.content = true;
  }
  if (reasoning && !chunk.content) chunk.reasoning = true;
  if (reasoning) chunk.content = true;
  std::string_view reason;
  if (choice.at_key("finish_reason").get(reason) == simdjson::SUCCESS && !reason.empty())
    chunk.finished = true;
}

std::optional<std::string> read_error(dom::object root) {
  dom::element error;
  std::string_view text;
  if (root.at_key("error").get(error) == simdjson::SUCCESS && !error.is_null()) {
    if (error.get(text) == simdjson::SUCCESS) return std::string(text);
    if (error.at_key("message").get(text) == simdjson::SUCCESS) return std::string(text);
    return "an error without a message";
  }
  if (root.at_key("object").get(text) == simdjson::SUCCESS && text == "error")
    return root.at_key("message").get(text) == simdjson::SUCCESS ? std::string(text)
                                                                 : "an error without a message";
  return std::nullopt;
}

}  // namespace

base::Result<Chunk> ChunkReader::read(std::string_view json, bool want_text) {
  std::string& padded = impl_->padded;
  padded.assign(json);
  padded.append(simdjson::SIMDJSON_PADDING, '\0');
  dom::object root;
  if (impl_->parser.parse(padded.data(), json.size(), false).get(root) != simdjson::SUCCESS)
    return base::fail(base::ErrorCode::kDataLoss, "not a JSON object: {}", json.substr(0, 80));
  Chunk chunk;
  chunk.error = read_error(root);
  dom::array choices;
  if (root.at_key("choices").get(choices) == simdjson::SUCCESS)
    for (const dom::element element : choices) {
      dom::object choice;
      if (element.get(choice) == simdjson::SUCCESS) read_choice(choice, want_text, chunk);
    }
  dom::object usage;
  if (root.at_key("usage").get(usage) == simdjson::SUCCESS) {
    chunk.prompt_tokens = count_of(usage, "prompt_tokens");
    chunk.output_tokens = count_of(usage, "completion_tokens");
  }
  return chunk;
}

}  // namespace headroom::load
