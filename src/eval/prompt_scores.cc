// Requests and answers of the two forms.
#include "eval/prompt_scores.h"

#include <simdjson.h>

#include <cmath>

#include "base/json_writer.h"

namespace headroom::eval {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

/// Byte offset of a code point.
std::optional<size_t> byte_at(std::string_view text, int64_t points) {
  size_t at = 0;
  for (; points > 0 && at < text.size(); --points) {
    ++at;
    while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
  }
  if (points != 0) return std::nullopt;
  return at;
}

std::optional<WindowScore> read_echo(const element& choice, const Window& window, bool drawn) {
  simdjson::dom::array scores, offsets;
  std::string_view text;
  if (choice["logprobs"]["token_logprobs"].get_array().get(scores) != SUCCESS ||
      choice["text"].get_string().get(text) != SUCCESS)
    return std::nullopt;
  // A server that ignores `echo` answers with the output alone.
  const size_t needed = window.ids.empty() ? 2 : window.ids.size();
  size_t count = 0;
  for ([[maybe_unused]] const element entry : scores) ++count;
  if (count < needed + (drawn ? 1 : 0)) return std::nullopt;
  if (!window.ids.empty() && count > needed + (drawn ? 1 : 0)) return std::nullopt;
  if (window.ids.empty() && !text.starts_with(window.text)) return std::nullopt;
  const size_t last = count - (drawn ? 1 : 0);
  WindowScore out;
  size_t index = 0;
  for (const element entry : scores) {
    double logprob = 0;
    if (index > 0 && index < last) {
      if (entry.get_double().get(logprob) != SUCCESS || !std::isfinite(logprob))
        return std::nullopt;
      out.nll -= logprob;
      ++out.tokens;
    }
    ++index;
  }
  if (choice["logprobs"]["text_offset"].get_array().get(offsets) != SUCCESS) return out;
  const auto offset_at = [&](size_t i) -> std::optional<size_t> {
    int64_t points = 0;
    if (offsets.at(i).get_int64().get(points) != SUCCESS) return std::nullopt;
    return byte_at(text, points);
  };
  const auto begin = offset_at(1);
  auto end = drawn ? offset_at(last) : std::optional(text.size());
  if (!window.text.empty()) end = window.text.size();
  if (begin && end && *begin <= *end) {
    out.bytes = static_cast<int64_t>(*end - *begin);
    out.from_start = *begin == 0;
  }
  return out;
}

std::optional<WindowScore> read_vllm(const element& choice, const Window& window) {
  simdjson::dom::array rows;
  if (choice["prompt_logprobs"].get_array().get(rows) != SUCCESS) return std::nullopt;
  WindowScore out;
  size_t index = 0;
  for (const element row : rows) {
    if (index++ == 0) continue;  // nothing comes before the first
    // With prompt_logprobs 0 a row holds the prompt's own token alone.
    simdjson::dom::object entries;
    if (row.get_object().get(entries) != SUCCESS || entries.begin() == entries.end())
      return std::nullopt;
    element entry = (*entries.begin()).value;
    if (!window.ids.empty()) {
      if (index > window.ids.size() ||
          entries[std::to_string(window.ids[index - 1])].get(entry) != SUCCESS)
        return std::nullopt;
    }
    double logprob = 0;
    if (entry["logprob"].get_double().get(logprob) != SUCCESS || !std::isfinite(logprob))
      return std::nullopt;
    out.nll -= logprob;
    ++out.tokens;
    std::string_view text;
    if (entry["decoded_token"].get_string().get(text) == SUCCESS)
      out.bytes += static_cast<int64_t>(text.size());
  }
  if (out.tokens == 0 || (!window.ids.empty() && index != window.ids.size())) return std::nullopt;
  return out;
}

}  // namespace

std::string_view form_name(Form form) {
  return form == Form::kPromptLogprobs ? "prompt_logprobs" : "echo";
}

std::string score_request(std::string_view model, const Window& window, Form form) {
  base::JsonWriter json;
  json.begin_object().field("model", model).key("prompt");
  if (window.ids.empty()) {
    json.value(window.text);
  } else {
    json.begin_array();
    for (const int32_t id : window.ids) json.value(id);
    json.end_array();
  }
  json.field("max_tokens", form == Form::kEcho ? 0 : 1).field("temperature", 0);
  if (form == Form::kPromptLogprobs) {
    json.field("prompt_logprobs", 0);
  } else {
    json.field("echo", true).field("logprobs", 0);
  }
  json.end_object();
  return json.take();
}

std::optional<WindowScore> read_scores(std::string_view body, const Window& window, Form form) {
  simdjson::dom::parser parser;
  element root, choice;
  if (parser.parse(simdjson::padded_string(body)).get(root) != SUCCESS ||
      root["choices"].at(0).get(choice) != SUCCESS)
    return std::nullopt;
  return form == Form::kPromptLogprobs ? read_vllm(choice, window)
                                       : read_echo(choice, window, form == Form::kEchoOne);
}

}  // namespace headroom::eval
