// tokenizer.json → Tokenizer: every step it asks for is either done or refused by name.
#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <set>

#include "base/file.h"
#include "tensor/json_document.h"
#include "text/byte_level.h"
#include "text/tokenizer.h"

namespace headroom::text {

using base::ErrorCode;
using base::fail;
using base::Result;
using simdjson::dom::element;
using tensor::describe_json;

namespace {

constexpr int64_t kLargestId = 1 << 24;
// The split that ByteLevel does itself when asked (GPT-2's).
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

bool given(element object, std::string_view key, element& value) {
  return !object[key].get(value) && !value.is_null();
}

std::string_view text_of(element object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) ? std::string_view() : text;
}

bool flag_of(element object, std::string_view key, bool fallback) {
  bool flag = false;
  return object[key].get(flag) ? fallback : flag;
}

/// The literal `text` as a pattern.
std::string quoted(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<uint8_t>(c) < 0x80 && !std::isalnum(static_cast<uint8_t>(c))) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

class TokenizerReader {
 public:
  TokenizerReader(std::string_view where, Tokenizer& out) : where_(where), out_(out) {}

  Result<> read(element root) {
    if (!root.is_object()) return bad("is {}, not an object", describe_json(root));
    HEADROOM_TRY_VOID(read_normalizer(root));
    element value;
    if (given(root, "pre_tokenizer", value)) HEADROOM_TRY_VOID(read_pretokenizer(value));
    if (!byte_level_)
      return unsupported("`pre_tokenizer` has no ByteLevel step: only byte-level BPE is supported");
    if (given(root, "decoder", value) && text_of(value, "type") != "ByteLevel")
      return unsupported("`decoder.type` is `{}`, not ByteLevel", text_of(value, "type"));
    if (given(root, "post_processor", value)) HEADROOM_TRY_VOID(read_post_processor(value));
    if (!given(root, "model", value)) return bad("`model` is missing");
    HEADROOM_TRY_VOID(read_model(value));
    if (given(root, "added_tokens", value)) HEADROOM_TRY_VOID(read_added(value));
    return {};
  }

 private:
  template <typename... Args>
  tl::unexpected<base::Error> bad(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorCode::kDataLoss, "{}: {}", where_,
                fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  tl::unexpected<base::Error> unsupported(fmt::format_string<Args...> format, Args&&... args) {
    return fail(ErrorCode::kUnsupported, "{}: {}", where_,
                fmt::format(format, std::forward<Args>(args)...));
  }

  /// Runs `each` on `value`, or on the members of the Sequence that it is.
  template <typename Each>
  Result<> walk(element value, std::string_view list, int depth, Each each) {
    if (text_of(value, "type") != "Sequence") return each(value);
    simdjson::dom::array members;
    if (value[list].get(members)) return bad("a Sequence has no array `{}`", list);
    if (depth > 8) return bad("Sequences are nested more than 8 deep");
    for (const element member : members) HEADROOM_TRY_VOID(walk(member, list, depth + 1, each));
    return {};
  }

  Result<> read_normalizer(element root) {
    element value;
    if (!given(root, "normalizer", value)) return {};
    return walk(value, "normalizers", 0, [&](element step) -> Result<> {
      return unsupported("`normalizer.type` is `{}`: no normaliser is supported",
                         text_of(step, "type"));
    });
  }

  Result<> read_pretokenizer(element value) {
    return walk(value, "pretokenizers", 0, [&](element step) -> Result<> {
      const std::string_view type = text_of(step, "type");
      if (byte_level_) return unsupported("`pre_tokenizer`: a {} step after ByteLevel", type);
      if (type == "Split") return read_split(step);
      if (type == "Digits")
        return add_stage(flag_of(step, "individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)",
                         SplitBehavior::kIsolated, false);
      if (type != "ByteLevel") return unsupported("`pre_tokenizer.type` is `{}`", type);
      if (flag_of(step, "add_prefix_space", true))
        return unsupported("`pre_tokenizer.add_prefix_space` is true");
      byte_level_ = true;
      if (!flag_of(step, "use_regex", true)) return {};
      return add_stage(kByteLevelPattern, SplitBehavior::kIsolated, false);
    });
  }

  Result<> read_split(element step) {
    element pattern;
    std::string regex;
    if (given(step, "pattern", pattern)) {
      regex = text_of(pattern, "Regex");
      if (regex.empty()) regex = quoted(text_of(pattern, "String"));
    }
    if (regex.empty()) return bad("`pre_tokenizer`: a Split has no pattern");
    const std::string_view name = text_of(step, "behavior");
    constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
        {"Removed", SplitBehavior::kRemoved},
        {"Isolated", SplitBehavior::kIsolated},
        {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
        {"MergedWithNext", SplitBehavior::kMergedWithNext},
        {"Contiguous", SplitBehavior::kContiguous},
    };
    for (const auto& [known, behavior] : kBehaviors)
      if (name == known) return add_stage(regex, behavior, flag_of(step, "invert", false));
    return unsupported("`pre_tokenizer.behavior` is `{}`", name);
  }

  Result<> add_stage(std::string_view pattern, SplitBehavior behavior, bool invert) {
    auto regex = Regex::compile(pattern);
    if (!regex) return base::fail_in(where_, std::move(regex).error());
    out_.pretokenizer_.add({std::move(*regex), behavior, invert});
    return {};
  }

  Result<> read_post_processor(element value) {
    return walk(value, "processors", 0, [&](element step) -> Result<> {
      const std::string_view type = text_of(step, "type");
      if (type == "ByteLevel") return {};
      if (type != "TemplateProcessing") return unsupported("`post_processor.type` is `{}`", type);
      element first, inner;
      if (!step["single"].at(0).get(first))
        out_.template_bos_ = given(first, "SpecialToken", inner);
      return {};
    });
  }

  Result<> read_model(element model) {
    if (text_of(model, "type") != "BPE" && !text_of(model, "type").empty())
      return unsupported("`model.type` is `{}`, not BPE", text_of(model, "type"));
    element value;
    if (given(model, "dropout", value))
      return unsupported("`model.dropout` is {}", describe_json(value));
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!text_of(model, key).empty())
        return unsupported("`model.{}` is `{}`", key, text_of(model, key));
    if (flag_of(model, "byte_fallback", false)) return unsupported("`model.byte_fallback` is true");
    out_.bpe_.ignore_merges = flag_of(model, "ignore_merges", false);
    HEADROOM_TRY_VOID(read_vocab(model));
    return read_merges(model);
  }

  void place(int64_t id, std::string bytes, bool special) {
    const auto at = static_cast<size_t>(id);
    if (at >= out_.bytes_.size()) {
      out_.bytes_.resize(at + 1);
      out_.special_.resize(at + 1);
    }
    out_.bytes_[at] = std::move(bytes);
    out_.special_[at] = special;
  }

  Result<> read_vocab(element model) {
    simdjson::dom::object vocab;
    if (model["vocab"].get(vocab)) return bad("`model.vocab` is not an object");
    std::set<int64_t> ids;
    for (const auto& [spelling, value] : vocab) {
      int64_t id = 0;
      if (value.get(id) || id < 0 || id > kLargestId)
        return bad("`model.vocab`: token `{}` has id {}", spelling, describe_json(value));
      if (!ids.insert(id).second) return bad("`model.vocab`: id {} is given twice", id);
      if (!vocab_.emplace(spelling, static_cast<int32_t>(id)).second)
        return bad("`model.vocab`: token `{}` is listed twice", spelling);
      // Special tokens may be listed here too; they are no byte spellings and are placed later.
      const auto bytes = bytes_of_spelling(spelling);
      place(id, bytes.value_or(std::string(spelling)), false);
      if (out_.bpe_.ignore_merges && bytes)
        out_.bpe_.whole.emplace(*bytes, static_cast<int32_t>(id));
    }
    for (int byte = 0; byte < 256; ++byte) {
      const auto it = vocab_.find(byte_character(static_cast<uint8_t>(byte)));
      if (it == vocab_.end()) return bad("`model.vocab` has no token for byte 0x{:02x}", byte);
      out_.bpe_.byte_tokens[static_cast<size_t>(byte)] = it->second;
    }
    return {};
  }

  Result<> read_merges(element model) {
    simdjson::dom::array merges;
    if (model["merges"].get(merges)) return bad("`model.merges` is not an array");
    int32_t rank = 0;
    for (const element entry : merges) {
      std::string_view left, right, joined;
      if (!entry.get(joined)) {
        const size_t space = joined.find(' ');
        if (space == std::string_view::npos)
          return bad("`model.merges`: entry {} `{}` has no space", rank, joined);
        left = joined.substr(0, space);
        right = joined.substr(space + 1);
      } else if (entry.at(0).get(left) || entry.at(1).get(right)) {
        return bad("`model.merges`: entry {} is {}, not a pair of texts", rank,
                   describe_json(entry));
      }
      const auto a = vocab_.find(left), b = vocab_.find(right);
      const std::string both = std::string(left) + std::string(right);
      const auto result = vocab_.find(both);
      if (a == vocab_.end() || b == vocab_.end() || result == vocab_.end())
        return bad("`model.merges`: entry {} `{} {}` makes a token that `vocab` lacks", rank, left,
                   right);
      out_.bpe_.add_merge(a->second, b->second, rank++, result->second);
    }
    return {};
  }

  Result<> read_added(element value) {
    simdjson::dom::array list;
    if (value.get(list)) return bad("`added_tokens` is {}, not an array", describe_json(value));
    for (const element entry : list) {
      AddedToken token;
      token.content = text_of(entry, "content");
      token.special = flag_of(entry, "special", false);
      int64_t id = 0;
      if (entry["id"].get(id) || id < 0 || id > kLargestId || token.content.empty())
        return bad("`added_tokens`: {} has no content or no id", describe_json(entry));
      token.id = static_cast<int32_t>(id);
      for (const char* key : {"single_word", "lstrip", "rstrip"})
        if (flag_of(entry, key, false))
          return unsupported("`added_tokens`: `{}` has `{}`", token.content, key);
      place(id, token.content, token.special);
      if (!out_.added_ids_.emplace(token.content, token.id).second)
        return bad("`added_tokens`: `{}` is listed twice", token.content);
      out_.added_lengths_.push_back(token.content.size());
      out_.added_.push_back(std::move(token));
    }
    auto& lengths = out_.added_lengths_;
    std::sort(lengths.begin(), lengths.end(), std::greater<>());
    lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
    return {};
  }

  std::string_view where_;
  Tokenizer& out_;
  bool byte_level_ = false;
  std::map<std::string, int32_t, std::less<>> vocab_;
};

Result<Tokenizer> Tokenizer::parse(std::string_view where, std::string_view json) {
  HEADROOM_TRY(const auto document, tensor::parse_json(where, json));
  Tokenizer tokenizer;
  HEADROOM_TRY_VOID(TokenizerReader(where, tokenizer).read(document->root));
  return tokenizer;
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& directory) {
  const auto path = directory / "tokenizer.json";
  HEADROOM_TRY(const std::string json, base::read_file(path));
  HEADROOM_TRY(Tokenizer tokenizer, parse(path.string(), json));
  HEADROOM_TRY(tokenizer.special_ids_,
               read_special_ids(directory, [&](std::string_view text) -> std::optional<int32_t> {
                 return tokenizer.added_token(text);
               }));
  if (tokenizer.template_bos_ && tokenizer.special_ids_.bos) tokenizer.special_ids_.add_bos = true;
  return tokenizer;
}

}  // namespace headroom::text
