// Tokens to bytes, bytes to text.
#include "text/detokenizer.h"

namespace headroom::text {

std::string Detokenizer::push(int32_t id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  return joiner_.push(tokenizer_->token_bytes(id));
}

}  // namespace headroom::text
