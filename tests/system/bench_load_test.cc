// `headroom bench` with every kind of load and data, as a process: what it sends and what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pty.h>
#include <sys/socket.h>

#include <boost/json.hpp>

#include "bench_process.h"
#include "http/server.h"

namespace headroom::load {
namespace {

namespace bj = boost::json;
using testing::HasSubstr;

std::string file_with(const char* name, std::string_view text) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / fmt::format("{}_{}", ::getpid(), name);
  std::ofstream(path) << text;
  return path.string();
}

/// Runs against `server` and gives the points of its JSON.
bj::array points_of(const MockServer& server, std::vector<std::string> arguments, int status = 0) {
  for (const char* argument : {"--model", "mock", "--json", "--quiet"})
    arguments.emplace_back(argument);
  arguments.insert(arguments.end(), {"--url", server.url()});
  const Finished run = BenchProcess(std::move(arguments)).finish();
  EXPECT_EQ(run.status, status) << run.err;
  if (run.out.empty()) return {};
  return bj::parse(run.out).at("points").as_array();
}

double number(const bj::value& value) {
  return value.to_number<double>();
}

TEST(BenchLoad, open_loops_of_every_kind) {
  const auto server = mock("ttft=5,interval=1");
  const bj::array points =
      points_of(*server, {"--rate", "60,inf", "--arrival", "gamma", "--burstiness", "0.5",
                          "--requests", "60", "--output", "3", "--input", "8"});
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].at("arrivals"), "gamma");
  EXPECT_EQ(points[0].at("arrival_detail"), "burstiness 0.5");
  EXPECT_EQ(number(points[0].at("rate")), 60);
  EXPECT_EQ(points[1].at("arrivals"), "burst");
  EXPECT_TRUE(points[1].at("rate").is_null());
  for (const bj::value& point : points) {
    EXPECT_EQ(point.at("requests_ok").as_int64(), 60);
    EXPECT_GE(number(point.at("ttft_from_due_ms").at("mean")),
              number(point.at("ttft_ms").at("mean")));
  }
}

TEST(BenchLoad, waiting_behind_a_full_client_is_in_the_times_from_due) {
  // 20 requests at once, one at a time of 20 ms each: the last user waits 400 ms.
  const auto server = mock("ttft=20,interval=1");
  const bj::array points =
      points_of(*server, {"--rate", "inf", "--max-in-flight", "1", "--requests", "20", "--output",
                          "1", "--input", "8", "--warmup", "0"});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_LT(number(points[0].at("ttft_ms").at("p50")), 100);
  EXPECT_GT(number(points[0].at("ttft_from_due_ms").at("p95")), 350);
  EXPECT_TRUE(points[0].at("flags").as_object().contains("overloaded"));
}

TEST(BenchLoad, the_steady_window_of_an_open_loop) {
  const auto server = mock("ttft=5,interval=1");
  const bj::array points = points_of(*server, {"--rate", "100", "--requests", "150", "--output",
                                               "3", "--input", "8", "--warmup", "0"});
  ASSERT_EQ(points.size(), 1u);
  const bj::value& steady = points[0].at("steady");
  ASSERT_FALSE(steady.is_null());
  const double seconds = number(steady.at("duration_s"));
  EXPECT_GT(seconds, 0.7);
  EXPECT_NEAR(number(steady.at("output_tok_s")), 300, 15);
}

TEST(BenchLoad, a_trace_is_replayed_with_its_times_and_lengths) {
  const auto server = mock("ttft=2,interval=1");
  const std::string trace =
      file_with("trace.jsonl",
                R"({"timestamp":0,"input_length":600,"output_length":3,"hash_ids":[1,2]}
{"timestamp":400,"input_length":700,"output_length":5,"hash_ids":[1,3]}
{"timestamp":800,"input_length":9,"output_length":2}
)");
  const std::string out = file_with("requests.jsonl", "");
  const bj::array points =
      points_of(*server, {"--trace", trace, "--time-scale", "0.5", "--requests-out", out});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at("arrivals"), "trace");
  EXPECT_EQ(points[0].at("requests_ok").as_int64(), 3);
  EXPECT_EQ(points[0].at("server_input_tokens").as_int64(), 1309);
  EXPECT_EQ(points[0].at("server_output_tokens").as_int64(), 10);
  EXPECT_TRUE(points[0].at("flags").as_object().find("prompt_tokens") ==
              points[0].at("flags").as_object().end());
  std::ifstream file(out);
  std::map<int64_t, double> due;
  for (std::string line; std::getline(file, line);) {
    const bj::value request = bj::parse(line);
    due[request.at("index").as_int64()] = number(request.at("intended_ms"));
    double before = number(request.at("intended_ms"));
    for (const char* stage : {"released_ms", "sent_ms", "first_byte_ms", "first_token_ms",
                              "last_token_ms", "done_ms"}) {
      const double at = number(request.at(stage));
      EXPECT_GE(at, before - 0.2) << stage << " in " << line;  // stamps of two clocks
      before = at;
    }
    EXPECT_TRUE(request.at("failure").is_null());
    EXPECT_EQ(request.at("output_tokens").as_int64(), request.at("output_tokens_asked").as_int64());
  }
  ASSERT_EQ(due.size(), 3u);
  EXPECT_EQ(due[0], 0);
  EXPECT_EQ(due[1], 200);
  EXPECT_EQ(due[2], 400);
}

TEST(BenchLoad, the_preset_has_inferencex_numbers) {
  const auto server = mock("ttft=1,interval=0.2");
  const bj::array points = points_of(*server, {"--preset", "inferencex", "--concurrency", "4",
                                               "--input", "100", "--output", "20"});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at("requests_ok").as_int64(), 40);
  EXPECT_EQ(server->truths().size(), 48u);  // and two warm-ups a stream
  std::set<uint64_t> prompts;
  for (const MockTruth& truth : server->truths()) {
    EXPECT_GE(truth.prompt_tokens, 80);
    EXPECT_LE(truth.prompt_tokens, 100);
    EXPECT_GE(truth.tokens, 16);
    EXPECT_LE(truth.tokens, 20);
    prompts.insert(truth.prompt_digest);
  }
  EXPECT_EQ(prompts.size(), 48u) << "a warm-up prompt came again";
}

TEST(BenchLoad, sessions_send_the_real_answers_back) {
  const auto server = mock("ttft=1,interval=0.2");
  const bj::array points =
      points_of(*server, {"--dataset", "text", "--endpoint", "chat", "--turns", "3", "--think",
                          "0.05", "--concurrency", "2", "--requests", "12", "--warmup", "0",
                          "--input", "20", "--output", "6"});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at("requests_ok").as_int64(), 12);
  std::vector<int64_t> lengths;
  for (const MockTruth& truth : server->truths())
    if (truth.tokens == 6) lengths.push_back(truth.prompt_tokens);
  std::ranges::sort(lengths);
  ASSERT_EQ(lengths.size(), 12u);
  EXPECT_LT(lengths[3], lengths[4]);  // four first turns, then longer ones
  EXPECT_GT(lengths[4], lengths[3] + 19);
  EXPECT_LT(lengths[7], lengths[8]);
}

TEST(BenchLoad, service_levels_count_over_what_was_attempted) {
  const auto server = mock("ttft=30,interval=1,fail_every=4");
  const bj::array points = points_of(
      *server, {"--slo", "ttft=5000,tpot=1000", "--requests", "40", "--concurrency", "2",
                "--max-failures", "50", "--warmup", "0", "--output", "4", "--input", "8"});
  ASSERT_EQ(points.size(), 1u);
  const bj::value& slo = points[0].at("slo");
  EXPECT_EQ(slo.at("met").as_int64(), 30);
  EXPECT_EQ(slo.at("attempted").as_int64(), 40);
  EXPECT_EQ(number(slo.at("goodput")), 0.75);
  const bj::array missed = points_of(
      *server, {"--slo", "ttft=1", "--requests", "8", "--max-failures", "50", "--output", "4"});
  EXPECT_EQ(missed.at(0).at("slo").at("met").as_int64(), 0);
}

TEST(BenchLoad, too_many_failures_fail_the_run_and_keep_the_record) {
  const auto server = mock("ttft=1,interval=1,fail_every=4");
  const std::string db = database("failures");
  const Finished run =
      BenchProcess({"--url", server->url(), "--model", "mock", "--concurrency", "2,2", "--requests",
                    "20", "--warmup", "0", "--output", "4", "--db", db, "--quiet"})
          .finish();
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              HasSubstr("5 of 20 requests failed (25.0 %), more than 5 %; 2 complete points kept"));
  EXPECT_THAT(run.out, HasSubstr("15 of 20 ok (25.0 % failed)"));
  const auto records = stored(db);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(records[0].record.measures.doubts.contains("too_many_failures"));
  EXPECT_EQ(records[0].record.measures.requests_failed.at("http 503"), 5);
}

TEST(BenchLoad, percentiles_of_few_samples_are_refused_unless_forced) {
  const auto server = mock("ttft=1,interval=0.2");
  const std::vector<std::string> few = {"--requests", "99", "--warmup", "0", "--output", "2"};
  const bj::array refused = points_of(*server, few);
  EXPECT_TRUE(refused.at(0).at("ttft_ms").at("p99").is_null());
  EXPECT_FALSE(refused.at(0).at("ttft_ms").at("p95").is_null());
  EXPECT_EQ(refused.at(0).at("ttft_ms").at("refused").at("p99"), "99 samples, fewer than 100");
  auto forced = few;
  forced.emplace_back("--force-percentiles");
  EXPECT_FALSE(points_of(*server, forced).at(0).at("ttft_ms").at("p99.9").is_null());
  auto more = few;
  more[1] = "100";
  const bj::array enough = points_of(*server, more);
  EXPECT_FALSE(enough.at(0).at("ttft_ms").at("p99").is_null());
  EXPECT_TRUE(enough.at(0).at("ttft_ms").at("p99.9").is_null());
}

TEST(BenchLoad, answers_in_one_piece) {
  const auto server = mock("ttft=5,interval=1");
  const bj::array points = points_of(*server, {"--no-stream", "--requests", "6", "--output", "4"});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].at("requests_ok").as_int64(), 6);
  EXPECT_EQ(points[0].at("server_output_tokens").as_int64(), 24);
  EXPECT_TRUE(points[0].at("tpot_ms").is_null());
  EXPECT_TRUE(points[0].at("ttft_ms").is_null());
}

TEST(BenchLoad, an_interrupted_point_keeps_what_it_had) {
  const auto server = mock("ttft=2,interval=1");
  const std::string db = database("partial"), out = file_with("partial.jsonl", "");
  BenchProcess process({"--url", server->url(), "--model", "mock", "--concurrency", "2",
                        "--requests", "100000", "--warmup", "0", "--output", "4", "--db", db,
                        "--requests-out", out, "--quiet"});
  for (int i = 0; i < 500 && server->truths().size() < 40; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGINT);
  const Finished run = process.finish();
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err,
              HasSubstr("interrupted: the running point is kept as far as it came; 0 complete"));
  const auto records = stored(db);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(records[0].record.measures.doubts.contains("interrupted"));
  EXPECT_GT(records[0].record.measures.requests_ok.value_or(0), 10);
  std::ifstream file(out);
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) bj::parse(line);
  EXPECT_GE(static_cast<int64_t>(lines), *records[0].record.measures.requests_ok);
}

TEST(BenchLoad, a_killed_client_leaves_its_requests) {
  const auto server = mock("ttft=2,interval=1");
  const std::string out = file_with("killed.jsonl", "");
  BenchProcess process({"--url", server->url(), "--model", "mock", "--concurrency", "2",
                        "--requests", "100000", "--warmup", "0", "--output", "4", "--requests-out",
                        out, "--quiet"});
  for (int i = 0; i < 500 && server->truths().size() < 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  process.signal(SIGKILL);
  EXPECT_EQ(process.finish().status, 128 + SIGKILL);
  std::ifstream file(out);
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) EXPECT_NO_THROW(bj::parse(line));
  EXPECT_GT(lines, 50);
}

TEST(BenchLoad, ctrl_c_while_the_server_is_silent) {
  // A socket that listens and never answers.
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 4), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  BenchProcess process({"--url", fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port)),
                        "--model", "m", "--quiet"});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  process.signal(SIGINT);
  const auto begin = std::chrono::steady_clock::now();
  const Finished run = process.finish();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_EQ(run.status, 1) << "the first Ctrl-C must end it in good order";
  EXPECT_THAT(run.err, HasSubstr("interrupted"));
  ::close(listener);
}

TEST(BenchLoad, keys_are_sent_and_never_kept) {
  const auto server = mock("ttft=1,interval=1");
  const std::string db = database("keys");
  ::setenv("HEADROOM_TEST_KEY", "sk-very-secret", 1);
  const Finished run =
      BenchProcess({"--url", server->url(), "--model", "mock", "--api-key-env", "HEADROOM_TEST_KEY",
                    "--header", "X-Session-Token: also-secret", "--header", "X-Team: blue", "--db",
                    db, "--json", "--requests", "3", "--output", "2"})
          .finish();
  ASSERT_EQ(run.status, 0) << run.err;
  std::ifstream file(db, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& text :
       {run.out, run.err, bytes, results::to_json(stored(db)[0].record)}) {
    EXPECT_EQ(text.find("very-secret"), std::string::npos);
    EXPECT_EQ(text.find("also-secret"), std::string::npos);
  }
  const std::string replay = stored(db)[0].record.replay;
  EXPECT_THAT(replay, HasSubstr("--api-key-env HEADROOM_TEST_KEY"));
  EXPECT_THAT(replay, HasSubstr("--header \"X-Session-Token: $X_SESSION_TOKEN\""));
  EXPECT_THAT(replay, HasSubstr("--header 'X-Team: blue'"));
  EXPECT_EQ(BenchProcess({"--url", server->url(), "--model", "mock", "--api-key-env", "UNSET_KEY"})
                .finish()
                .status,
            2);
}

TEST(BenchLoad, the_replay_line_measures_the_same_prompts) {
  const auto server = mock("ttft=1,interval=0.2");
  const bj::array points =
      points_of(*server, {"--concurrency", "1,2", "--requests", "6", "--input-lengths",
                          "uniform:0.5", "--input", "40", "--output", "3", "--salt", "a b"});
  ASSERT_EQ(points.size(), 2u);
  const auto before = server->truths();
  const std::string replay(points[1].at("replay").as_string());
  ASSERT_THAT(replay, testing::StartsWith("headroom bench --url "));
  const std::string command = HEADROOM_BINARY_DIR "/" + replay + " --quiet > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const auto after = server->truths();
  std::multiset<uint64_t> second, again;  // prompts of the second point, and of its repetition
  for (size_t i = 7; i < before.size(); ++i) second.insert(before[i].prompt_digest);
  for (size_t i = before.size(); i < after.size(); ++i) again.insert(after[i].prompt_digest);
  EXPECT_EQ(second.size(), 8u);
  EXPECT_EQ(second, again);
}

TEST(BenchLoad, a_unix_socket_is_a_server_too) {
  const std::string path = fmt::format("/tmp/headroom_bench_{}.sock", ::getpid());
  http::Router router;
  http::ServerOptions options;
  options.unix_path = path;
  auto server = http::Server::listen(options, std::move(router));
  ASSERT_TRUE(server) << server.error().message;
  (*server)->start();
  const Finished run = BenchProcess({"--url", "unix:" + path, "--model", "m", "--quiet"}).finish();
  // It has no path at all: what counts is that its answer came through the socket.
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("http 404"));
  EXPECT_THAT(run.err, HasSubstr("unix:" + path));
  (*server)->stop(std::chrono::milliseconds(100));
}

TEST(BenchLoad, a_terminal_shows_the_running_point) {
  const auto server = mock("ttft=20,interval=5,fail_every=9");
  int terminal = -1;
  winsize size{40, 100, 0, 0};
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string url = server->url();
    ::execl(HEADROOM_BINARY_DIR "/headroom", "headroom", "bench", "--url", url.c_str(), "--model",
            "mock", "--concurrency", "2", "--requests", "30", "--output", "8", "--max-failures",
            "100", nullptr);
    ::_exit(127);
  }
  std::string shown;
  char bytes[4096];
  for (ssize_t n = 0; (n = ::read(terminal, bytes, sizeof bytes)) > 0;)
    shown.append(bytes, static_cast<size_t>(n));
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(terminal);
  EXPECT_EQ(WEXITSTATUS(status), 0) << shown;
  for (const char* part : {"\x1b[4A", "2 streams", "/32 requests", "tok/s", "TTFT", "TPOT",
                           "2 in flight", "(1 http 503)", "client CPU"})
    EXPECT_THAT(shown, HasSubstr(part));
  // The last block is taken off the screen before the results come.
  EXPECT_LT(shown.rfind("\x1b[J"), shown.find("goodput") == std::string::npos
                                       ? shown.find(" ok (")
                                       : shown.find("goodput"));
}

TEST(BenchLoad, wrong_options_are_told_before_any_request) {
  const auto refused = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--url", "http://127.0.0.1:1", "--model", "m"});
    const Finished run = BenchProcess(std::move(arguments)).finish();
    EXPECT_EQ(run.status, 2) << run.err;
    return run.err;
  };
  EXPECT_THAT(refused({"--arrival", "poisson"}), HasSubstr("--arrival poisson: needs --rate"));
  EXPECT_THAT(refused({"--end-rate", "3"}), HasSubstr("--end-rate: needs --rate"));
  EXPECT_THAT(refused({"--slo", "ttft=0"}), HasSubstr("slo ttft=0"));
  EXPECT_THAT(refused({"--preset", "x"}), HasSubstr("preset x is not inferencex"));
  EXPECT_THAT(refused({"--extra-body", "{"}), HasSubstr("extra body {"));
  EXPECT_THAT(refused({"--schedule", "a", "--rate", "1"}), HasSubstr("--rate"));
  EXPECT_THAT(refused({"--input-lengths", "wild"}), HasSubstr("lengths wild"));
}

}  // namespace
}  // namespace headroom::load
