// The embedded model's tokenizer against its golden file; small tokenizers for every rule.
#include "text/tokenizer.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "tensor/json_document.h"
#include "text/byte_level.h"
#include "text/detokenizer.h"

namespace headroom::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kTiny = std::string(HEADROOM_SOURCE_DIR) + "/models/tiny-mla";

const Tokenizer& tiny() {
  static const Tokenizer kTokenizer = *Tokenizer::load(kTiny);
  return kTokenizer;
}

/// A tokenizer over single bytes (ids are the bytes) with `merges` and more fields.
std::string small_json(std::string_view merges, std::string_view extra_vocab = "",
                       std::string_view more = "", std::string_view model = "",
                       std::string_view split = R"({"type":"Split","pattern":{"Regex":" ?\\S+"},
                         "behavior":"Isolated","invert":false},)") {
  std::string vocab;
  for (int byte = 0; byte < 256; ++byte) {
    std::string c = byte_character(static_cast<uint8_t>(byte));
    if (c == "\"" || c == "\\") c = "\\" + c;
    vocab += fmt::format("{}\"{}\":{}", byte ? "," : "", c, byte);
  }
  return fmt::format(R"({{"pre_tokenizer":{{"type":"Sequence","pretokenizers":[{}
      {{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}}]}},{}
      "decoder":{{"type":"ByteLevel"}},
      "model":{{"type":"BPE",{}"vocab":{{{}{}}},"merges":[{}]}}}})",
                     split, more, model, vocab, extra_vocab, merges);
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text,
                            bool allow_special = false) {
  const auto ids = tokenizer.encode(text, allow_special);
  EXPECT_TRUE(ids) << ids.error().message;
  return ids ? *ids : std::vector<int32_t>{};
}

std::string error_of(const std::string& json) {
  const auto tokenizer = Tokenizer::parse("tokenizer.json", json);
  return tokenizer ? "" : tokenizer.error().message;
}

TEST(Tokenizer, GoldenCasesOfTheEmbeddedModel) {
  const auto golden = tensor::read_json(kTiny + "/golden_tokenizer.json");
  ASSERT_TRUE(golden);
  int count = 0;
  for (const simdjson::dom::element entry : (*golden)->root["cases"].get_array()) {
    const std::string_view text = entry["text"];
    std::vector<int32_t> ids;
    for (const simdjson::dom::element id : entry["ids"].get_array())
      ids.push_back(static_cast<int32_t>(int64_t(id)));
    EXPECT_EQ(encode(tiny(), text, true), ids) << text;
    EXPECT_EQ(tiny().decode(ids, false), text);
    ++count;
  }
  EXPECT_EQ(count, 17);
}

TEST(Tokenizer, SpecialIdsComeFromTheModelFolder) {
  EXPECT_EQ(tiny().bos(), 0);
  EXPECT_THAT(tiny().eos(), ElementsAre(1));
  EXPECT_TRUE(tiny().special_ids().add_bos);
  EXPECT_EQ(tiny().size(), 4096);
  EXPECT_EQ(tiny().added_token("<|user|>"), 2);
}

TEST(Tokenizer, TextCannotForgeSpecialTokens) {
  const std::string text = "<|user|>hi<|assistant|>";
  EXPECT_THAT(encode(tiny(), text, true), ElementsAre(2, 75, 76, 3));
  const auto plain = encode(tiny(), text);
  for (const int32_t id : plain) EXPECT_FALSE(tiny().is_special(id)) << id;
  EXPECT_EQ(tiny().decode(plain), text);
  EXPECT_EQ(tiny().decode(encode(tiny(), text, true)), "hi");
}

TEST(Tokenizer, LongestSpecialTokenWins) {
  const auto tokenizer = Tokenizer::parse("t", small_json("", "", R"("added_tokens":[
      {"id":300,"content":"<a>","special":true},{"id":301,"content":"<a>b","special":false},
      {"id":302,"content":"<","special":false}],)"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(encode(*tokenizer, "x<a>b<a>c<", true), ElementsAre('x', 301, 300, 'c', 302));
  EXPECT_THAT(encode(*tokenizer, "<a>"), ElementsAre('<', 'a', '>'));
  EXPECT_EQ(tokenizer->decode(std::vector<int32_t>{300, 301, 'x'}), "<a>bx");
}

TEST(Tokenizer, MergesInBothFormsByRankLeftmostFirst) {
  const char* vocab = R"(,"ab":256,"bc":257,"abc":258,"aa":259)";
  const auto lists =
      Tokenizer::parse("t", small_json(R"(["b","c"],["a","bc"],["a","b"],["a","a"])", vocab));
  const auto strings = Tokenizer::parse("t", small_json(R"("b c","a bc","a b","a a")", vocab));
  ASSERT_TRUE(lists) << lists.error().message;
  ASSERT_TRUE(strings) << strings.error().message;
  for (const Tokenizer* tokenizer : {&*lists, &*strings}) {
    EXPECT_THAT(encode(*tokenizer, "abc"), ElementsAre(258));
    EXPECT_THAT(encode(*tokenizer, "abab"), ElementsAre(256, 256));
    EXPECT_THAT(encode(*tokenizer, "aaa"), ElementsAre(259, 'a'));
    EXPECT_THAT(encode(*tokenizer, "aabc"), ElementsAre('a', 258));
  }
}

TEST(Tokenizer, IgnoreMergesTakesWholePieces) {
  const char* vocab = R"(,"abc":256,"ab":257)";
  const auto tokenizer =
      Tokenizer::parse("t", small_json(R"(["a","b"])", vocab, "", R"("ignore_merges":true,)"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(encode(*tokenizer, "abc"), ElementsAre(256));
  EXPECT_THAT(encode(*tokenizer, "abcd"), ElementsAre(257, 'c', 'd'));
}

/// The rule itself, one merge at a time.
std::vector<int32_t> merge_slowly(std::vector<int32_t> ids,
                                  const std::vector<std::array<int32_t, 3>>& merges) {
  for (;;) {
    size_t best = merges.size(), at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i)
      for (size_t m = 0; m < best; ++m)
        if (merges[m][0] == ids[i] && merges[m][1] == ids[i + 1]) {
          best = m;
          at = i;
        }
    if (best == merges.size()) return ids;
    ids[at] = merges[best][2];
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, EqualsTheRuleAppliedOneMergeAtATime) {
  base::Rng rng(3);
  for (int round = 0; round < 300; ++round) {
    Bpe bpe;
    for (int b = 0; b < 256; ++b) bpe.byte_tokens[static_cast<size_t>(b)] = b;
    std::vector<std::array<int32_t, 3>> merges;
    std::set<std::pair<int32_t, int32_t>> pairs;
    std::vector<int32_t> tokens = {'a', 'b', 'c'};
    for (int32_t m = 0; m < 12; ++m) {
      const int32_t left = tokens[rng.below(tokens.size())],
                    right = tokens[rng.below(tokens.size())];
      if (!pairs.emplace(left, right).second) continue;
      const int32_t result = 256 + m;
      bpe.add_merge(left, right, static_cast<int32_t>(merges.size()), result);
      merges.push_back({left, right, result});
      tokens.push_back(result);
    }
    std::string text;
    for (uint64_t i = rng.below(40); i > 0; --i) text += static_cast<char>('a' + rng.below(3));
    Bpe::Scratch scratch;
    std::vector<int32_t> ids;
    bpe.encode(text, scratch, ids);
    EXPECT_EQ(ids, merge_slowly({text.begin(), text.end()}, merges)) << text;
  }
}

TEST(Tokenizer, AMegabyteOfOneWordIsNotQuadratic) {
  std::string word;
  for (const char* syllable : {"the", "re", "and", "in", "er", "ou"})
    for (int i = 0; i < 100; ++i) word += syllable;
  std::string text;
  while (text.size() < (1u << 20)) text += word;
  const int64_t started = base::now_ns();
  const auto ids = encode(tiny(), text);
  const double seconds = static_cast<double>(base::now_ns() - started) * 1e-9;
  EXPECT_EQ(tiny().decode(ids), text);
  EXPECT_LT(seconds, 10.0);  // takes about 0.3 s; a quadratic merge takes hours
  EXPECT_THAT(encode(tiny(), std::string(3 << 20, ' ')), ::testing::Not(IsEmpty()));
}

TEST(Tokenizer, EveryTextComesBack) {
  base::Rng rng(9);
  const std::string letters[] = {"a", "Z", " ", "\n", "\r", "é", "東", "🚀", "1", "!", "\t", "'s"};
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (uint64_t i = rng.below(60); i > 0; --i) text += letters[rng.below(std::size(letters))];
    EXPECT_EQ(tiny().decode(encode(tiny(), text)), text);
  }
}

TEST(Tokenizer, BrokenUtf8IsRefusedWithItsPlace) {
  for (const char* text : {"ab\xFF", "ab\xC3", "ab\xED\xA0\x80", "ab\xC0\x80"}) {
    const auto ids = tiny().encode(text);
    ASSERT_FALSE(ids);
    EXPECT_EQ(ids.error().code, base::ErrorCode::kInvalidArgument);
    EXPECT_THAT(ids.error().message, HasSubstr("byte 2"));
  }
}

TEST(Detokenizer, JoinsToDecodeAndNeverBreaksACharacter) {
  base::Rng rng(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<int32_t> ids;
    for (uint64_t i = rng.below(30); i > 0; --i)  // many single-byte tokens: broken characters
      ids.push_back(static_cast<int32_t>(rng.below(rng.below(2) ? 4200 : 260)));
    Detokenizer detokenizer(tiny());
    std::string joined;
    for (const int32_t id : ids) {
      const std::string piece = detokenizer.push(id);
      for (size_t at = 0; at < piece.size();) {
        const size_t length = base::utf8_length(std::string_view(piece).substr(at));
        ASSERT_GT(length, 0u);
        at += length;
      }
      joined += piece;
    }
    EXPECT_EQ(joined + detokenizer.flush(), tiny().decode(ids));
  }
}

TEST(Detokenizer, HoldsBackAndReplacesByMaximalParts) {
  base::Utf8Joiner joiner;
  EXPECT_EQ(joiner.push("a\xF0\x9F"), "a");
  EXPECT_EQ(joiner.push("\x9A"), "");
  EXPECT_EQ(joiner.push("\x80!"), "🚀!");
  EXPECT_EQ(joiner.push("\xE6\x9D"), "");
  EXPECT_EQ(joiner.push("b"), "\uFFFDb");
  EXPECT_EQ(joiner.push("\xFF\xFE"), "\uFFFD\uFFFD");
  EXPECT_EQ(joiner.push("\xC3"), "");
  EXPECT_EQ(joiner.flush(), "\uFFFD");
  EXPECT_EQ(joiner.flush(), "");
}

TEST(Tokenizer, RefusesStepsByName) {
  const auto with_split = [](const char* split) { return small_json("", "", "", "", split); };
  EXPECT_EQ(error_of(small_json("")), "");
  EXPECT_THAT(error_of("{"), HasSubstr("tokenizer.json: not valid JSON"));
  EXPECT_THAT(error_of("{}"), HasSubstr("no ByteLevel"));
  EXPECT_THAT(error_of(with_split(R"({"type":"Whitespace"},)")), HasSubstr("`Whitespace`"));
  EXPECT_THAT(error_of(with_split(R"({"type":"Split","pattern":{"Regex":"(a"},
                                     "behavior":"Isolated"},)")),
              HasSubstr("regex `(a`"));
  EXPECT_THAT(error_of(with_split(R"({"type":"Split","pattern":{"Regex":"a"},
                                     "behavior":"Odd"},)")),
              HasSubstr("`Odd`"));
  EXPECT_THAT(error_of(small_json("", "", R"("normalizer":{"type":"NFC"},)")),
              HasSubstr("`normalizer.type` is `NFC`"));
  EXPECT_EQ(error_of(small_json("", "", R"("normalizer":{"type":"Sequence","normalizers":[]},)")),
            "");
  EXPECT_THAT(error_of(small_json(R"(["a","b"])")), HasSubstr("entry 0 `a b` makes a token"));
  EXPECT_THAT(error_of(small_json(R"("ab")", R"(,"ab":256)")), HasSubstr("has no space"));
  EXPECT_THAT(error_of(small_json("", R"(,"ab":-4)")), HasSubstr("token `ab` has id -4"));
  EXPECT_THAT(error_of(small_json("", R"(,"ab":7)")), HasSubstr("id 7 is given twice"));
  EXPECT_THAT(error_of(small_json("", "", "", R"("byte_fallback":true,)")),
              HasSubstr("byte_fallback"));
  EXPECT_THAT(error_of(small_json("", "", R"("added_tokens":[{"id":5}],)")),
              HasSubstr("`added_tokens`"));
}

TEST(Tokenizer, MutatedFilesAreReadOrRefused) {
  const std::string sound = small_json(R"(["a","b"],"ab c")", R"(,"ab":256,"abc":257)",
                                       R"("added_tokens":[{"id":258,"content":"<x>"}],)");
  base::Rng rng(13);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string json = sound;
    if (round % 4 == 0) json.resize(rng.below(json.size()));
    for (uint64_t i = 1 + rng.below(3); i > 0 && !json.empty(); --i)
      json[rng.below(json.size())] = static_cast<char>(rng.below(128));
    const auto tokenizer = Tokenizer::parse("t", json);
    if (!tokenizer) {
      ++refused;
      continue;
    }
    const auto ids = tokenizer->encode("abc <x> d", true);
    if (ids) tokenizer->decode(*ids);
  }
  EXPECT_GT(refused, 500);
}

TEST(ByteLevel, EveryByteHasItsCharacter) {
  std::string all, spelling;
  for (int b = 0; b < 256; ++b) {
    all += static_cast<char>(b);
    spelling += byte_character(static_cast<uint8_t>(b));
  }
  EXPECT_EQ(bytes_of_spelling(spelling), all);
  EXPECT_EQ(byte_character(' '), "Ġ");
  EXPECT_EQ(byte_character('\n'), "Ċ");
  EXPECT_FALSE(bytes_of_spelling("東"));
}

}  // namespace
}  // namespace headroom::text
