// JSON text output.
#include "base/json_writer.h"

#include <cmath>

#include "base/check.h"
#include "base/utf8.h"

namespace headroom::base {

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  HEADROOM_CHECK(scopes_.empty() || scopes_.back() == Scope::kArray, "value without key after {}",
                 text_);
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  before_value();
  text_ += '{';
  scopes_.push_back(Scope::kObject);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  HEADROOM_CHECK(!scopes_.empty() && scopes_.back() == Scope::kObject && !after_key_,
                 "no object to close after {}", text_);
  scopes_.pop_back();
  text_ += '}';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  before_value();
  text_ += '[';
  scopes_.push_back(Scope::kArray);
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  HEADROOM_CHECK(!scopes_.empty() && scopes_.back() == Scope::kArray, "no array to close after {}",
                 text_);
  scopes_.pop_back();
  text_ += ']';
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  HEADROOM_CHECK(!scopes_.empty() && scopes_.back() == Scope::kObject && !after_key_,
                 "key {} outside an object", name);
  if (!first_) text_ += ',';
  first_ = false;
  append_quoted(name);
  text_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_quoted(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(float number) {
  if (!std::isfinite(number)) return null();
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) {
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(uint64_t number) {
  before_value();
  fmt::format_to(std::back_inserter(text_), "{}", number);
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  before_value();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  before_value();
  text_ += json;
  return *this;
}

std::string JsonWriter::take() {
  HEADROOM_CHECK(scopes_.empty(), "unfinished JSON: {}", text_);
  std::string out = std::move(text_);
  clear();
  return out;
}

void JsonWriter::clear() {
  text_.clear();
  scopes_.clear();
  first_ = true;
  after_key_ = false;
}

void JsonWriter::append_quoted(std::string_view text) {
  text_ += '"';
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {
      const size_t length = utf8_length(text.substr(i));
      if (length == 0) {
        text_ += "\xEF\xBF\xBD";
        ++i;
      } else {
        text_ += text.substr(i, length);
        i += length;
      }
      continue;
    }
    switch (c) {
      case '"':
        text_ += "\\\"";
        break;
      case '\\':
        text_ += "\\\\";
        break;
      case '\n':
        text_ += "\\n";
        break;
      case '\r':
        text_ += "\\r";
        break;
      case '\t':
        text_ += "\\t";
        break;
      default:
        if (c < 0x20) {
          fmt::format_to(std::back_inserter(text_), "\\u{:04x}", c);
        } else {
          text_ += static_cast<char>(c);
        }
    }
    ++i;
  }
  text_ += '"';
}

}  // namespace headroom::base
