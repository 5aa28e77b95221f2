// Detokenizer: tokens to text as they come, never a broken character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "text/tokenizer.h"

namespace headroom::text {

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
  base::Utf8Joiner joiner_;
};

}  // namespace headroom::text
