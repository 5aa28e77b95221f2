// Records as JSON: every field survives, nothing wrong gets through.
#include "results/record.h"

#include <gtest/gtest.h>

namespace headroom::results {
namespace {

TEST(Record, EmptyIsEmpty) {
  EXPECT_EQ(to_json(Record{}), "{}");
  EXPECT_EQ(record_id(Record{}),
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

}  // namespace
}  // namespace headroom::results
