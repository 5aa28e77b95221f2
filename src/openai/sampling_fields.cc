// Model, sampling and stop fields.
#include "openai/sampling_fields.h"

#include <boost/json.hpp>
#include <limits>

namespace headroom::openai {
namespace {

namespace bj = boost::json;

constexpr size_t kMostStops = 16;
constexpr size_t kMostStopIds = 256;

bool is_number(const bj::value& value, double neutral) {
  return value.is_number() && value.to_number<double>() == neutral;
}
bool is_empty(const bj::value& value) {
  return (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty()) ||
         (value.is_string() && value.get_string().empty());
}
bool is_false(const bj::value& value) {
  return value.is_bool() && !value.get_bool();
}
bool is_true(const bj::value& value) {
  return value.is_bool() && value.get_bool();
}
bool is_text_format(const bj::value& value) {
  const auto* type = value.is_object() ? value.get_object().if_contains("type") : nullptr;
  return type != nullptr && type->is_string() && type->get_string() == "text";
}

struct Unsupported {
  const char* name;
  bool (*neutral)(const bj::value&);
  const char* right;
};
constexpr Unsupported kUnsupported[] = {
    {"n", [](const bj::value& v) { return is_number(v, 1); }, "1: one choice per prompt"},
    {"best_of", [](const bj::value& v) { return is_number(v, 1); }, "1"},
    {"suffix", is_empty, "absent: insertion is not supported"},
    {"presence_penalty", [](const bj::value& v) { return is_number(v, 0); }, "0"},
    {"frequency_penalty", [](const bj::value& v) { return is_number(v, 0); }, "0"},
    {"repetition_penalty", [](const bj::value& v) { return is_number(v, 1); }, "1"},
    {"min_p", [](const bj::value& v) { return is_number(v, 0); }, "0"},
    {"logit_bias", is_empty, "absent or empty"},
    {"allowed_token_ids", is_empty, "absent or empty"},
    {"bad_words", is_empty, "absent or empty"},
    {"use_beam_search", is_false, "false"},
    {"skip_special_tokens", is_true, "true"},
    {"response_format", is_text_format, "absent or {\"type\":\"text\"}"},
    {"structured_outputs", is_empty, "absent: constrained output is not supported"},
    {"guided_json", is_empty, "absent: constrained output is not supported"},
    {"guided_regex", is_empty, "absent: constrained output is not supported"},
    {"guided_choice", is_empty, "absent: constrained output is not supported"},
    {"guided_grammar", is_empty, "absent: constrained output is not supported"},
    {"truncate_prompt_tokens", is_false, "absent: prompts are never cut"},
    {"prompt_embeds", is_empty, "absent"},
};

}  // namespace

void check_model(FieldReader& reader, const ServedModel& model) {
  const auto name = reader.string("model");
  if (!name || *name == model.name) return;
  reader.fail({404,
               fmt::format("model {} is not served here; the model is {}",
                           bj::serialize(bj::value(*name)), model.name),
               "invalid_request_error", "model", "model_not_found"});
}

engine::SamplingOptions read_sampling(FieldReader& reader, const ServedModel& model,
                                      bool& seed_given) {
  engine::SamplingOptions out;
  out.temperature =
      static_cast<float>(reader.number("temperature", 0, 2).value_or(model.sampling.temperature));
  out.top_p = static_cast<float>(reader.number("top_p", 0, 1).value_or(model.sampling.top_p));
  if (out.top_p <= 0) {
    reader.fail(
        {400, "top_p is 0; it must be above 0 and at most 1", "invalid_request_error", "top_p"});
  }
  // -1 and 0 both mean every token.
  out.top_k = static_cast<int32_t>(
      std::max<int64_t>(0, reader.integer("top_k", -1, INT32_MAX).value_or(model.sampling.top_k)));
  if (const auto* seed = reader.find("seed")) {
    seed_given = true;
    if (seed->is_uint64()) {
      out.seed = seed->get_uint64();
    } else {
      out.seed = static_cast<uint64_t>(reader
                                           .integer("seed", std::numeric_limits<int64_t>::min(),
                                                    std::numeric_limits<int64_t>::max())
                                           .value_or(0));
    }
  }
  out.min_tokens = static_cast<int32_t>(reader.integer("min_tokens", 0, INT32_MAX).value_or(0));
  out.ignore_eos = reader.boolean("ignore_eos").value_or(false);
  out.include_stop = reader.boolean("include_stop_str_in_output").value_or(false);
  out.stop = reader.strings("stop", kMostStops);
  out.stop_ids = reader.integers("stop_token_ids", 0, model.vocab - 1, kMostStopIds);
  return out;
}

void refuse_unsupported(FieldReader& reader) {
  for (const Unsupported& field : kUnsupported) {
    const auto* value = reader.find(field.name);
    if (value != nullptr && !field.neutral(*value)) reader.fail(field.name, *value, field.right);
  }
}

}  // namespace headroom::openai
