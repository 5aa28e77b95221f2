// Reading and checking.
#include "openai/completions_request.h"

#include <boost/json.hpp>

#include "openai/sampling_fields.h"

namespace headroom::openai {
namespace {

namespace bj = boost::json;

constexpr size_t kMostPrompts = 256;
constexpr const char* kPromptForms =
    "a string, an array of token ids, or a non-empty array of at most 256 of either";

std::optional<std::vector<int32_t>> ids_of(const bj::value& value) {
  if (!value.is_array() || value.get_array().empty()) return std::nullopt;
  std::vector<int32_t> ids;
  ids.reserve(value.get_array().size());
  for (const bj::value& entry : value.get_array()) {
    // Ids outside the vocabulary are the engine's to name; here only the type must hold.
    if (!entry.is_int64() || entry.get_int64() < INT32_MIN || entry.get_int64() > INT32_MAX)
      return std::nullopt;
    ids.push_back(static_cast<int32_t>(entry.get_int64()));
  }
  return ids;
}

std::optional<Prompt> prompt_of(const bj::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (auto ids = ids_of(value)) return std::move(*ids);
  return std::nullopt;
}

void read_prompts(FieldReader& reader, std::vector<Prompt>& out) {
  const auto* value = reader.find("prompt");
  if (value == nullptr) {
    reader.fail({400, fmt::format("prompt is missing; it must be {}", kPromptForms),
                 "invalid_request_error", "prompt"});
    return;
  }
  if (auto one = prompt_of(*value)) {
    out.push_back(std::move(*one));
    return;
  }
  bool right =
      value->is_array() && !value->get_array().empty() && value->get_array().size() <= kMostPrompts;
  if (right) {
    for (const bj::value& entry : value->get_array()) {
      auto prompt = prompt_of(entry);
      right = right && prompt;
      if (right) out.push_back(std::move(*prompt));
    }
  }
  if (!right) reader.fail("prompt", *value, kPromptForms);
}

}  // namespace

ApiResult<CompletionsRequest> parse_completions(std::string_view body, const ServedModel& model) {
  auto object = parse_body(body);
  if (!object) return tl::unexpected(object.error());
  FieldReader reader(*object);
  CompletionsRequest out;
  check_model(reader, model);
  read_prompts(reader, out.prompts);
  out.sampling = read_sampling(reader, model, out.seed_given);
  out.echo = reader.boolean("echo").value_or(false);
  // Nothing to draw makes sense only where the prompt itself is asked for.
  out.sampling.max_tokens =
      static_cast<int32_t>(reader.integer("max_tokens", out.echo ? 0 : 1, INT32_MAX).value_or(16));
  if (out.sampling.min_tokens > out.sampling.max_tokens) {
    reader.fail({400,
                 fmt::format("min_tokens is {}; it must be at most max_tokens, which is {}",
                             out.sampling.min_tokens, out.sampling.max_tokens),
                 "invalid_request_error", "min_tokens"});
  }
  if (const auto logprobs = reader.integer("logprobs", 0, 20))
    out.sampling.logprobs = static_cast<int32_t>(*logprobs);
  if (const auto logprobs = reader.integer("prompt_logprobs", 0, 20)) {
    out.sampling.prompt_logprobs = static_cast<int32_t>(*logprobs);
    out.prompt_logprobs = true;
  } else if (out.echo) {
    out.sampling.prompt_logprobs = out.sampling.logprobs;
  }
  if (out.sampling.max_tokens == 0 && !out.sampling.prompt_logprobs)
    out.sampling.prompt_logprobs = 0;
  out.stream = reader.boolean("stream").value_or(false);
  if (const auto* options = reader.find("stream_options")) {
    if (!options->is_object()) {
      reader.fail("stream_options", *options, "an object");
    } else {
      FieldReader inner(options->get_object(), "stream_options.");
      out.include_usage = inner.boolean("include_usage").value_or(false);
      if (inner.error()) reader.fail(*inner.error());
      if (!out.stream) reader.fail("stream_options", *options, "absent unless stream is true");
    }
  }
  out.return_token_ids = reader.boolean("return_token_ids").value_or(false);
  out.add_special_tokens = reader.boolean("add_special_tokens").value_or(true);
  if (out.stream && out.prompt_logprobs) {
    reader.fail({400,
                 "prompt_logprobs is asked for; with stream it must be absent (echo and logprobs "
                 "stream the prompt's)",
                 "invalid_request_error", "prompt_logprobs"});
  }
  refuse_unsupported(reader);
  if (reader.error()) return tl::unexpected(*reader.error());
  return out;
}

}  // namespace headroom::openai
