// FieldReader: typed reads of a JSON object's fields; the first bad one becomes the error.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "openai/error.h"

namespace headroom::openai {

/// Parses a request body: one JSON object, nothing behind it. The error names the offset.
ApiResult<boost::json::object> parse_body(std::string_view body);

/// JSON text of a value for messages, cut when long.
std::string shown(const boost::json::value& value);

/// A field that is missing or null is absent. After an error every read gives absent.
class FieldReader {
 public:
  explicit FieldReader(const boost::json::object& object, std::string prefix = {})
      : object_(object), prefix_(std::move(prefix)) {}

  const boost::json::value* find(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name);
  std::optional<int64_t> integer(std::string_view name, int64_t low, int64_t high);
  std::optional<double> number(std::string_view name, double low, double high);
  std::optional<std::string> string(std::string_view name);
  /// A string or an array of strings.
  std::vector<std::string> strings(std::string_view name, size_t most);
  std::vector<int32_t> integers(std::string_view name, int64_t low, int64_t high, size_t most);

  /// `name` holds `value`; it must be `right`.
  void fail(std::string_view name, const boost::json::value& value, std::string_view right);
  void fail(ApiError error);
  const std::optional<ApiError>& error() const { return error_; }

 private:
  const boost::json::object& object_;
  std::string prefix_;  // "stream_options."
  std::optional<ApiError> error_;
};

}  // namespace headroom::openai
