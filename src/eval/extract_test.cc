// The two rules for an answer's number, and the reader of tasks.
#include "eval/extract.h"

#include "eval/task.h"

namespace headroom::eval {
namespace {

std::string strict(std::string_view text) {
  const auto found = strict_match(text);
  return found ? normalised(*found) : "none";
}
std::string flexible(std::string_view text) {
  const auto found = flexible_match(text);
  return found ? normalised(*found) : "none";
}

TEST(Extract, StrictTakesTheFirstMarkedNumber) {
  EXPECT_EQ(strict("so 3 + 4 = 7\n#### 7"), "7");
  EXPECT_EQ(strict("#### 1,234.50 #### 9"), "1234.50");
  EXPECT_EQ(strict("#### -12."), "-12");
  EXPECT_EQ(strict("#### $5\n#### 6"), "6") << "a dollar sign is no part of the rule";
  EXPECT_EQ(strict("####7"), "none") << "the space is";
  EXPECT_EQ(strict("the answer is 7"), "none");
  EXPECT_EQ(strict("#### "), "none");
  EXPECT_EQ(strict("#### -"), "none");
  EXPECT_EQ(strict(""), "none");
}

TEST(Extract, FlexibleTakesTheLastNumber) {
  EXPECT_EQ(flexible("3 apples and 4 pears make 7 pieces."), "7");
  EXPECT_EQ(flexible("It costs $1,250.00."), "1250.00");
  EXPECT_EQ(flexible("minus -5"), "-5");
  EXPECT_EQ(flexible("10-5"), "-5") << "as the rule scans it";
  EXPECT_EQ(flexible("x-"), "none");
  EXPECT_EQ(flexible("5 ..."), "..") << "two or more of the marks are a number to the rule";
  EXPECT_EQ(flexible("7."), "7");
  EXPECT_EQ(flexible("no number"), "none");
  EXPECT_EQ(flexible("#### 42"), "42");
}

TEST(Task, ReadsGsm8k) {
  const auto task = parse_task(
      "\xEF\xBB\xBF{\"question\":\"2+3?\",\"answer\":\"2+3=5\\n#### 5\"}\r\n\n"
      "{\"answer\":\"#### 1,000\",\"question\":\"q\",\"id\":7}",
      "t.jsonl");
  ASSERT_TRUE(task) << task.error().message;
  ASSERT_EQ(task->size(), 2u);
  EXPECT_EQ((*task)[0].gold, "5");
  EXPECT_EQ((*task)[1].gold, "1000");
  EXPECT_EQ((*task)[1].line, 3);
}

TEST(Task, BadLinesAreNamed) {
  const std::string good = "{\"question\":\"q\",\"answer\":\"#### 1\"}\n";
  const struct {
    std::string text, words;
  } cases[] = {
      {"", "t.jsonl: holds no question"},
      {"\n \n", "t.jsonl: holds no question"},
      {good + "{", "t.jsonl:2: not JSON"},
      {good + good + "[1]", "t.jsonl:3: must be an object"},
      {"{\"question\":\"q\"}", "t.jsonl:1: field `answer` is missing"},
      {"{\"question\":1,\"answer\":\"#### 1\"}", "t.jsonl:1: `question` must be a string"},
      {"{\"question\":\" \",\"answer\":\"#### 1\"}", "t.jsonl:1: `question` is empty"},
      {"{\"question\":\"q\",\"answer\":\"#### ,.\"}", "t.jsonl:1: `answer` must end in `#### `"},
      {good + "{\"question\":\"q\",\"answer\":\"42\"}", "t.jsonl:2: `answer` must end in `#### `"},
  };
  for (const auto& c : cases) {
    const auto task = parse_task(c.text, "t.jsonl");
    ASSERT_FALSE(task) << c.text;
    EXPECT_TRUE(task.error().message.starts_with(c.words)) << task.error().message;
  }
}

TEST(Task, MutatedLinesNeverCrash) {
  const std::string good =
      "{\"question\":\"2+3?\",\"answer\":\"2+3=5\\n#### "
      "5\"}\n{\"question\":\"q\",\"answer\":\"#### "
      "1\"}\n";
  std::mt19937 random(3);
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = good.substr(0, random() % (good.size() + 1));
    for (auto changes = random() % 3; changes > 0 && !text.empty(); --changes)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    const auto task = parse_task(text, "t");
    accepted += task.has_value();
    if (!task) EXPECT_TRUE(task.error().message.starts_with("t:")) << task.error().message;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 2000);
}

}  // namespace
}  // namespace headroom::eval
