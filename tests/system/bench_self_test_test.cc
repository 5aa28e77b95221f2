// `headroom bench --self-test` as two processes: its JSON, its exit status, the file of the truth.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "bench_process.h"

namespace headroom::load {
namespace {

namespace bj = boost::json;

TEST(BenchSelfTest, every_request_is_compared_with_the_log_of_another_process) {
  const Finished run =
      BenchProcess({"--self-test", "--quick", "--case", "closed", "--streams", "64", "--json"})
          .finish();
  const bj::value root = bj::parse(run.out);
  // On a busy machine a target may be missed: then the status says so and the line which.
  EXPECT_EQ(run.status, root.at("passed").as_bool() ? 0 : 1) << run.err;
  EXPECT_EQ(root.at("missed").as_array().empty(), root.at("passed").as_bool());
  for (const char* name : {"ttft_ms", "tpot_ms", "itl_ms"}) {
    const bj::value& errors = root.at("errors").at(name);
    EXPECT_GE(errors.at("p99").to_number<double>(), 0) << name;
    EXPECT_GT(errors.at("samples").to_number<int64_t>(), 0) << name;
  }
  EXPECT_LT(root.at("errors").at("tpot_ms").at("mean").to_number<double>(), 0.5);
  EXPECT_LT(root.at("errors").at("ttft_ms").at("mean").to_number<double>(), 10);
  EXPECT_GT(root.at("delivered").to_number<double>(), 0.5);
  EXPECT_GT(root.at("tokens_per_cpu_second").to_number<double>(), 0);
  EXPECT_GT(root.at("rss_mb").to_number<double>(), 1);
  const bj::value& closed = root.at("cases").as_array().at(0);
  EXPECT_EQ(closed.at("failed").as_int64(), 0);
  EXPECT_EQ(closed.at("unmatched").as_int64(), 0);
  EXPECT_EQ(closed.at("requests").as_int64(), 64 + 64 * 2 + 32);
}

TEST(BenchSelfTest, wrong_usage) {
  EXPECT_EQ(BenchProcess({"--self-test", "--case", "no such case"}).finish().status, 2);
  const Finished none = BenchProcess({"--model", "m"}).finish();
  EXPECT_EQ(none.status, 2);
  EXPECT_THAT(none.err, testing::HasSubstr("--url is required"));
}

}  // namespace
}  // namespace headroom::load
