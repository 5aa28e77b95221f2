// `headroom bench` as a stranger runs it: a process against scripted servers, its JSON, its store.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "bench_process.h"
#include "serve_process.h"

namespace headroom::load {
namespace {

namespace bj = boost::json;
TEST(Bench, points_as_json_and_in_the_store) {
  const auto server = mock("ttft=10,interval=4");
  const std::string db = database("points");
  const Finished run = BenchProcess({"--url",
                                     server->url() + "/v1",
                                     "--model",
                                     "mock",
                                     "--concurrency",
                                     "1,3",
                                     "--input",
                                     "50",
                                     "--output",
                                     "9",
                                     "--requests",
                                     "9",
                                     "--db",
                                     db,
                                     "--json",
                                     "--hardware",
                                     "test",
                                     "--devices",
                                     "2",
                                     "--recipe",
                                     "framework=mock,tp=2,x=1",
                                     "--label",
                                     "first"})
                           .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  const bj::value root = bj::parse(run.out);
  const bj::array& points = root.at("points").as_array();
  ASSERT_EQ(points.size(), 2u);
  for (const bj::value& point : points) {
    EXPECT_EQ(point.at("requests_ok").as_int64(), 9);
    EXPECT_TRUE(point.at("requests_failed").as_object().empty());
    EXPECT_EQ(point.at("server_output_tokens").as_int64(), 81);
    EXPECT_EQ(point.at("input_tokens").as_int64(), 450);
    const double tpot = point.at("tpot_ms").at("p50").to_number<double>();
    EXPECT_GT(tpot, 3.5);
    EXPECT_LT(tpot, 40);
    EXPECT_NEAR(point.at("interactivity").at("p50").to_number<double>(), 1000 / tpot, 1e-6);
    EXPECT_NEAR(point.at("tok_s_gpu").to_number<double>(),
                point.at("tok_s").to_number<double>() / 2, 1e-6);
  }
  const auto records = stored(db);
  ASSERT_EQ(records.size(), 2u);
  for (const auto& entry : records) {
    const results::Record& record = entry.record;
    EXPECT_EQ(record.label, "first");
    EXPECT_EQ(record.server.framework, "mock");
    EXPECT_EQ(record.server.layout.tp, 2);
    EXPECT_EQ(record.server.flags.at("x"), "1");
    EXPECT_EQ(record.hardware.devices, 2);
    EXPECT_EQ(record.hardware.devices_source, results::kDevicesStated);
    EXPECT_EQ(record.workload.arrivals, "closed");
    ASSERT_TRUE(record.measures.whole.itl);
    EXPECT_EQ(record.measures.whole.itl->count(), 9u * 8u);
    EXPECT_FALSE(record.measures.client.settings.at("salt").empty());
  }
}

TEST(Bench, without_a_count_of_devices_there_is_no_figure_per_device) {
  const auto server = mock("ttft=2,interval=1");
  const Finished run = BenchProcess({"--url", server->url(), "--model", "mock", "--output", "4",
                                     "--json", "--requests", "3", "--warmup", "0"})
                           .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_TRUE(bj::parse(run.out).at("points").at(0).at("tok_s_gpu").is_null());
}

TEST(Bench, disagreeing_counts_and_bundles_are_flagged) {
  const auto server = mock("ttft=2,interval=1,prompt_off=1,tokens=3");
  const Finished run = BenchProcess({"--url", server->url(), "--model", "mock", "--output", "9",
                                     "--input", "20", "--json", "--requests", "6"})
                           .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  const bj::value root = bj::parse(run.out);
  const bj::object& flags = root.at("points").at(0).at("flags").as_object();
  ASSERT_TRUE(flags.contains("prompt_tokens")) << run.out;
  EXPECT_NE(flags.at("prompt_tokens").as_string().find("20 tokens sent, 21"), std::string::npos);
  EXPECT_TRUE(flags.contains("tokens_per_chunk"));
  EXPECT_NEAR(root.at("points").at(0).at("tokens_per_chunk").to_number<double>(), 3, 1e-9);
}

TEST(Bench, text_prompts_are_fitted_to_the_servers_tokens) {
  const auto server = mock("ttft=2,interval=1");
  const Finished run =
      BenchProcess({"--url", server->url(), "--model", "mock", "--output", "4", "--input", "40",
                    "--dataset", "text", "--json", "--requests", "4", "--warmup", "0"})
          .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  // The mock counts words, so that a word is a token.
  EXPECT_EQ(bj::parse(run.out).at("points").at(0).at("input_tokens").as_int64(), 160);
}

void expect_one_line(const Finished& run, const std::string& part) {
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find(part), std::string::npos) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
}

TEST(Bench, refused_wrong_model_and_failing_servers_give_one_line) {
  auto server = mock("ttft=2,interval=1");
  const std::string url = server->url(), address = url.substr(7);
  expect_one_line(BenchProcess({"--url", url, "--model", "nope", "--quiet"}).finish(),
                  address + " does not serve the model \"nope\"; it serves: mock");
  server.reset();
  expect_one_line(BenchProcess({"--url", url, "--model", "mock", "--quiet"}).finish(),
                  "no connection to " + address + ": connection refused");
  server = mock("status=500");
  expect_one_line(BenchProcess({"--url", server->url(), "--model", "mock", "--quiet"}).finish(),
                  "requests failed (http 500): HTTP 500: mock failure");
  EXPECT_EQ(BenchProcess({"--url", "ftp://x", "--model", "mock"}).finish().status, 2);
  EXPECT_EQ(BenchProcess({"--url", url}).finish().status, 2);
}

TEST(Bench, a_server_that_dies_costs_the_running_point_only) {
  // The first point sends 4 x 8 tokens; the second would need as many, and the server dies at 50.
  const auto server = mock("ttft=2,interval=5,die_after=50");
  const std::string db = database("dies");
  const Finished run =
      BenchProcess({"--url", server->url(), "--model", "mock", "--concurrency", "1,2", "--output",
                    "8", "--requests", "4", "--warmup", "0", "--db", db, "--quiet", "--json"})
          .finish();
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find(server->url().substr(7)), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("1 complete point kept in " + db), std::string::npos) << run.err;
  const bj::value told = bj::parse(run.out);
  ASSERT_EQ(told.at("points").as_array().size(), 2u) << "the broken point is kept, flagged";
  EXPECT_FALSE(told.at("points").at(0).at("flags").as_object().contains("server_failed"));
  EXPECT_TRUE(told.at("points").at(1).at("flags").as_object().contains("server_failed"));
  EXPECT_FALSE(told.at("error").is_null());
  EXPECT_EQ(stored(db).size(), 2u);
}

TEST(Bench, a_full_disk_under_the_store_loses_no_point) {
  const auto server = mock("ttft=1,interval=0.2");
  const std::string db = database("full");
  std::string concurrency = "1";
  for (int i = 1; i < 60; ++i) concurrency += ",1";
  const Finished run = BenchProcess({"--url", server->url(), "--model", "mock", "--concurrency",
                                     concurrency, "--output", "4", "--requests", "3", "--warmup",
                                     "0", "--db", db, "--quiet", "--json"},
                                    rlim_t{160} << 10)
                           .finish();
  expect_one_line(run, "nothing of this write was kept, everything before it was");
  const size_t kept = stored(db).size();
  EXPECT_GT(kept, 0u);
  EXPECT_LT(kept, 60u);
  const std::string end =
      fmt::format("{} complete point{} kept in {}", kept, kept == 1 ? "" : "s", db);
  EXPECT_NE(run.err.find(end), std::string::npos) << run.err;
  EXPECT_EQ(bj::parse(run.out).at("points").as_array().size(), kept + 1);
}

TEST(Bench, what_our_own_server_tells_goes_into_the_record) {
  using testing_system::ServeProcess;
  ServeProcess server({testing_system::model_directory(), "--port", "0", "--allow-reference",
                       "--max-context", "64", "--max-sequences", "2", "--kv", "fp8"});
  const uint16_t port = server.wait_ready();
  ASSERT_NE(port, 0) << server.log;
  const std::string db = database("serve");
  const Finished run = BenchProcess({"--url", fmt::format("http://127.0.0.1:{}", port), "--model",
                                     "tiny-mla", "--input", "20", "--output", "4", "--requests",
                                     "3", "--warmup", "0", "--db", db, "--quiet", "--json"})
                           .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  const auto records = stored(db);
  ASSERT_EQ(records.size(), 1u);
  const results::Record& record = records[0].record;
  EXPECT_EQ(record.server.framework, "headroom");
  EXPECT_EQ(record.server.precision, "bf16");
  EXPECT_EQ(record.server.kv, "fp8");
  EXPECT_FALSE(record.server.attention.empty());
  EXPECT_TRUE(record.server.checkpoint_digest.starts_with("sha256:"));
  EXPECT_EQ(record.server.flags.at("max_sequences"), "2");
  EXPECT_EQ(record.hardware.devices, 1);
  EXPECT_EQ(record.hardware.devices_source, results::kDevicesDetected);
  EXPECT_EQ(record.measures.server_output_tokens, 12);
  EXPECT_EQ(record.measures.client_output_tokens, 12);
  bool decode = false;
  for (const results::PlanLine& line : record.plan) {
    EXPECT_FALSE(line.descriptor.empty());
    EXPECT_FALSE(line.chosen.empty());
    if (line.op != "mla_decode") continue;
    decode = true;
    EXPECT_EQ(line.logical_rows, 8);
    EXPECT_GE(line.kernel_rows.value_or(0), 8);
    EXPECT_FALSE(line.refused.empty());
  }
  EXPECT_TRUE(decode);
}

TEST(Bench, ctrl_c_keeps_complete_points) {
  const auto server = mock("ttft=2,interval=10");
  const std::string db = database("interrupt");
  BenchProcess process({"--url", server->url(), "--model", "mock", "--concurrency", "4,1",
                        "--output", "20", "--requests", "40", "--warmup", "0", "--db", db,
                        "--quiet"});
  process.interrupt_after_first_line();
  const Finished run = process.finish();
  EXPECT_EQ(run.status, 1);
  EXPECT_NE(run.err.find("interrupted: the running point was dropped; 1 complete point kept in"),
            std::string::npos)
      << run.err;
  EXPECT_EQ(stored(db).size(), 1u);
}

}  // namespace
}  // namespace headroom::load
