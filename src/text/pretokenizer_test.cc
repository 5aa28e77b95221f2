// Split behaviours, and patterns of other engines.
#include "text/pretokenizer.h"

#include <gmock/gmock.h>

namespace headroom::text {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> split(std::string_view pattern, SplitBehavior behavior, bool invert,
                               std::string_view text) {
  auto regex = Regex::compile(pattern);
  EXPECT_TRUE(regex) << regex.error().message;
  Pretokenizer pretokenizer;
  pretokenizer.add({std::move(*regex), behavior, invert});
  const auto pieces = pretokenizer.split(text);
  EXPECT_TRUE(pieces) << pieces.error().message;
  return {pieces->begin(), pieces->end()};
}

TEST(Pretokenizer, EachBehavior) {
  const std::string text = "the-final--countdown";
  EXPECT_THAT(split("-", SplitBehavior::kRemoved, false, text),
              ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kIsolated, false, text),
              ElementsAre("the", "-", "final", "-", "-", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kMergedWithPrevious, false, text),
              ElementsAre("the-", "final-", "-", "countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kMergedWithNext, false, text),
              ElementsAre("the", "-final", "-", "-countdown"));
  EXPECT_THAT(split("-", SplitBehavior::kContiguous, false, text),
              ElementsAre("the", "-", "final", "--", "countdown"));
  EXPECT_THAT(split("[a-z]+", SplitBehavior::kRemoved, true, text),
              ElementsAre("the", "final", "countdown"));
  EXPECT_THAT(split("x*", SplitBehavior::kIsolated, false, "éxa"), ElementsAre("é", "x", "a"));
  EXPECT_TRUE(split("-", SplitBehavior::kIsolated, false, "").empty());
}

TEST(Pretokenizer, AStageSeesOnlyItsPiece) {
  Pretokenizer pretokenizer;
  pretokenizer.add({*Regex::compile("[0-9]"), SplitBehavior::kIsolated, false});
  pretokenizer.add({*Regex::compile(R"(\s+(?!\S))"), SplitBehavior::kIsolated, false});
  // Within "a  " the blanks are trailing although a digit follows in the text.
  EXPECT_THAT(*pretokenizer.split("a  1"), ElementsAre("a", "  ", "1"));
}

TEST(Regex, UnicodeClassesAndLineEnds) {
  EXPECT_THAT(split(R"(\p{N}{1,3})", SplitBehavior::kIsolated, false, "1234५"),
              ElementsAre("123", "4५"));
  EXPECT_THAT(split(R"(\s+$)", SplitBehavior::kIsolated, false, "a \nb "),
              ElementsAre("a", " ", "\nb", " "));
  EXPECT_THAT(split(R"([一-龥]+)", SplitBehavior::kIsolated, false, "a東京b"),
              ElementsAre("a", "東京", "b"));
}

TEST(Regex, IntersectionsBecomeLookaheads) {
  EXPECT_EQ(*translate_pattern(R"([\p{L}\p{M}&&[^\p{Han}]]+x)"),
            R"((?:(?![\p{Han}])[\p{L}\p{M}])+x)");
  EXPECT_EQ(*translate_pattern(R"([a-z&&[b-d]])"), "(?:(?=[b-d])[a-z])");
  EXPECT_EQ(*translate_pattern(R"([\[&\]]|a&&b)"), R"([\[&\]]|a&&b)");
  EXPECT_THAT(split(R"([\p{L}&&[^\p{Han}]]+)", SplitBehavior::kIsolated, false, "ab東京c"),
              ElementsAre("ab", "東京", "c"));
}

TEST(Regex, WhatWouldBeReadDifferentlyIsRefused) {
  for (const char* pattern : {"[a[bc]]", "[^a&&[b]]", "[a&&b]", R"(\h+)"}) {
    const auto regex = Regex::compile(pattern);
    ASSERT_FALSE(regex) << pattern;
    EXPECT_EQ(regex.error().code, base::ErrorCode::kUnsupported) << regex.error().message;
  }
  EXPECT_THAT(Regex::compile("[ab").error().message, HasSubstr("not closed"));
}

TEST(Regex, HopelessPatternsEnd) {
  const auto regex = Regex::compile("(a|aa|aaa)+$x");
  ASSERT_TRUE(regex);
  const auto match = regex->find(std::string(60, 'a'), 0);
  EXPECT_TRUE(!match || !*match);  // gives up with an error, or finds nothing; either way it ends
}

}  // namespace
}  // namespace headroom::text
