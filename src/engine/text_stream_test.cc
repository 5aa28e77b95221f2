// TextStream: the same text whatever the cuts, nothing shown that a stop text takes back.
#include "engine/text_stream.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace headroom::engine {
namespace {

TEST(TextStream, HoldsAnUnfinishedCharacter) {
  TextStream stream({}, false);
  stream.append("a\xE2\x82");
  EXPECT_EQ(stream.take(), "a");
  EXPECT_TRUE(stream.holds());
  stream.append("\xAC!");
  EXPECT_EQ(stream.take(), "€!");
  EXPECT_FALSE(stream.holds());
}

TEST(TextStream, BrokenBytesBecomeOneMarkForEachStart) {
  TextStream stream({}, false);
  stream.append("\xFF\xE2\x82q");
  EXPECT_EQ(stream.take(), "\uFFFD\uFFFDq");
  stream.append("\xF0\x9F\x98");
  EXPECT_EQ(stream.take(), "");
  EXPECT_EQ(stream.flush(), "\uFFFD");
}

TEST(TextStream, StopAcrossTokensIsNotShown) {
  TextStream stream({"END", "\n\n"}, false);
  stream.append("one E");
  EXPECT_EQ(stream.take(), "one ");
  stream.append("N");
  EXPECT_EQ(stream.take(), "");
  stream.append("Dtwo");
  ASSERT_EQ(stream.stopped(), 0u);
  EXPECT_EQ(stream.flush(), "");
}

TEST(TextStream, FalseAlarmIsReleased) {
  TextStream stream({"END"}, false);
  stream.append("EN");
  EXPECT_EQ(stream.take(), "");
  stream.append("E");
  EXPECT_EQ(stream.take(), "EN");
  EXPECT_EQ(stream.flush(), "E");
}

TEST(TextStream, IncludedStopAndMinimum) {
  TextStream stream({"."}, true);
  stream.append("a.", false);
  EXPECT_EQ(stream.take(), "a.");
  stream.append("b.c");
  EXPECT_EQ(stream.take(), "b.");
  EXPECT_TRUE(stream.stopped());
}

// Property: cutting the bytes anywhere gives the same text and the same stop.
TEST(TextStream, CutsDoNotMatter) {
  base::Rng rng(11);
  const std::vector<std::string> atoms = {"a",  "b",    "ab",   "é",   "€",
                                          "😀", "\xFF", "\xE2", "aba", "\n"};
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (uint64_t i = 0, n = rng.below(12); i < n; ++i) bytes += atoms[rng.below(atoms.size())];
    const std::vector<std::string> stop = {"abb", "€a", "bab"};
    TextStream whole(stop, false);
    whole.append(bytes);
    const std::string expected = whole.take() + whole.flush();
    TextStream cut(stop, false);
    std::string got;
    for (size_t at = 0; at < bytes.size() && !cut.stopped();) {
      const size_t n = 1 + rng.below(3);
      cut.append(std::string_view(bytes).substr(at, n));
      got += cut.take();
      at += n;
    }
    got += cut.flush();
    ASSERT_EQ(got, expected) << round;
    ASSERT_EQ(cut.stopped().has_value(), whole.stopped().has_value());
  }
}

}  // namespace
}  // namespace headroom::engine
