// Validity of one UTF-8 character, by the ranges of the Unicode standard's table 3-7; joining.
#include "base/utf8.h"

#include <cstdint>

namespace headroom::base {
namespace {

struct Form {
  size_t length;
  uint8_t second_low, second_high;  // permitted range of the second byte
};

Form form_of(uint8_t lead) {
  if (lead < 0x80) return {1, 0, 0};
  if (lead >= 0xC2 && lead <= 0xDF) return {2, 0x80, 0xBF};
  if (lead == 0xE0) return {3, 0xA0, 0xBF};
  if (lead == 0xED) return {3, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {3, 0x80, 0xBF};
  if (lead == 0xF0) return {4, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {4, 0x80, 0xBF};
  if (lead == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

bool bytes_fit(const Form& form, std::string_view text, size_t count) {
  for (size_t i = 1; i < count; ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    const uint8_t low = i == 1 ? form.second_low : 0x80;
    const uint8_t high = i == 1 ? form.second_high : 0xBF;
    if (c < low || c > high) return false;
  }
  return true;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const Form form = form_of(static_cast<uint8_t>(text[0]));
  if (form.length == 0 || text.size() < form.length) return 0;
  return bytes_fit(form, text, form.length) ? form.length : 0;
}

bool utf8_incomplete(std::string_view text) {
  if (text.empty()) return false;
  const Form form = form_of(static_cast<uint8_t>(text[0]));
  return form.length > text.size() && bytes_fit(form, text, text.size());
}

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the longest start of `text` that could begin a character, at least 1.
size_t broken_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && utf8_incomplete(text.substr(0, length + 1))) ++length;
  return length;
}

}  // namespace

std::string Utf8Joiner::push(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    if (const size_t length = utf8_length(rest)) {
      out += rest.substr(0, length);
      rest.remove_prefix(length);
    } else if (utf8_incomplete(rest)) {
      break;
    } else {
      out += kReplacement;
      rest.remove_prefix(broken_length(rest));
    }
  }
  held_.erase(0, held_.size() - rest.size());
  return out;
}

std::string Utf8Joiner::flush() {
  const bool broken = !held_.empty();  // at most one character's start
  held_.clear();
  return broken ? std::string(kReplacement) : std::string();
}

}  // namespace headroom::base
