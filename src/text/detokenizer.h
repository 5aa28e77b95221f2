// Detokenizer: tokens to text as they come, never a broken character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace headroom::text {

/// Turns bytes into valid UTF-8 as they come: a character whose bytes have not all arrived is held
/// back, each maximal broken part becomes one U+FFFD.
class Utf8Joiner {
 public:
  std::string push(std::string_view bytes);
  /// What is held back, as U+FFFD; the joiner starts anew.
  std::string flush();

 private:
  std::string held_;
};

/// The pieces that push() and the final flush() give, joined, are Tokenizer::decode() of the ids.
/// The tokenizer must outlive it.
class Detokenizer {
 public:
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}
  std::string push(int32_t id);
  std::string flush() { return joiner_.flush(); }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  Utf8Joiner joiner_;
};

}  // namespace headroom::text
