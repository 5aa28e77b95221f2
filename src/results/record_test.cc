// Records as JSON: every field survives, nothing wrong gets through.
#include "results/record.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "results/random_record.h"

namespace headroom::results {
namespace {

using testing::HasSubstr;

TEST(Record, EmptyIsEmpty) {
  EXPECT_EQ(to_json(Record{}), "{}");
  EXPECT_EQ(record_id(Record{}),  // SHA-256 of "{}"
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
}

TEST(Record, AbsentIsNotZero) {
  Record record;
  record.measures.requests_ok = 0;
  EXPECT_EQ(to_json(record), R"({"measures":{"requests_ok":0}})");
  const auto back = record_from_json(to_json(record));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->measures.requests_ok, 0);
  EXPECT_EQ(back->measures.requests_sent, std::nullopt);
}

TEST(Record, EveryFieldSurvivesTheRoundTrip) {
  const bool held = rc::check("to_json and record_from_json are inverse", [](uint64_t seed) {
    const Record record = RecordMaker(seed).record();
    const std::string text = to_json(record);
    const auto back = record_from_json(text);
    if (!back) RC_FAIL(back.error().message + " in " + text);
    RC_ASSERT(to_json(*back) == text);
    RC_ASSERT(record_id(*back) == record_id(record));
  });
  EXPECT_TRUE(held);
}

TEST(Record, EveryByteCountsForTheId) {
  Record a = RecordMaker(7).record(), b = a;
  EXPECT_EQ(record_id(a), record_id(b));
  b.server.flags["--block-size"] = "1";
  EXPECT_NE(record_id(a), record_id(b));
}

TEST(Record, RefusesWhatIsNotARecord) {
  const auto message = [](std::string_view json) {
    const auto record = record_from_json(json);
    return record ? std::string("accepted") : record.error().message;
  };
  EXPECT_THAT(message(""), HasSubstr("record: "));
  EXPECT_THAT(message("[]"), HasSubstr("is not an object"));
  EXPECT_EQ(message(R"({"colour":1})"), "colour: no such field of a record");
  EXPECT_EQ(message(R"({"server":{"layout":{"tp":"8"}}})"),
            R"(server.layout.tp: "8" is not a whole number)");
  EXPECT_EQ(message(R"({"repeat":1.5})"), "repeat: 1.5 is not a whole number");
  EXPECT_EQ(message(R"({"run":"a","run":"b"})"), "run: given twice");
  EXPECT_EQ(message(R"({"published":{"tpot_ms":"12ms"}})"),
            "published.tpot_ms: '12ms' is not a decimal number");
  EXPECT_THAT(message(R"({"measures":{"whole":{"ttft":"v1;1"}}})"),
              HasSubstr("measures.whole.ttft: histogram: "));
  EXPECT_EQ(message(R"({"plan":[{"op":"a"},{"ops":"b"}]})"),
            "plan[1].ops: no such field of a record");
  EXPECT_THAT(message("{\"run\":\"\xff\"}"), HasSubstr("record: "));
}

TEST(Record, MutatedTextIsAnErrorOrARecord) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string good = to_json(RecordMaker(seed).record());
    std::mt19937_64 random(seed);
    for (int i = 0; i < 60; ++i) {
      std::string bad = good;
      if (i % 3 == 0) bad.resize(random() % (bad.size() + 1));
      if (i % 3 == 1 && !bad.empty()) bad[random() % bad.size()] = static_cast<char>(random());
      if (i % 3 == 2)
        bad.insert(random() % (bad.size() + 1), good.substr(random() % good.size(), 9));
      const auto record = record_from_json(bad);
      if (!record) {
        EXPECT_FALSE(record.error().message.empty());
        continue;
      }
      const auto again = record_from_json(to_json(*record));  // what is accepted can be kept
      ASSERT_TRUE(again) << again.error().message;
    }
  }
}

TEST(Printed, DigitsAndRounding) {
  const auto digits = [](const char* text) {
    return Printed::parse(text).value().significant_digits();
  };
  EXPECT_EQ(digits("5.0"), 2);
  EXPECT_EQ(digits("152"), 3);
  EXPECT_EQ(digits("0.050"), 2);
  EXPECT_EQ(digits("1.50e3"), 3);
  EXPECT_DOUBLE_EQ(Printed::parse("28.7")->half_unit(), 0.05);
  EXPECT_DOUBLE_EQ(Printed::parse("337")->half_unit(), 0.5);
  EXPECT_DOUBLE_EQ(Printed::parse("1.5e3")->half_unit(), 50);
  EXPECT_EQ(Printed::parse("0.0e-2147483648")->half_unit(), 0);
  for (const char* bad :
       {"", "x", "1 ", " 1", "1,5", "nan", "inf", "-inf", "1e999", "0x10", "--1", "1e", "."})
    EXPECT_FALSE(Printed::parse(bad)) << bad;
}

}  // namespace
}  // namespace headroom::results
