// Field reads and their messages.
#include "openai/fields.h"

#include <boost/json.hpp>
#include <cmath>

namespace headroom::openai {
namespace {

namespace bj = boost::json;

constexpr size_t kDepth = 32;  // no request needs more; a bound against deep nesting

std::optional<int64_t> as_integer(const bj::value& value) {
  if (value.is_int64()) return value.get_int64();
  // 16.0 is an integer for JSON's purposes.
  if (value.is_double() && std::nearbyint(value.get_double()) == value.get_double() &&
      std::abs(value.get_double()) < 9e15)
    return static_cast<int64_t>(value.get_double());
  return std::nullopt;
}

}  // namespace

ApiResult<bj::object> parse_body(std::string_view body) {
  bj::parse_options options;
  options.max_depth = kDepth;
  bj::stream_parser parser({}, options);
  boost::system::error_code error;
  const size_t eaten = parser.write_some(body.data(), body.size(), error);
  if (!error && eaten < body.size()) error = bj::error::extra_data;
  if (!error) parser.finish(error);
  if (error) {
    return tl::unexpected(ApiError{400, fmt::format("not valid JSON: {} near byte {} of {}",
                                                    error.message(), eaten, body.size())});
  }
  bj::value value = parser.release();
  if (!value.is_object())
    return tl::unexpected(
        ApiError{400, fmt::format("the body must be a JSON object, not {}", shown(value))});
  return std::move(value.as_object());
}

std::string shown(const bj::value& value) {
  constexpr size_t kMost = 80;
  // Not serialised whole: the value may be megabytes of token ids.
  if (value.is_array()) return fmt::format("an array of {}", value.get_array().size());
  if (value.is_object()) return fmt::format("an object of {} fields", value.get_object().size());
  if (value.is_string() && value.get_string().size() > kMost)
    return fmt::format("a string of {} bytes", value.get_string().size());
  if (value.is_double()) return fmt::format("{}", value.get_double());
  return bj::serialize(value);
}

const bj::value* FieldReader::find(std::string_view name) const {
  if (error_) return nullptr;
  const auto* value = object_.if_contains({name.data(), name.size()});
  return value == nullptr || value->is_null() ? nullptr : value;
}

void FieldReader::fail(ApiError error) {
  if (!error_) error_ = std::move(error);
}

void FieldReader::fail(std::string_view name, const bj::value& value, std::string_view right) {
  const std::string field = prefix_ + std::string(name);
  fail(ApiError{400, fmt::format("{} is {}; it must be {}", field, shown(value), right),
                "invalid_request_error", field});
}

std::optional<bool> FieldReader::boolean(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_bool()) return value->get_bool();
  fail(name, *value, "true or false");
  return std::nullopt;
}

std::optional<int64_t> FieldReader::integer(std::string_view name, int64_t low, int64_t high) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  const auto number = as_integer(*value);
  if (number && *number >= low && *number <= high) return number;
  fail(name, *value, fmt::format("an integer from {} to {}", low, high));
  return std::nullopt;
}

std::optional<double> FieldReader::number(std::string_view name, double low, double high) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const auto number = value->to_number<double>();
    if (number >= low && number <= high) return number;
  }
  fail(name, *value, fmt::format("a number from {} to {}", low, high));
  return std::nullopt;
}

std::optional<std::string> FieldReader::string(std::string_view name) {
  const auto* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return std::string(value->get_string());
  fail(name, *value, "a string");
  return std::nullopt;
}

std::vector<std::string> FieldReader::strings(std::string_view name, size_t most) {
  std::vector<std::string> out;
  const auto* value = find(name);
  if (value == nullptr) return out;
  bool right = value->is_string() || value->is_array();
  if (value->is_string()) out.emplace_back(value->get_string());
  if (value->is_array()) {
    for (const bj::value& entry : value->get_array()) {
      right = right && entry.is_string() && out.size() < most;
      if (right) out.emplace_back(entry.get_string());
    }
  }
  for (const std::string& text : out) right = right && !text.empty();
  if (!right) {
    fail(name, *value, fmt::format("a non-empty string or an array of at most {} of them", most));
    out.clear();
  }
  return out;
}

std::vector<int32_t> FieldReader::integers(std::string_view name, int64_t low, int64_t high,
                                           size_t most) {
  std::vector<int32_t> out;
  const auto* value = find(name);
  if (value == nullptr) return out;
  bool right = value->is_array() && value->get_array().size() <= most;
  if (right) {
    for (const bj::value& entry : value->get_array()) {
      const auto number = as_integer(entry);
      right = right && number && *number >= low && *number <= high;
      if (right) out.push_back(static_cast<int32_t>(*number));
    }
  }
  if (!right) {
    fail(name, *value,
         fmt::format("an array of at most {} integers from {} to {}", most, low, high));
    out.clear();
  }
  return out;
}

}  // namespace headroom::openai
