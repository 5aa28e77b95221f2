// Typed reads of a config's keys; the first mistake is kept.
#include "model/config_fields.h"

#include <algorithm>
#include <cmath>

namespace headroom::model {

using base::ErrorCode;
using tensor::describe_json;

ConfigFields::ConfigFields(std::string source, simdjson::dom::object object, std::string prefix)
    : source_(std::move(source)), prefix_(std::move(prefix)), object_(object) {}

void ConfigFields::fail(ErrorCode code, std::string_view key, std::string_view what) {
  if (error_) return;
  error_ = base::Error{code, fmt::format("{}: `{}{}` {}", source_, prefix_, key, what)};
}

bool ConfigFields::has(std::string_view key) const {
  simdjson::dom::element value;
  return !object_.at_key(key).get(value) && !value.is_null();
}

std::optional<simdjson::dom::element> ConfigFields::find(std::string_view key, bool required) {
  simdjson::dom::element value;
  if (!object_.at_key(key).get(value) && !value.is_null()) return value;
  if (required) fail(ErrorCode::kDataLoss, key, "is missing");
  return std::nullopt;
}

int32_t ConfigFields::integer(std::string_view key, int64_t low, int64_t high,
                              std::optional<int32_t> fallback) {
  const auto value = find(key, !fallback);
  if (!value) return fallback.value_or(0);
  int64_t number = 0;
  if (value->get(number) || number < low || number > high) {
    fail(ErrorCode::kDataLoss, key,
         fmt::format("is {}, not an integer from {} to {}", describe_json(*value), low, high));
    return 0;
  }
  return static_cast<int32_t>(number);
}

double ConfigFields::number(std::string_view key, double low, double high,
                            std::optional<double> fallback) {
  const auto value = find(key, !fallback);
  if (!value) return fallback.value_or(0);
  double number = 0;
  if (value->get(number) || !(number >= low && number <= high)) {
    fail(ErrorCode::kDataLoss, key,
         fmt::format("is {}, not a number from {} to {}", describe_json(*value), low, high));
    return low;
  }
  return number;
}

bool ConfigFields::flag(std::string_view key, std::optional<bool> fallback) {
  const auto value = find(key, !fallback);
  if (!value) return fallback.value_or(false);
  bool flag = false;
  if (value->get(flag))
    fail(ErrorCode::kDataLoss, key, fmt::format("is {}, not true or false", describe_json(*value)));
  return flag;
}

std::string ConfigFields::text(std::string_view key, std::optional<std::string> fallback) {
  const auto value = find(key, !fallback);
  if (!value) return fallback.value_or("");
  std::string_view text;
  if (value->get(text))
    fail(ErrorCode::kDataLoss, key, fmt::format("is {}, not a text", describe_json(*value)));
  return std::string(text);
}

std::optional<ConfigFields> ConfigFields::object(std::string_view key) {
  const auto value = find(key, false);
  if (!value) return std::nullopt;
  simdjson::dom::object object;
  if (value->get(object)) {
    fail(ErrorCode::kDataLoss, key, fmt::format("is {}, not an object", describe_json(*value)));
    return std::nullopt;
  }
  return ConfigFields(source_, object, fmt::format("{}{}.", prefix_, key));
}

std::string ConfigFields::choice(std::string_view key,
                                 std::initializer_list<std::string_view> known,
                                 std::optional<std::string> fallback) {
  std::string value = text(key, std::move(fallback));
  if (!error_ && std::ranges::find(known, value) == known.end())
    fail(ErrorCode::kUnsupported, key,
         fmt::format("is `{}`; known here: {}", value, fmt::join(known, ", ")));
  return value;
}

void ConfigFields::only(std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object_)
    if (std::ranges::find(known, key) == known.end())
      fail(ErrorCode::kUnsupported, key,
           fmt::format("is {}, a setting that is not known here", describe_json(value)));
}

void ConfigFields::adopt(const ConfigFields& inner) {
  if (!error_) error_ = inner.error_;
}

}  // namespace headroom::model
