// UTF-8 hold-back.
#include "text/detokenizer.h"

#include "base/utf8.h"

namespace headroom::text {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the longest start of `text` that could begin a character, at least 1.
size_t broken_length(std::string_view text) {
  size_t length = 1;
  while (length < text.size() && base::utf8_incomplete(text.substr(0, length + 1))) ++length;
  return length;
}

}  // namespace

std::string Utf8Joiner::push(std::string_view bytes) {
  held_ += bytes;
  std::string out;
  std::string_view rest = held_;
  while (!rest.empty()) {
    if (const size_t length = base::utf8_length(rest)) {
      out += rest.substr(0, length);
      rest.remove_prefix(length);
    } else if (base::utf8_incomplete(rest)) {
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

std::string Detokenizer::push(int32_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  return joiner_.push(tokenizer_->token_bytes(id));
}

}  // namespace headroom::text
