// ConfigFields: typed, range-checked access to one JSON object of a config, with errors that name
// file, key and value.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tensor/json_document.h"

namespace headroom::model {

/// A key that is absent or null takes the fallback; without one it is an error. The first error is
/// kept and later reads return zeros, so that a reader runs straight through and asks once.
class ConfigFields {
 public:
  /// `prefix` stands before keys in messages, e.g. "rope_scaling.".
  ConfigFields(std::string source, simdjson::dom::object object, std::string prefix = "");

  bool has(std::string_view key) const;  // present and not null
  int32_t integer(std::string_view key, int64_t low, int64_t high,
                  std::optional<int32_t> fallback = std::nullopt);
  /// Finite, in [low, high].
  double number(std::string_view key, double low, double high,
                std::optional<double> fallback = std::nullopt);
  bool flag(std::string_view key, std::optional<bool> fallback = std::nullopt);
  std::string text(std::string_view key, std::optional<std::string> fallback = std::nullopt);
  /// An object below this one, under "<prefix><key>.".
  std::optional<ConfigFields> object(std::string_view key);
  /// Like text(), but one of `known`; anything else is kUnsupported and lists them.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> known,
                     std::optional<std::string> fallback = std::nullopt);
  /// Fails unless every key is one of `known`.
  void only(std::initializer_list<std::string_view> known);

  void fail(base::ErrorCode code, std::string_view key, std::string_view what);
  const std::optional<base::Error>& error() const { return error_; }
  void adopt(const ConfigFields& inner);  // takes over the error of a nested object

 private:
  std::optional<simdjson::dom::element> find(std::string_view key, bool required);

  std::string source_, prefix_;
  simdjson::dom::object object_;
  std::optional<base::Error> error_;
};

}  // namespace headroom::model
