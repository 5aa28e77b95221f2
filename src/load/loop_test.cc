// What a loop does beyond plain requests: threads, turns, retries, limits, sockets.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/clock.h"
#include "http/socket.h"
#include "load/mock/mock_server.h"
#include "load/runner.h"

namespace headroom::load {
namespace {

constexpr int64_t kMs = 1'000'000;

struct Scene {
  std::unique_ptr<MockServer> server;
  std::optional<Workload> workload;
  PointOptions point;
};

Scene make(const std::string& script, WorkloadOptions workload = {},
           const std::string& host = "127.0.0.1") {
  Scene s;
  s.server = std::move(*MockServer::start(*parse_mock_script(script), host));
  workload.model = "mock";
  workload.input_tokens = 16;
  workload.output_tokens = 5;
  workload.salt = "salt";
  s.workload = std::move(*Workload::create(workload));
  s.point.url = *http::parse_url(s.server->url());
  s.point.concurrency = 4;
  s.point.requests = 12;
  return s;
}

TEST(Loop, threads_share_the_load_and_no_prompt_comes_twice) {
  Scene s = make("ttft=5,interval=1");
  s.point.concurrency = 10;
  s.point.requests = 200;
  s.point.warmup = 10;
  s.point.threads = 3;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->client.threads, 3);
  EXPECT_EQ(run->recorder.records().size(), 210u);
  EXPECT_EQ(run->recorder.measured(), 200);
  EXPECT_EQ(run->recorder.succeeded(), 210);
  EXPECT_EQ(run->recorder.gaps().all().count(), 200u * 4);
  EXPECT_LE(s.server->most_in_flight(), 10);
  EXPECT_EQ(s.server->connections(), 10);
  std::set<uint64_t> indices;
  std::set<uint32_t> slots;
  for (const RequestRecord& r : run->recorder.records()) {
    indices.insert(r.index);
    slots.insert(r.slot);
  }
  EXPECT_EQ(indices.size(), 210u);
  EXPECT_EQ(slots.size(), 10u);
  EXPECT_GE(run->next_index, 210u);
}

TEST(Loop, threads_split_the_arrivals_of_an_open_loop) {
  Scene s = make("ttft=2,interval=1");
  s.point.arrival.emplace().rate = 400;
  s.point.concurrency = 32;
  s.point.requests = 80;
  s.point.threads = 2;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  std::map<uint64_t, int64_t> due;
  for (const RequestRecord& r : run->recorder.records()) due[r.index] = r.intended;
  ASSERT_EQ(due.size(), 80u);
  // The k-th arrival is the k-th prompt, whichever thread sent it.
  for (uint64_t i = 1; i < 80; ++i) EXPECT_NEAR(double(due[i] - due[i - 1]), 2.5e6, 2.0) << i;
}

TEST(Loop, a_user_thinks_between_turns_and_keeps_its_slot) {
  WorkloadOptions workload;
  workload.dataset = "text";
  workload.endpoint = Endpoint::kChat;
  workload.turns = 3;
  workload.think.seconds = 0.05;
  Scene s = make("ttft=5,interval=1", workload);
  s.point.concurrency = 2;
  s.point.requests = 12;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  std::map<uint64_t, std::vector<const RequestRecord*>> talks;
  for (const RequestRecord& r : run->recorder.records()) talks[r.index].push_back(&r);
  EXPECT_EQ(talks.size(), 4u);
  for (const auto& [index, turns] : talks) {
    ASSERT_EQ(turns.size(), 3u);
    for (uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(turns[i]->turn, i);
      EXPECT_EQ(turns[i]->slot, turns[0]->slot);
      if (i > 0) {
        EXPECT_GE(turns[i]->released - turns[i - 1]->done, 50 * kMs);
        // The answer and the next question went along.
        EXPECT_GT(*turns[i]->prompt_tokens, *turns[i - 1]->prompt_tokens);
      }
    }
  }
  EXPECT_LE(run->most_in_flight, 2);
  // A user that thinks has its slot: the window spans its pauses.
  const auto window = steady_window(run->recorder.records(), 2);
  ASSERT_TRUE(window);
  EXPECT_GT(window->length(), 250 * kMs);
}

TEST(Loop, answers_in_one_piece_have_an_end_and_no_first_token) {
  WorkloadOptions workload;
  workload.stream = false;
  Scene s = make("ttft=10,interval=2", workload);
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->recorder.succeeded(), 12);
  for (const RequestRecord& r : run->recorder.records()) {
    EXPECT_FALSE(r.ttft());
    EXPECT_FALSE(r.tpot());
    EXPECT_GE(*r.e2e(), 18 * kMs - kMs / 10);
    EXPECT_EQ(r.tokens(), 5);
    EXPECT_EQ(r.prompt_tokens, 16);
  }
}

/// Answers one request, and behind [DONE] goes on with comments until its peer has enough.
void chatter(int listener) {
  const int peer = ::accept(listener, nullptr, nullptr);
  char request[4096];
  [[maybe_unused]] const ssize_t n = ::recv(peer, request, sizeof request, 0);
  std::string answer =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
      "data: {\"choices\":[{\"text\":\"a\",\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n";
  for (int i = 0; i < 500; ++i) {
    if (::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    answer = ": still here\n\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ::close(peer);
}

TEST(Loop, a_server_that_goes_on_behind_done_does_not_hold_its_slot) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread server(chatter, listener);
  Scene s = make("ttft=1");
  s.point.url = *http::parse_url(fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port)));
  s.point.concurrency = 1;
  s.point.requests = 1;
  const auto run = run_point(s.point, *s.workload);
  server.join();
  ::close(listener);
  ASSERT_TRUE(run) << run.error().message;
  const RequestRecord& r = run->recorder.records().at(0);
  EXPECT_TRUE(r.ok());
  EXPECT_LT(r.done - *r.last_token, 5000 * kMs) << "the comments alone last ten seconds";
}

TEST(Loop, retries_are_off_by_default_and_counted_when_on) {
  for (const uint32_t retries : {0u, 2u}) {
    Scene s = make("ttft=2,interval=1,fail_every=3");
    s.point.concurrency = 1;
    s.point.requests = 9;
    s.point.retries = retries;
    const auto run = run_point(s.point, *s.workload);
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_EQ(run->recorder.records().size(), 9u);
    EXPECT_EQ(run->recorder.succeeded(), retries == 0 ? 6 : 9);
    EXPECT_EQ(run->client.retries, retries == 0 ? 0 : 4);
    int64_t again = 0;
    for (const RequestRecord& r : run->recorder.records()) {
      again += r.retries;
      if (r.retries > 0) {
        EXPECT_GE(*r.sent - r.intended, 100 * kMs);
      }
    }
    EXPECT_EQ(again, run->client.retries);
  }
}

TEST(Loop, a_stopped_point_keeps_what_had_ended) {
  Scene s = make("ttft=20,interval=1");
  s.point.requests = 100'000;
  std::atomic<bool> stop{false};
  PointControl control;
  control.stop = &stop;
  control.progress = [&](const PointProgress& p) { stop = p.ended >= 8; };
  const auto run = run_point(s.point, *s.workload, control);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->interrupted);
  EXPECT_EQ(run->interrupted_why, "interrupted");
  EXPECT_GE(run->recorder.succeeded(), 8);
}

TEST(Loop, a_deadline_ends_the_point_with_what_it_has) {
  Scene s = make("ttft=20,interval=1");
  s.point.requests = 100'000;
  s.point.deadline_ns = 300 * kMs;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->interrupted);
  EXPECT_EQ(run->interrupted_why, "the point's limit of 0.3 s passed");
  Scene slow = make("ttft=60000");
  slow.point.deadline_ns = 100 * kMs;
  const auto nothing = run_point(slow.point, *slow.workload);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, base::ErrorCode::kCancelled);
}

TEST(Loop, releases_are_paced_when_asked) {
  Scene s = make("ttft=5,interval=1");
  s.point.concurrency = 8;
  s.point.requests = 16;
  s.point.pace_ns = 10 * kMs;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  std::vector<int64_t> released;
  for (const RequestRecord& r : run->recorder.records()) released.push_back(r.released);
  std::sort(released.begin(), released.end());
  for (size_t i = 1; i < released.size(); ++i)
    EXPECT_GE(released[i] - released[i - 1], 9 * kMs) << i;
}

TEST(Loop, unix_sockets_are_measured_by_the_users_clock) {
  Scene s = make("ttft=5,interval=1", {},
                 fmt::format("unix:{}/mock-{}.sock", testing::TempDir(), ::getpid()));
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->recorder.succeeded(), 12);
  EXPECT_EQ(run->client.kernel_reads, 0u);
  ::unlink(s.point.url.unix_socket.c_str());
  s.server.reset();
  const auto gone = run_point(s.point, *s.workload);
  ASSERT_FALSE(gone);
  EXPECT_THAT(gone.error().message, testing::HasSubstr(s.point.url.unix_socket));
}

TEST(Loop, several_source_addresses) {
  Scene s = make("ttft=2,interval=1");
  s.point.sources = {"127.0.0.1", "127.0.0.2"};
  const auto run = run_point(s.point, *s.workload);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->recorder.succeeded(), 12);
  s.point.sources = {"nonsense"};
  EXPECT_EQ(run_point(s.point, *s.workload).error().message,
            "source nonsense: not an IPv4 or IPv6 address");
  s.point.sources = {"192.0.2.1"};  // not an address of this machine
  EXPECT_THAT(run_point(s.point, *s.workload).error().message,
              testing::HasSubstr("cannot connect from the source address"));
}

TEST(Loop, descriptors_are_reserved_for_all_threads_together) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 600) GTEST_SKIP() << "the hard limit on open files is " << before.rlim_max;
  const rlimit low{.rlim_cur = 300, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
  Scene s = make("ttft=1");
  s.point.concurrency = 400;
  s.point.threads = 4;  // a hundred each, for which the limit would do
  s.server.reset();
  EXPECT_FALSE(run_point(s.point, *s.workload)) << "nobody listens";
  rlimit after{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_GE(after.rlim_cur, 400u);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Loop, what_ports_or_descriptors_do_not_allow_is_said_before_the_start) {
  Scene s = make("");
  s.point.concurrency = static_cast<int64_t>(http::local_ports()) + 1;
  s.point.threads = 1;
  const auto run = run_point(s.point, *s.workload);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().code, base::ErrorCode::kResourceExhausted);
  EXPECT_THAT(run.error().message, testing::AnyOf(testing::HasSubstr("need as many local ports"),
                                                  testing::HasSubstr("open files")));
  EXPECT_EQ(s.server->connections(), 0);
}

TEST(Loop, a_name_that_does_not_resolve_is_named) {
  Scene s = make("");
  s.point.url = *http::parse_url("http://no.such.host.invalid:1");
  const auto run = run_point(s.point, *s.workload);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, testing::HasSubstr("no.such.host.invalid"));
}

TEST(Truth, the_log_reads_back_as_it_was_written) {
  std::vector<MockTruth> truths(2);
  truths[0].request_id = "a \"quoted\" id";
  truths[0].received = 12;
  truths[0].first_token = 34;
  truths[0].last_token = 99;
  truths[0].tokens = truths[0].chunks = 3;
  truths[0].prompt_digest = UINT64_MAX;
  truths[0].gaps = {40, UINT32_MAX};
  truths[1].whole = truths[1].chat = true;
  const std::string path = fmt::format("{}/truth-{}.jsonl", testing::TempDir(), ::getpid());
  ASSERT_TRUE(write_truths(path, truths));
  const auto back = read_truths(path);
  ASSERT_TRUE(back) << back.error().message;
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ((*back)[0].request_id, truths[0].request_id);
  EXPECT_EQ((*back)[0].gaps, truths[0].gaps);
  EXPECT_EQ((*back)[0].prompt_digest, UINT64_MAX);
  EXPECT_EQ((*back)[0].last_token, 99);
  EXPECT_TRUE((*back)[1].whole && (*back)[1].chat);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace headroom::load
