// Dataset "jsonl": a JSON object a line with "prompt" or "messages", and what else the body needs.
#include <simdjson.h>

#include "base/json_writer.h"
#include "load/dataset/file_dataset.h"
#include "load/dataset/json_lines.h"
#include "load/text_lines.h"

namespace headroom::load {

namespace dom = simdjson::dom;

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kMostTokens = 10'000'000;

/// The messages as they are, the salt in front of the first one's text.
Result<std::string> read_messages(const WorkloadOptions& options, dom::element value) {
  dom::array messages;
  if (value.get(messages) != simdjson::SUCCESS || messages.size() == 0)
    return fail(ErrorCode::kDataLoss, "messages {} is not a list of messages",
                shortened(simdjson::minify(value)));
  base::JsonWriter json;
  json.begin_array();
  bool first = true;
  for (const dom::element element : messages) {
    dom::object message;
    std::string_view role, content;
    if (element.get(message) != simdjson::SUCCESS ||
        message.at_key("role").get(role) != simdjson::SUCCESS)
      return fail(ErrorCode::kDataLoss, "messages: {} is not an object with a text \"role\"",
                  shortened(simdjson::minify(element)));
    json.begin_object();
    for (const auto& [key, member] : message) {
      json.key(key);
      if (first && key == "content" && member.get(content) == simdjson::SUCCESS)
        json.value(salted(options, content));
      else
        json.raw(simdjson::minify(member));
    }
    json.end_object();
    first = false;
  }
  json.end_array();
  const std::string text = json.take();
  return text.substr(1, text.size() - 2);
}

Result<int64_t> read_count(std::string_view name, dom::element value) {
  int64_t count = 0;
  if (value.get(count) != simdjson::SUCCESS || count < 1 || count > kMostTokens)
    return fail(ErrorCode::kDataLoss, "{} {} is not a number from 1 to {}", name,
                shortened(simdjson::minify(value)), kMostTokens);
  return count;
}

Result<Ask> read_object(const WorkloadOptions& options, dom::object object) {
  Ask ask;
  ask.output_tokens = options.output_tokens;
  bool prompt = false;
  for (const auto& [key, value] : object) {
    std::string_view text;
    dom::array ids;
    if (key == "prompt" || key == "messages") {
      if (prompt)
        return fail(ErrorCode::kDataLoss, "{}: one \"prompt\" or \"messages\" is enough", key);
      prompt = true;
    }
    if (key == "messages") {
      if (options.endpoint != Endpoint::kChat)
        return fail(ErrorCode::kInvalidArgument, "messages: pass --endpoint chat");
      HEADROOM_TRY(ask.messages, read_messages(options, value));
    } else if (key == "prompt" && value.get(text) == simdjson::SUCCESS && !text.empty()) {
      ask.text = salted(options, text);
    } else if (key == "prompt" && value.get(ids) == simdjson::SUCCESS && ids.size() > 0) {
      if (options.endpoint == Endpoint::kChat)
        return fail(ErrorCode::kInvalidArgument, "prompt: the chat endpoint takes no token ids");
      for (const dom::element id : ids) {
        int64_t number = 0;
        if (id.get(number) != simdjson::SUCCESS || number < 0 || number > INT32_MAX)
          return fail(ErrorCode::kDataLoss, "prompt: {} is not a token id",
                      shortened(simdjson::minify(id)));
        ask.ids.push_back(static_cast<int32_t>(number));
      }
      ask.tokens = static_cast<int64_t>(ask.ids.size());
    } else if (key == "prompt") {
      return fail(ErrorCode::kDataLoss, "prompt {} is neither a text nor a list of token ids",
                  shortened(simdjson::minify(value)));
    } else if (key == "max_tokens" || key == "output_tokens") {
      HEADROOM_TRY(ask.output_tokens, read_count(key, value));
    } else if (key == "model" || key == "stream" || key == "stream_options") {
      return fail(ErrorCode::kDataLoss, "{}: the client sets it itself", key);
    } else {
      ask.fields.emplace_back(key, simdjson::minify(value));
    }
  }
  if (!prompt) return fail(ErrorCode::kDataLoss, "no \"prompt\" and no \"messages\"");
  return ask;
}

}  // namespace

Result<std::vector<Row>> parse_jsonl(const WorkloadOptions& options, std::string_view where,
                                     std::string_view text) {
  std::vector<Row> rows;
  HEADROOM_TRY_VOID(for_each_object(where, text, [&](dom::object object) -> Result<> {
    HEADROOM_TRY(auto ask, read_object(options, object));
    rows.push_back({std::move(ask)});
    return {};
  }));
  return rows;
}

}  // namespace headroom::load
