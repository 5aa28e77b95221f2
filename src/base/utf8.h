// UTF-8 at the byte level: the length of the character that a text starts with, and text out of
// bytes that are cut anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::base {

/// Bytes of the valid UTF-8 character at the start of `text` (1 to 4), or 0 when there is none:
/// empty, a stray or missing continuation byte, an overlong form, a surrogate, above U+10FFFF.
size_t utf8_length(std::string_view text);

/// True if `text` is a proper prefix of some valid character: more bytes could complete it.
bool utf8_incomplete(std::string_view text);

/// Turns bytes into valid UTF-8 as they come: a character whose bytes have not all arrived is held
/// back, each maximal broken part becomes one U+FFFD.
class Utf8Joiner {
 public:
  std::string push(std::string_view bytes);
  /// What is held back, as U+FFFD; the joiner starts anew.
  std::string flush();
  bool holds() const { return !held_.empty(); }
  void clear() { held_.clear(); }

 private:
  std::string held_;
};

}  // namespace headroom::base
