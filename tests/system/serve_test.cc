// `headroom serve` as a stranger sees it: a process, a port, the embedded model.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <memory>
#include <thread>

#include "http/raw_client_test.h"
#include "serve_process.h"

namespace headroom::testing_system {
namespace {

namespace bj = boost::json;
using http::fetch;
using http::RawClient;
using std::chrono::milliseconds;

std::vector<std::string> arguments(std::vector<std::string> more = {}) {
  // The reference is allowed so that the tests run on any processor; which kernel runs is the
  // plan's business.
  std::vector<std::string> out = {
      model_directory(), "--port", "0", "--allow-reference", "--max-context", "1024",
      "--max-sequences", "8"};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

/// One server for the tests that leave it as they found it.
class Serve : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    process_ = std::make_unique<ServeProcess>(arguments());
    port_ = process_->wait_ready();
    ASSERT_NE(port_, 0) << process_->log;
  }
  static void TearDownTestSuite() {
    process_->signal(SIGTERM);
    EXPECT_EQ(process_->wait(), 0) << process_->log;
    process_.reset();
  }
  static RawClient::Answer complete(std::string_view body) {
    return fetch(port_, "POST", "/v1/completions", body);
  }
  static double metric(const std::string& name) {
    const std::string text = fetch(port_, "GET", "/metrics").body;
    const size_t at = text.find("\n" + name + "{");
    EXPECT_NE(at, std::string::npos) << name;
    return std::atof(text.c_str() + text.find("} ", at) + 2);
  }
  static inline std::unique_ptr<ServeProcess> process_;
  static inline uint16_t port_ = 0;
};

std::vector<std::string> events(const std::string& body) {
  std::vector<std::string> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = body.find("\n\n", at);
    if (end == std::string::npos) break;
    out.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return out;
}

std::string text_of(const bj::value& answer) {
  return std::string(answer.at("choices").at(0).at("text").as_string());
}

std::string stream_text(const std::string& body, int* chunks = nullptr) {
  std::string text;
  for (const std::string& event : events(body)) {
    if (event == "[DONE]") break;
    const bj::value chunk = bj::parse(event);
    if (chunk.at("choices").as_array().empty()) continue;
    text += text_of(chunk);
    if (chunks != nullptr) ++*chunks;
  }
  return text;
}

TEST_F(Serve, CompletesWithUsage) {
  const auto answer = complete(
      R"({"prompt":"Once upon a time","max_tokens":16,"temperature":0,"ignore_eos":true})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const bj::value json = bj::parse(answer.body);
  EXPECT_FALSE(text_of(json).empty());
  EXPECT_EQ(json.at("usage").at("prompt_tokens").as_int64(), 6);
  EXPECT_EQ(json.at("usage").at("completion_tokens").as_int64(), 16);
  EXPECT_EQ(json.at("usage").at("total_tokens").as_int64(), 22);
}

TEST_F(Serve, StreamEqualsWhole) {
  const std::string fields = R"("prompt":"The old man","max_tokens":40,"seed":5,"ignore_eos":true)";
  const bj::value whole = bj::parse(complete("{" + fields + "}").body);
  const auto answer =
      complete("{" + fields + R"(,"stream":true,"stream_options":{"include_usage":true}})");
  ASSERT_EQ(answer.status, 200);
  const auto all = events(answer.body);
  ASSERT_GT(all.size(), 2u);
  EXPECT_EQ(all.back(), "[DONE]");
  int chunks = 0;
  EXPECT_EQ(stream_text(answer.body, &chunks), text_of(whole));
  EXPECT_GE(chunks, 36) << "one chunk per token but for held-back characters";
  EXPECT_EQ(bj::parse(all[all.size() - 2]).at("usage").at("completion_tokens").as_int64(), 40);
}

TEST_F(Serve, GreedyIdsFollowTheGoldenContinuation) {
  // From the model's golden.json, case 0; margins are above 0.25 for these.
  const bj::value json = bj::parse(complete(R"({"prompt":[0,50,1922,649,262,598,498,314,262,538],
      "max_tokens":4,"temperature":0,"return_token_ids":true})")
                                       .body);
  EXPECT_EQ(bj::serialize(json.at("choices").at(0).at("token_ids")), "[845,297,264,2947]");
}

TEST_F(Serve, SameTokensWhateverRunsBesides) {
  std::vector<std::string> bodies;
  for (int i = 0; i < 8; ++i) {
    std::string prompt;
    for (int w = 0; w < 20 + 25 * i; ++w) prompt += w % 3 == 0 ? "the house " : "and a garden ";
    bodies.push_back("{\"prompt\":\"" + prompt +
                     "\",\"max_tokens\":12,\"ignore_eos\":true,\"seed\":" + std::to_string(i) +
                     ",\"return_token_ids\":true}");
  }
  const auto ids = [](const RawClient::Answer& answer) {
    return answer.status == 200
               ? bj::serialize(bj::parse(answer.body).at("choices").at(0).at("token_ids"))
               : answer.body;
  };
  std::vector<std::string> alone;
  for (const std::string& body : bodies) alone.push_back(ids(complete(body)));
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> together(bodies.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < bodies.size(); ++i)
      threads.emplace_back([&, i] { together[i] = ids(complete(bodies[i])); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(together, alone);
  }
}

TEST_F(Serve, DisconnectFreesTheRequestWithinOneStep) {
  RawClient client(port_);
  client.request("POST", "/v1/completions",
                 R"({"prompt":"A long story","max_tokens":900,"ignore_eos":true,"stream":true})");
  ASSERT_TRUE(client.read_until("data: "));
  EXPECT_EQ(metric("vllm:num_requests_running"), 1);
  EXPECT_GT(metric("headroom_kv_pages_used"), 50);
  const double before = metric("vllm:generation_tokens_total");
  client.close();
  bool freed = false;
  for (int i = 0; i < 200 && !freed; ++i) {
    freed = metric("vllm:num_requests_running") == 0 && metric("headroom_kv_pages_used") == 0;
    if (!freed) std::this_thread::sleep_for(milliseconds(2));
  }
  EXPECT_TRUE(freed);
  const double steps = metric("headroom_steps_total");
  // Tokens that came between the reading of the counter and the close, and no more after.
  EXPECT_LT(metric("vllm:generation_tokens_total") - before, 200);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(metric("headroom_steps_total"), steps) << "nothing runs any more";
}

TEST_F(Serve, RefusesBadRequests) {
  std::string ids = "[1";
  for (int i = 1; i < 1030; ++i) ids += ",1";
  const auto too_long = complete("{\"prompt\":" + ids + "]}");
  EXPECT_EQ(too_long.status, 400);
  EXPECT_NE(too_long.body.find("1030 tokens"), std::string::npos) << too_long.body;
  EXPECT_NE(too_long.body.find("1024"), std::string::npos) << too_long.body;
  const auto malformed = complete("{\"prompt\":");
  EXPECT_EQ(malformed.status, 400);
  EXPECT_NE(malformed.body.find("invalid_request_error"), std::string::npos);
  EXPECT_EQ(complete(R"({"prompt":"a","model":"other"})").status, 404);
  EXPECT_EQ(fetch(port_, "GET", "/nowhere").status, 404);
  EXPECT_EQ(fetch(port_, "GET", "/health").status, 200);
}

TEST_F(Serve, FillsTheContextAndStops) {
  std::string ids = "[1";
  for (int i = 1; i < 1020; ++i) ids += ",1";
  const bj::value json =
      bj::parse(complete("{\"prompt\":" + ids + "],\"max_tokens\":50,\"ignore_eos\":true}").body);
  EXPECT_EQ(json.at("usage").at("completion_tokens").as_int64(), 4);
  EXPECT_TRUE(json.at("choices").at(0).at("finish_reason").as_string() == "length");
}

TEST_F(Serve, PlanTellsWhatRuns) {
  const bj::value plan = bj::parse(fetch(port_, "GET", "/headroom/plan").body);
  EXPECT_TRUE(plan.at("checkpoint_digest").as_string().starts_with("sha256:"));
  EXPECT_FALSE(plan.at("attention").as_string().empty());
  EXPECT_GT(plan.at("machine").at("cores").as_int64(), 0);
  bool decode = false;
  for (const bj::value& op : plan.at("ops").as_array()) {
    if (op.at("op").as_string() != "mla_decode") continue;
    decode = true;
    EXPECT_EQ(op.at("rows").at("logical").as_int64(), 8);
  }
  EXPECT_TRUE(decode);
}

TEST_F(Serve, PortInUseIsOneLineAndStatusOne) {
  ServeProcess second({model_directory(), "--port", std::to_string(port_), "--allow-reference"});
  EXPECT_EQ(second.wait(), 1);
  EXPECT_NE(second.log.find("127.0.0.1:" + std::to_string(port_) + " is in use"), std::string::npos)
      << second.log;
}

TEST(ServeAlone, KeyFromTheEnvironment) {
  ServeProcess process(arguments(), {"HEADROOM_API_KEY=secret"});
  const uint16_t port = process.wait_ready();
  ASSERT_NE(port, 0) << process.log;
  const char* body = R"({"prompt":"a","max_tokens":1})";
  EXPECT_EQ(fetch(port, "POST", "/v1/completions", body).status, 401);
  EXPECT_EQ(fetch(port, "POST", "/v1/completions", body, "Authorization: Bearer no\r\n").status,
            401);
  EXPECT_EQ(fetch(port, "POST", "/v1/completions", body, "Authorization: Bearer secret\r\n").status,
            200);
}

TEST(ServeAlone, TermLetsARunningRequestFinish) {
  ServeProcess process(arguments());
  const uint16_t port = process.wait_ready();
  ASSERT_NE(port, 0) << process.log;
  RawClient client(port), idle(port);
  client.request("POST", "/v1/completions",
                 R"({"prompt":"Once","max_tokens":400,"ignore_eos":true,"stream":true})");
  ASSERT_TRUE(client.read_until("data: "));
  process.signal(SIGTERM);
  bool draining = false;
  for (int i = 0; i < 500 && !draining; ++i) {
    const auto health = fetch(port, "GET", "/health");
    draining = health.status == 503;
  }
  EXPECT_TRUE(draining);
  EXPECT_EQ(fetch(port, "POST", "/v1/completions", R"({"prompt":"a"})").status, 503);
  const auto answer = client.answer();
  EXPECT_EQ(events(answer.body).back(), "[DONE]");
  EXPECT_EQ(process.wait(), 0) << process.log;
}

TEST(ServeAlone, TermEndsWhatOutlivesTheDeadline) {
  ServeProcess process(arguments({"--drain-seconds", "0"}));
  const uint16_t port = process.wait_ready();
  ASSERT_NE(port, 0) << process.log;
  RawClient client(port);
  client.request("POST", "/v1/completions",
                 R"({"prompt":"Once","max_tokens":1000,"ignore_eos":true,"stream":true})");
  ASSERT_TRUE(client.read_until("data: "));
  process.signal(SIGTERM);
  const auto answer = client.answer();
  EXPECT_NE(answer.body.find("\"error\""), std::string::npos);
  EXPECT_EQ(answer.body.find("[DONE]"), std::string::npos);
  EXPECT_EQ(process.wait(), 0) << process.log;
}

TEST(ServeAlone, RefusesToDegradeInSilence) {
  ServeProcess process({model_directory(), "--port", "0"}, {"HEADROOM_ISA=reference"});
  EXPECT_EQ(process.wait(), 1);
  const size_t line = process.log.rfind("headroom serve: ");
  ASSERT_NE(line, std::string::npos) << process.log;
  const std::string message = process.log.substr(line);
  for (const char* part : {"op ", "needs AVX", "reference", "--allow-reference"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(ServeAlone, BadModelsAndOptions) {
  ServeProcess missing({"/no/such/model", "--port", "0"});
  EXPECT_EQ(missing.wait(), 1);
  EXPECT_NE(missing.log.find("/no/such/model"), std::string::npos);
  ServeProcess options({model_directory(), "--max-step-tokens", "8", "--allow-reference"});
  EXPECT_EQ(options.wait(), 2);
  EXPECT_NE(options.log.find("--max-step-tokens 8"), std::string::npos) << options.log;
  ServeProcess context({model_directory(), "--max-context", "100000", "--allow-reference"});
  EXPECT_NE(context.wait(), 0);
  EXPECT_NE(context.log.find("100000"), std::string::npos) << context.log;
}

}  // namespace
}  // namespace headroom::testing_system
