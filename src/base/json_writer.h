// JsonWriter: appends JSON to a string without building a tree; escapes, commas and nesting are its
// job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::base {

/// One thread at a time. Misuse (a value where a key is due) is a broken invariant.
/// Doubles are written in the shortest form that reads back the same; NaN and infinities as null.
/// Text must be UTF-8; bytes that are not are replaced by U+FFFD, so the output is always valid
/// JSON.
class JsonWriter {
 public:
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);
  JsonWriter& value(float number);
  JsonWriter& value(int64_t number);
  JsonWriter& value(uint64_t number);
  JsonWriter& value(int number) { return value(int64_t{number}); }
  JsonWriter& value(unsigned number) { return value(uint64_t{number}); }
  JsonWriter& value(bool flag);
  JsonWriter& null();
  /// Text that is JSON already.
  JsonWriter& raw(std::string_view json);

  template <typename T>
  JsonWriter& value(const std::optional<T>& maybe) {
    return maybe ? value(*maybe) : null();
  }
  template <typename T>
  JsonWriter& field(std::string_view name, const T& v) {
    key(name);
    return value(v);
  }

  /// The text so far; complete once every object and array is closed.
  const std::string& text() const { return text_; }
  std::string take();
  void clear();

 private:
  void before_value();
  void append_quoted(std::string_view text);

  enum class Scope : uint8_t { kObject, kArray };
  std::string text_;
  std::vector<Scope> scopes_;
  bool first_ = true;       // no comma due before the next entry
  bool after_key_ = false;  // a value is due
};

}  // namespace headroom::base
