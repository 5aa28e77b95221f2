// Encoding and decoding.
#include "text/tokenizer.h"

#include <array>

#include "base/utf8.h"
#include "text/detokenizer.h"

namespace headroom::text {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

Result<> check_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    if (static_cast<uint8_t>(text[i]) < 0x80) {
      ++i;
      continue;
    }
    const size_t length = base::utf8_length(text.substr(i));
    if (length == 0)
      return fail(ErrorCode::kInvalidArgument, "text is not valid UTF-8: byte {} is 0x{:02x}", i,
                  static_cast<uint8_t>(text[i]));
    i += length;
  }
  return {};
}

}  // namespace

Result<> Tokenizer::encode_plain(std::string_view text, Bpe::Scratch& scratch,
                                 std::vector<int32_t>& out) const {
  HEADROOM_TRY(const auto pieces, pretokenizer_.split(text));
  for (const std::string_view piece : pieces) bpe_.encode(piece, scratch, out);
  return {};
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool allow_special) const {
  HEADROOM_TRY_VOID(check_utf8(text));
  std::vector<int32_t> out;
  Bpe::Scratch scratch;
  std::array<bool, 256> starts{};  // bytes that begin an added token: few, so the scan is quick
  for (const AddedToken& token : added_)
    if (!token.content.empty()) starts[static_cast<uint8_t>(token.content[0])] = true;
  size_t plain = 0;  // where the stretch of ordinary text began
  for (size_t at = 0; allow_special && at < text.size();) {
    if (!starts[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    size_t matched = 0;
    for (const size_t length : added_lengths_) {  // longest first
      if (length > text.size() - at) continue;
      const auto it = added_ids_.find(std::string(text.substr(at, length)));
      if (it == added_ids_.end()) continue;
      HEADROOM_TRY_VOID(encode_plain(text.substr(plain, at - plain), scratch, out));
      out.push_back(it->second);
      matched = length;
      break;
    }
    at += std::max<size_t>(matched, 1);
    if (matched > 0) plain = at;
  }
  HEADROOM_TRY_VOID(encode_plain(text.substr(plain), scratch, out));
  return out;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  Detokenizer detokenizer(*this, skip_special);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  if (id < 0 || id >= size()) return {};
  return bytes_[static_cast<size_t>(id)];
}

bool Tokenizer::is_special(int32_t id) const {
  return id >= 0 && id < size() && special_[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::added_token(std::string_view content) const {
  const auto it = added_ids_.find(std::string(content));
  return it == added_ids_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace headroom::text
