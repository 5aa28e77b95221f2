// Tokenizer: text to token ids and back, as a model's tokenizer.json says (byte-level BPE).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/bpe.h"
#include "text/pretokenizer.h"
#include "text/special_ids.h"

namespace headroom::text {

/// A token that is matched as a whole before anything else: "<|user|>".
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
};

/// Read-only after loading; any thread.
class Tokenizer {
 public:
  /// DIR/tokenizer.json with the ids of read_special_ids(DIR).
  static base::Result<Tokenizer> load(const std::filesystem::path& directory);
  /// The text of a tokenizer.json; `where` starts messages. Errors name the field and its value:
  /// kDataLoss for what is malformed or contradictory, kUnsupported for steps that we lack.
  static base::Result<Tokenizer> parse(std::string_view where, std::string_view json);

  /// No BOS is added. Spellings of added tokens are ordinary text unless `allow_special`: text from
  /// outside must not be able to forge a turn. kInvalidArgument when `text` is not UTF-8.
  base::Result<std::vector<int32_t>> encode(std::string_view text,
                                            bool allow_special = false) const;
  /// Valid UTF-8; broken characters become U+FFFD, unknown ids nothing.
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  /// Raw bytes of a token, a part of a character perhaps; empty for unknown ids.
  std::string_view token_bytes(int32_t id) const;
  bool is_special(int32_t id) const;
  std::optional<int32_t> added_token(std::string_view content) const;
  const std::vector<AddedToken>& added_tokens() const { return added_; }
  /// One more than the largest id.
  int32_t size() const { return static_cast<int32_t>(bytes_.size()); }

  const SpecialIds& special_ids() const { return special_ids_; }
  std::optional<int32_t> bos() const { return special_ids_.bos; }
  const std::vector<int32_t>& eos() const { return special_ids_.eos; }

 private:
  friend class TokenizerReader;
  base::Result<> encode_plain(std::string_view text, Bpe::Scratch& scratch,
                              std::vector<int32_t>& out) const;

  Pretokenizer pretokenizer_;
  Bpe bpe_;
  std::vector<std::string> bytes_;  // [id]
  std::vector<bool> special_;       // [id]
  std::vector<AddedToken> added_;
  std::unordered_map<std::string, int32_t> added_ids_;
  std::vector<size_t> added_lengths_;  // distinct, longest first
  SpecialIds special_ids_;
  bool template_bos_ = false;  // the post-processor puts a BOS in front
};

}  // namespace headroom::text
