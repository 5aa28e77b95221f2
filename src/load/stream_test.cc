// Every course a stream can take, sent by the mock server: what the client makes of it.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "load/mock/mock_server.h"
#include "load/runner.h"
#include "load/summary.h"

namespace headroom::load {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Outcome {
  PointRun run;
  std::vector<MockTruth> truths;
};

Outcome run_script(const std::string& text, WorkloadOptions workload = {},
                   PointOptions point = {}) {
  auto script = parse_mock_script(text);
  EXPECT_TRUE(script) << script.error().message;
  auto server = MockServer::start(*script);
  EXPECT_TRUE(server);
  workload.model = "mock";
  workload.input_tokens = 7;
  workload.output_tokens = 10;
  const auto prompts = Workload::create(workload);
  EXPECT_TRUE(prompts);
  point.url = *http::parse_url((*server)->url());
  if (!point.requests) point.requests = 3;  // below the number at which failures end the point
  auto run = run_point(point, *prompts);
  Outcome outcome;
  if (run) outcome.run = std::move(*run);
  outcome.truths = (*server)->truths();
  return outcome;
}

/// A script whose ten tokens must all be measured, times near the truth.
void expect_good(const std::string& text, WorkloadOptions workload = {}, int64_t chunks = 10) {
  SCOPED_TRACE(text);
  const Outcome outcome = run_script("ttft=20,interval=3," + text, workload);
  const auto& records = outcome.run.recorder.records();
  ASSERT_EQ(records.size(), 3u);
  for (size_t i = 0; i < records.size(); ++i) {
    const RequestRecord& r = records[i];
    const MockTruth& truth = outcome.truths[i];
    EXPECT_EQ(failure_name(r.failure, r.http_status), "none") << outcome.run.first_failures.size();
    EXPECT_EQ(r.chunks, chunks);
    EXPECT_EQ(truth.chunks, chunks);
    EXPECT_EQ(truth.tokens, 10);
    EXPECT_EQ(r.tokens(), 10);
    ASSERT_TRUE(r.ttft() && r.e2e());
    // Never before the truth, and less than a scheduling accident behind it.
    EXPECT_GE(*r.first_token, truth.first_token - kMs / 10);
    EXPECT_LE(*r.first_token, truth.first_token + 100 * kMs);
    EXPECT_GE(*r.last_token, truth.last_token - kMs / 10);
    EXPECT_LE(*r.last_token, truth.last_token + 100 * kMs);
    EXPECT_GE(*r.ttft(), 20 * kMs - kMs / 10);
  }
}

TEST(Stream, every_valid_form_is_read) {
  expect_good("");
  expect_good("lines=crlf");
  expect_good("lines=cr");
  expect_good("space=0");
  expect_good("comments=1,event_lines=1");
  expect_good("mark=1,multi_line=1");
  expect_good("role=1");  // the empty chunk at 0 ms starts nothing
  expect_good("framing=close");
  expect_good("close_idle=1");
  expect_good("usage=last");
  expect_good("usage=running");
  expect_good("usage=none");
  expect_good("usage_delay=30");  // E2E ends at the last token, not at the usage chunk
  expect_good("end=no_done");
  expect_good("end=linger");
  expect_good("tokens=4", {}, 3);
}

TEST(Stream, bytes_split_anywhere) {
  for (const char* text :
       {"split=1", "split=2,lines=crlf", "split=7,comments=1", "split=3,space=0"})
    expect_good(std::string(text) + ",tokens=5", {}, 2);
}

TEST(Stream, chat_and_reasoning) {
  WorkloadOptions chat;
  chat.dataset = "text";
  chat.endpoint = Endpoint::kChat;
  expect_good("role=1,reasoning=1", chat);
}

/// A script none of whose requests may count as a success.
void expect_failure(const std::string& text, const std::string& kind, PointOptions point = {},
                    int64_t chunks = 0) {
  SCOPED_TRACE(text);
  // One good request comes first, so that the point is not given up: fail_every and status act on
  // all, so those are tested below.
  auto script = parse_mock_script("ttft=5,interval=1," + text);
  ASSERT_TRUE(script);
  auto server = MockServer::start(*script);
  ASSERT_TRUE(server);
  WorkloadOptions workload;
  workload.model = "mock";
  workload.output_tokens = 10;
  const auto prompts = Workload::create(workload);
  point.url = *http::parse_url((*server)->url());
  point.requests = 1;
  const auto run = run_point(point, *prompts);
  ASSERT_FALSE(run) << "counted as a success";
  EXPECT_NE(run.error().message.find("(" + kind + ")"), std::string::npos) << run.error().message;
  EXPECT_NE(run.error().message.find(point.url.address()), std::string::npos);
}

TEST(Stream, failures_by_kind) {
  expect_failure("end=error,end_after=5", "stream error");
  expect_failure("end=error,end_after=0", "stream error");
  expect_failure("end=nothing,end_after=5", "truncated");
  expect_failure("end=nothing", "truncated");
  expect_failure("end=close,end_after=5", "cut");
  expect_failure("end=reset,end_after=5", "cut");
  expect_failure("end=only_done", "empty");
  expect_failure("plain_json=1", "stream error");
  expect_failure("status=503", "http 503");
  expect_failure("status=404", "http 404");
  expect_failure("end=close,end_after=5,framing=close", "truncated");
  PointOptions hasty;
  hasty.timeout_ns = 150 * kMs;
  expect_failure("end=silence,end_after=5", "timeout", hasty);
}

TEST(Stream, failures_count_apart_from_successes) {
  PointOptions point;
  point.requests = 12;
  point.concurrency = 2;
  const Outcome outcome = run_script("ttft=5,interval=1,fail_every=4", {}, point);
  const auto& records = outcome.run.recorder.records();
  ASSERT_EQ(records.size(), 12u);
  EXPECT_EQ(outcome.run.recorder.succeeded(), 9);
  EXPECT_EQ(std::count_if(records.begin(), records.end(),
                          [](const RequestRecord& r) { return r.http_status == 503; }),
            3);
  EXPECT_EQ(outcome.run.recorder.gaps().all().count(), 9u * 9u);
}

TEST(Stream, tokens_of_a_failed_request_count_in_no_figure) {
  RequestRecord record;
  record.failure = Failure::kCut;
  record.first_token = 1 * kMs;
  record.last_token = 3 * kMs;
  record.chunk_tokens = 2;
  Recorder recorder;
  recorder.begin(0);
  recorder.add(record, {{1 * kMs, 1}, {3 * kMs, 1}});
  EXPECT_EQ(recorder.tokens().within({0, 10 * kMs}), 0);
  record.failure = Failure::kNone;
  recorder.add(record, {{1 * kMs, 1}, {3 * kMs, 1}});
  EXPECT_EQ(recorder.tokens().within({0, 10 * kMs}), 2);
  EXPECT_EQ(recorder.succeeded(), 1);
}

TEST(Stream, answers_in_one_piece_have_the_throughput_of_their_ends) {
  WorkloadOptions workload;
  workload.stream = false;
  PointOptions point;
  point.requests = 8;
  RunFacts facts;
  facts.workload = workload;
  const auto m = summarize(run_script("ttft=5,interval=1", workload, point).run, facts).measures;
  ASSERT_TRUE(m.steady);
  EXPECT_NEAR(static_cast<double>(m.steady->output_tokens.value_or(0)), 80, 10);
  EXPECT_EQ(m.steady->input_tokens, 8 * 7);
  EXPECT_EQ(m.whole.output_tokens, 80);
  EXPECT_FALSE(m.client_output_tokens) << "this client saw no chunk to count";
  EXPECT_EQ(m.server_output_tokens, 80);
}

TEST(Stream, answers_in_one_piece_without_usage_have_no_token_count) {
  WorkloadOptions workload;
  workload.stream = false;
  RunFacts facts;
  facts.workload = workload;
  const auto m =
      summarize(run_script("ttft=5,interval=1,usage=none", workload).run, facts).measures;
  EXPECT_EQ(m.requests_ok, 3);
  EXPECT_TRUE(m.whole.e2e);
  EXPECT_FALSE(m.whole.output_tokens) << "0 would read as no throughput at all";
  EXPECT_TRUE(!m.steady || !m.steady->output_tokens);
  EXPECT_EQ(m.doubts.count("no_usage"), 1u);
  EXPECT_EQ(m.doubts.count("output_short"), 0u);
}

TEST(Stream, retries_speak_against_the_times) {
  PointOptions point;
  point.requests = 6;
  point.retries = 2;
  const Outcome outcome = run_script("ttft=2,interval=1,fail_every=3", {}, point);
  const auto m = summarize(outcome.run, {}).measures;
  EXPECT_EQ(m.requests_ok, 6);
  EXPECT_EQ(m.doubts.count("retries"), 1u);
  EXPECT_EQ(summarize(run_script("ttft=2,interval=1").run, {}).measures.doubts.count("retries"),
            0u);
}

TEST(Stream, counts_of_the_server_are_kept_beside_ours) {
  const Outcome outcome = run_script("ttft=5,interval=1,prompt_off=1,output_off=3");
  for (const RequestRecord& r : outcome.run.recorder.records()) {
    EXPECT_EQ(r.prompt_intended, 7);
    EXPECT_EQ(r.prompt_tokens, 8);
    EXPECT_EQ(r.output_tokens, 13);
    EXPECT_EQ(r.chunk_tokens, 10);
  }
}

TEST(Stream, one_token_has_no_tpot) {
  const Outcome outcome = run_script("ttft=5,max_tokens=1");
  for (const RequestRecord& r : outcome.run.recorder.records()) {
    EXPECT_TRUE(r.ok());
    EXPECT_FALSE(r.tpot());
  }
}

TEST(Stream, tokens_in_one_piece_have_no_tpot) {
  const Outcome outcome = run_script("ttft=5,interval=1,tokens=10");
  ASSERT_EQ(outcome.run.recorder.records().size(), 3u);
  for (const RequestRecord& r : outcome.run.recorder.records()) {
    EXPECT_TRUE(r.ok());
    EXPECT_EQ(r.tokens(), 10);
    EXPECT_TRUE(r.at_once());
    EXPECT_FALSE(r.tpot());  // 0 would read as infinitely fast
  }
  const auto record = summarize(outcome.run, {});
  EXPECT_FALSE(record.measures.whole.tpot);
  EXPECT_EQ(record.measures.doubts.count("at_once"), 1u);
}

TEST(Stream, idle_connections_that_the_server_closed_cost_one_resend) {
  PointOptions point;
  point.requests = 6;
  const Outcome outcome = run_script("ttft=2,interval=1,close_idle=1", {}, point);
  EXPECT_EQ(outcome.run.recorder.succeeded(), 6);
}

TEST(Stream, mutated_streams_never_break_the_reader) {
  const std::string text =
      "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":null}]}\n\n"
      "data: {\"choices\":[{\"text\":\"b\",\"finish_reason\":\"length\"}]}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n"
      "data: [DONE]\n\n";
  ChunkReader chunks;
  const auto read = [&](std::initializer_list<std::string_view> pieces) {
    StreamReader reader;
    reader.begin({});
    http::ResponseHead head;
    head.status = 200;
    reader.on_head(head, 1);
    for (const std::string_view piece : pieces) reader.on_body(piece, 2, chunks);
    reader.on_end(Failure::kNone, "", 3);
    return reader.record;
  };
  EXPECT_TRUE(read({text}).ok());
  EXPECT_EQ(read({text}).tokens(), 2);
  base::Rng rng(3);
  for (int i = 0; i < 5000; ++i) {
    std::string bad = text;
    for (uint64_t n = 1 + rng.below(3); n > 0; --n)
      bad[rng.below(bad.size())] = static_cast<char>(rng.below(256));
    bad.resize(rng.below(bad.size() + 1));
    const std::string_view view = bad;
    const size_t cut = rng.below(bad.size() + 1);
    const auto whole = read({view}), parts = read({view.substr(0, cut), view.substr(cut)});
    EXPECT_EQ(whole.failure, parts.failure) << bad;
    EXPECT_EQ(whole.chunks, parts.chunks) << bad;
  }
}

/// What the user is told of a response that is no stream.
std::string told(int status, std::vector<std::pair<std::string, std::string>> headers,
                 std::string_view body) {
  ChunkReader chunks;
  StreamReader reader;
  reader.begin({});
  http::ResponseHead head;
  head.status = status;
  head.headers = std::move(headers);
  reader.on_head(head, 1);
  reader.on_body(body, 2, chunks);
  reader.on_end(Failure::kNone, "", 3);
  EXPECT_FALSE(reader.record.ok());
  return reader.why;
}

TEST(Stream, refusals_are_told_in_one_clean_line) {
  EXPECT_EQ(told(400, {}, R"({"error":{"message":"context is 128,\n600 asked","code":400}})"),
            "HTTP 400: context is 128, 600 asked");
  EXPECT_EQ(told(500, {}, "<b>\r\n\x1b[31moops\xff\xfe\xc2\x9b</b>"),
            "HTTP 500: <b> [31moops </b>");
  EXPECT_EQ(told(307, {{"location", "/v2"}}, ""),
            "HTTP 307: redirected to /v2: give the final address");
  EXPECT_EQ(told(200, {{"content-encoding", "gzip"}}, "\x1f\x8b\x08"),
            "the response is compressed (gzip), unasked");
}

TEST(Stream, impossible_usage_is_no_usage) {
  ChunkReader chunks;
  const auto output = [&](const char* count) {
    return chunks
        .read(fmt::format(R"({{"choices":[],"usage":{{"completion_tokens":{}}}}})", count))
        ->output_tokens;
  };
  EXPECT_EQ(output("7"), 7);
  EXPECT_FALSE(output("-1"));
  EXPECT_FALSE(output("4611686018427387904"));  // two of them would overflow a sum
  const Outcome zeros = run_script("ttft=2,interval=1,prompt_off=-7,output_off=-10");
  ASSERT_FALSE(zeros.run.recorder.records().empty());
  for (const RequestRecord& r : zeros.run.recorder.records()) {
    EXPECT_FALSE(r.output_tokens) << "content came: 0 is no count";
    EXPECT_FALSE(r.prompt_tokens);
    EXPECT_EQ(r.tokens(), 10);
  }
}

}  // namespace
}  // namespace headroom::load
