// Tests of the small things everything else stands on.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>

#include "base/file.h"
#include "base/histogram.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "base/queue.h"
#include "base/result.h"
#include "base/rng.h"
#include "base/table.h"
#include "base/thread_pool.h"
#include "base/utf8.h"

namespace headroom::base {
namespace {

Result<int> half(int n) {
  if (n % 2) return fail(ErrorCode::kInvalidArgument, "{} is odd", n);
  return n / 2;
}

Result<int> quarter(int n) {
  HEADROOM_TRY(const int h, half(n));
  return half(h);
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
  EXPECT_EQ(exit_status(quarter(7).error().code), 2);
  EXPECT_EQ(http_status(ErrorCode::kNotFound), 404);
}

TEST(JsonWriter, NestsAndEscapes) {
  JsonWriter w;
  w.begin_object().field("a", 1).key("b").begin_array().value("x\"\n\x01").value(0.1).value(true);
  w.null().value(std::optional<double>()).end_array().field("nan", 0.0 / 0.0).end_object();
  EXPECT_EQ(w.take(), R"({"a":1,"b":["x\"\n\u0001",0.1,true,null,null],"nan":null})");
}

TEST(JsonWriter, ReplacesInvalidUtf8) {
  JsonWriter w;
  w.value(std::string("a\xff\xc3") + "\xc3\xa9");
  EXPECT_EQ(w.take(), "\"a\xEF\xBF\xBD\xEF\xBF\xBD\xc3\xa9\"");
}

TEST(Utf8, LengthsAndIncomplete) {
  EXPECT_EQ(utf8_length("a"), 1u);
  EXPECT_EQ(utf8_length("\xE4\xB8\xAD"), 3u);
  EXPECT_EQ(utf8_length("\xF0\x9F\x98\x80"), 4u);
  EXPECT_EQ(utf8_length("\xC0\x80"), 0u);      // overlong
  EXPECT_EQ(utf8_length("\xED\xA0\x80"), 0u);  // surrogate
  EXPECT_TRUE(utf8_incomplete("\xE4\xB8"));
  EXPECT_FALSE(utf8_incomplete("\xE4\x41"));
  EXPECT_FALSE(utf8_incomplete("\xE4\xB8\xAD"));
}

TEST(Histogram, PercentilesWithinOnePerMille) {
  Histogram h;
  std::mt19937_64 rng(7);
  std::vector<int64_t> values;
  for (int i = 0; i < 20000; ++i) values.push_back(static_cast<int64_t>(rng() % 5'000'000'000ull));
  for (const int64_t v : values) h.record(v);
  std::sort(values.begin(), values.end());
  for (const double p : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const int64_t exact = values[static_cast<size_t>(std::ceil(p / 100 * 20000)) - 1];
    EXPECT_NEAR(static_cast<double>(h.percentile(p)), static_cast<double>(exact),
                1e-3 * static_cast<double>(exact))
        << p;
  }
  EXPECT_EQ(h.percentile(0), values.front());
  EXPECT_EQ(h.percentile(100), values.back());
  const auto back = Histogram::decode(h.encode());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->encode(), h.encode());
  EXPECT_EQ(back->percentile(99), h.percentile(99));
}

TEST(Histogram, LargestValueAndBadText) {
  Histogram h;
  h.record(std::numeric_limits<int64_t>::max());
  EXPECT_TRUE(Histogram::decode(h.encode()));
  EXPECT_TRUE(Histogram::decode(Histogram().encode()));
  for (const char* bad : {"", "v2;", "v1;1;1;1;1;", "v1;2;2;1;1;1:1", "v1;1;1;1;1;999999999999:1",
                          "v1;1;1;1;1;1:1,1:1", "v1;1;nan;1;1;1:1", "v1;1;1;5;1;1:1",
                          "v1;1;1;1;2;1:18446744073709551615,2:2", "v1;0;0;0;7;", "v1;0;3;0;0;",
                          "v1;2;9;4;5;3:1,5:1"})
    EXPECT_FALSE(Histogram::decode(bad)) << bad;
}

TEST(ThreadPool, RunsEveryTaskOnce) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (int round = 0; round < 200; ++round) {
      std::vector<std::atomic<int>> hits(97);
      pool.parallel_for(97, [&](int64_t t, int worker) {
        ASSERT_LT(worker, threads);
        hits[static_cast<size_t>(t)].fetch_add(1);
      });
      for (auto& h : hits) ASSERT_EQ(h.load(), 1);
    }
  }
}

TEST(BoundedQueue, RefusesWhenFullAndDrainsAfterClose) {
  BoundedQueue<int> q(2);
  EXPECT_TRUE(q.try_push(1));
  EXPECT_TRUE(q.try_push(2));
  EXPECT_FALSE(q.try_push(3));
  q.close();
  EXPECT_EQ(q.pop_for(std::chrono::seconds(1)), 1);
  EXPECT_EQ(q.try_pop(), 2);
  EXPECT_EQ(q.pop_for(std::chrono::milliseconds(1)), std::nullopt);
  EXPECT_FALSE(q.try_push(4));
}

TEST(Table, ThreeForms) {
  Table t{{{"name", Table::Align::kLeft}, {"x"}}, {{"中文", "1"}, {"a|b", "2,5"}}};
  EXPECT_EQ(t.terminal(), "name    x\n────  ───\n中文    1\na|b   2,5\n");
  EXPECT_EQ(t.markdown(), "| name | x |\n| :--- | ---: |\n| 中文 | 1 |\n| a\\|b | 2,5 |\n");
  EXPECT_EQ(t.csv(), "name,x\n中文,1\na|b,\"2,5\"\n");
  EXPECT_EQ(parse_csv(t.csv()),
            (std::vector<std::vector<std::string>>{{"name", "x"}, {"中文", "1"}, {"a|b", "2,5"}}));
  EXPECT_EQ(parse_csv("a,\"b\"\"\n\",\r\nc,,d"),
            (std::vector<std::vector<std::string>>{{"a", "b\"\n", ""}, {"c", "", "d"}}));
}

TEST(File, AtomicWriteReadAndMap) {
  const auto dir =
      std::filesystem::temp_directory_path() / fmt::format("headroom-base-{}", getpid());
  std::filesystem::create_directories(dir);
  const auto path = dir / "x.txt";
  ASSERT_TRUE(write_file_atomic(path, "hello"));
  EXPECT_EQ(read_file(path).value(), "hello");
  EXPECT_EQ(MappedFile::open(path)->bytes().size(), 5u);
  EXPECT_EQ(read_file(path, 4).error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(read_file(dir / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_file(dir).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(write_file_atomic(dir / "no" / "x", "y"));
  std::filesystem::remove_all(dir);
}

TEST(Rng, SequenceIsFixed) {
  Rng a(42), b(42);
  EXPECT_EQ(a.next(), b.next());
  double mean = 0;
  for (int i = 0; i < 20000; ++i) mean += a.exponential() / 20000;
  EXPECT_NEAR(mean, 1.0, 0.03);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(a.below(7), 7u);
}

TEST(Progress, QuietSaysNothing) {
  testing::internal::CaptureStderr();
  {
    Progress quiet("4 streams", 100, "tokens", true);
    quiet.update(50);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Progress, DurationText) {
  EXPECT_EQ(duration_text(12.4), "12 s");
  EXPECT_EQ(duration_text(65), "1:05");
  EXPECT_EQ(duration_text(3661), "1:01:01");
}

TEST(Table, CellsFromOutsideDoNotDriveTheTerminal) {
  Table table;
  table.columns = {{"a", Table::Align::kLeft}, {"b"}};
  table.rows = {{"x\n\x1b[31my", "1"}};
  EXPECT_EQ(table.terminal(), "a         b\n────────  ─\nx  [31my  1\n");
}

TEST(Progress, ALogIsNotFloodedByShortWork) {
  testing::internal::CaptureStderr();
  {
    Progress progress("work", 1000, "steps");
    for (int i = 0; i <= 1200; ++i) progress.update(i);  // more than was said, too
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.find("work 1200/1000 steps"), 0u) << text;
}

}  // namespace
}  // namespace headroom::base
