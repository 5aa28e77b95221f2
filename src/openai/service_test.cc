// The API over a real server and engine with a scripted model: shapes of answers, errors, metrics.
#include "openai/service.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <thread>

#include "engine/scripted_model_test.h"
#include "http/raw_client_test.h"
#include "http/server.h"

namespace headroom::openai {
namespace {

namespace bj = boost::json;
using http::fetch;
using std::chrono::milliseconds;

/// Token i is the letter 'a' + i % 26; 60 and 61 are the halves of "é", 62 is special.
std::string_view bytes_of(int32_t id) {
  static const std::string kLetters = "abcdefghijklmnopqrstuvwxyz";
  if (id == 60) return "\xC3";
  if (id == 61) return "\xA9";
  if (id == 62) return "";
  return std::string_view(kLetters).substr(static_cast<size_t>(id) % 26, 1);
}

struct Fixture {
  explicit Fixture(std::string key = {}) : model({64, 4, 4, 128}, 8, 64) {
    engine::EngineOptions options;
    options.max_sequences = 4;
    options.max_step_tokens = 64;
    options.prefill_chunk = 16;
    options.token_bytes = bytes_of;
    engine = std::move(*engine::Engine::start(model, options));
    ServedModel served;
    served.name = "scripted";
    served.max_context = 128;
    served.vocab = engine::ScriptedModel::kVocab;
    served.longest_token = 2;
    served.token_bytes = bytes_of;
    served.encode = [](std::string_view text, bool add_special) {
      std::vector<int32_t> ids;
      if (add_special) ids.push_back(62);
      for (const char c : text) ids.push_back((c - 'a' + 26) % 26);
      return base::Result<std::vector<int32_t>>(ids);
    };
    std::vector<kernels::OpChoice> plan(1);
    plan[0].op = "mla_decode";
    plan[0].chosen = "avx512";
    service = std::make_shared<Service>(*engine, std::move(served), std::move(key),
                                        "{\"kv\":\"bf16\"}", plan);
    http::ServerOptions http;
    http.port = 0;
    server = std::move(*http::Server::listen(http, make_router(service)));
    server->start();
  }
  ~Fixture() {
    engine->stop();
    server->stop(milliseconds(100));
  }
  http::RawClient::Answer complete(std::string_view body) const {
    return fetch(server->port(), "POST", "/v1/completions", body);
  }
  engine::ScriptedModel model;
  std::unique_ptr<engine::Engine> engine;
  std::shared_ptr<Service> service;
  std::unique_ptr<http::Server> server;
};

std::string str(const bj::value& value) {
  return value.is_string() ? std::string(value.get_string()) : bj::serialize(value);
}

std::vector<std::string> events(std::string_view body) {
  std::vector<std::string> out;
  while (!body.empty()) {
    const size_t end = body.find("\n\n");
    EXPECT_TRUE(body.starts_with("data: ")) << body;
    if (end == std::string_view::npos) break;
    out.emplace_back(body.substr(6, end - 6));
    body.remove_prefix(end + 2);
  }
  return out;
}

TEST(Completions, WholeAnswer) {
  Fixture f;
  const auto answer = f.complete(R"({"prompt":"hello","max_tokens":8,"temperature":0,
      "model":"scripted","return_token_ids":true,"unknown_field":1})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const bj::value json = bj::parse(answer.body);
  EXPECT_EQ(str(json.at("object")), "text_completion");
  const auto& choice = json.at("choices").at(0);
  EXPECT_EQ(str(choice.at("finish_reason")), "length");
  EXPECT_EQ(choice.at("token_ids").as_array().size(), 8u);
  EXPECT_EQ(choice.at("prompt_token_ids").as_array().size(), 6u);
  EXPECT_EQ(json.at("usage").at("prompt_tokens"), 6) << "the BOS counts";
  EXPECT_EQ(json.at("usage").at("completion_tokens"), 8);
  EXPECT_EQ(json.at("usage").at("total_tokens"), 14);
  EXPECT_FALSE(choice.as_object().contains("seed")) << "greedy draws nothing";
}

TEST(Completions, StreamSaysTheSameTokenByToken) {
  Fixture f;
  const auto whole = bj::parse(f.complete(R"({"prompt":[1,2,3],"max_tokens":30,"seed":7,
      "return_token_ids":true})")
                                   .body);
  const auto answer = f.complete(R"({"prompt":[1,2,3],"max_tokens":30,"seed":7,"stream":true,
      "return_token_ids":true,"stream_options":{"include_usage":true}})");
  ASSERT_EQ(answer.status, 200);
  EXPECT_NE(answer.head.find("text/event-stream"), std::string::npos);
  const auto all = events(answer.body);
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all.back(), "[DONE]");
  const bj::value usage = bj::parse(all[all.size() - 2]);
  EXPECT_TRUE(usage.at("choices").as_array().empty());
  EXPECT_EQ(usage.at("usage"), whole.at("usage"));
  std::string text;
  bj::array ids;
  for (size_t i = 0; i + 2 < all.size(); ++i) {
    const bj::value chunk = bj::parse(all[i]);
    EXPECT_TRUE(chunk.at("usage").is_null());
    const auto& choice = chunk.at("choices").at(0);
    text += str(choice.at("text"));
    const auto& part = choice.at("token_ids").as_array();
    // More than one token only when a character was held back.
    if (part.size() > 1) {
      EXPECT_EQ(part.at(0), 60);
    }
    for (const auto& id : part) ids.push_back(id);
    EXPECT_EQ(choice.at("finish_reason").is_null(), i + 3 < all.size());
    EXPECT_EQ(choice.as_object().contains("prompt_token_ids"), i == 0);
  }
  EXPECT_EQ(text, str(whole.at("choices").at(0).at("text")));
  EXPECT_EQ(ids, whole.at("choices").at(0).at("token_ids").as_array());
}

TEST(Completions, SeveralPromptsAndEcho) {
  Fixture f;
  auto json = bj::parse(f.complete(R"({"prompt":["ab","cd","ef"],"max_tokens":3,"echo":true,
      "temperature":0})")
                            .body);
  ASSERT_EQ(json.at("choices").as_array().size(), 3u);
  EXPECT_EQ(json.at("choices").at(2).at("index"), 2);
  EXPECT_TRUE(json.at("choices").at(1).at("text").as_string().starts_with("cd"));
  EXPECT_EQ(json.at("usage").at("total_tokens"), 18);
  json = bj::parse(f.complete(R"({"prompt":[[1,2],[3]],"max_tokens":3})").body);
  EXPECT_EQ(json.at("choices").as_array().size(), 2u);
  EXPECT_TRUE(json.at("choices").at(0).at("seed").is_int64()) << "the seed drawn with is told";
  const auto answer = f.complete(R"({"prompt":[[1,2],[3]],"max_tokens":3,"stream":true})");
  int finished = 0;
  for (const std::string& event : events(answer.body))
    finished += event.find("\"finish_reason\":\"length\"") != std::string::npos;
  EXPECT_EQ(finished, 2);
}

TEST(Completions, EqualPromptsAreDifferentSamplesUnlessSeeded) {
  Fixture f;
  const auto seeds = [&](std::string_view more) {
    const auto json = bj::parse(
        f.complete(
             fmt::format(R"({{"prompt":["ab","ab"],"max_tokens":4,"temperature":1{}}})", more))
            .body);
    const auto& choices = json.at("choices").as_array();
    return std::pair(choices.at(0).at("seed").as_int64(), choices.at(1).at("seed").as_int64());
  };
  const auto drawn = seeds("");
  EXPECT_NE(drawn.first, drawn.second);
  EXPECT_EQ(seeds(R"(,"seed":5)"), std::pair(int64_t{5}, int64_t{5}));
}

TEST(Completions, LargeBodiesArePreparedAside) {
  Fixture f;
  const std::string pad(20'000, ' ');  // above what is read on the I/O thread
  const auto answer =
      f.complete("{\"prompt\":[1,2,3],\"max_tokens\":5,\"temperature\":0" + pad + "}");
  const auto small = f.complete(R"({"prompt":[1,2,3],"max_tokens":5,"temperature":0})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(bj::parse(answer.body).at("choices"), bj::parse(small.body).at("choices"));
  EXPECT_EQ(f.complete("{\"prompt\":[1]," + pad + "}").status, 400);
  const auto streamed =
      f.complete("{\"prompt\":[1,2,3],\"max_tokens\":5,\"stream\":true" + pad + "}");
  EXPECT_EQ(events(streamed.body).back(), "[DONE]");
  // Text that no tokens are long enough for is refused before it is tokenised.
  const auto text = f.complete("{\"prompt\":\"" + std::string(50'000, 'a') + "\"}");
  EXPECT_EQ(text.status, 400);
  EXPECT_NE(text.body.find("50000 bytes, which are 25000 tokens at least"), std::string::npos)
      << text.body;
}

TEST(Completions, StopTextAndLogprobs) {
  Fixture f;
  const auto free = bj::parse(f.complete(R"({"prompt":"q","max_tokens":12,"temperature":0})").body);
  const std::string text(free.at("choices").at(0).at("text").as_string());
  // Letters only, and not at the very start.
  size_t at = 4;
  while (text.find(text.substr(at, 2)) < 2 || text[at] < 'a' || text[at + 1] < 'a') ++at;
  const std::string stop = text.substr(at, 2);
  const auto json = bj::parse(
      f
          .complete(fmt::format(
              R"({{"prompt":"q","max_tokens":12,"temperature":0,"stop":"{}","logprobs":2}})", stop))
          .body);
  const auto& choice = json.at("choices").at(0);
  EXPECT_EQ(str(choice.at("text")), text.substr(0, text.find(stop)));
  EXPECT_EQ(str(choice.at("finish_reason")), "stop");
  EXPECT_EQ(str(choice.at("stop_reason")), stop);
  const auto& logprobs = choice.at("logprobs");
  EXPECT_EQ(logprobs.at("tokens").as_array().size(),
            static_cast<size_t>(json.at("usage").at("completion_tokens").as_int64()));
  EXPECT_EQ(logprobs.at("text_offset").at(1), 1);
  EXPECT_GE(logprobs.at("top_logprobs").at(0).as_object().size(), 1u);
}

TEST(Completions, EchoWithLogprobsScoresThePromptAndTheOutput) {
  Fixture f;
  for (const char* more : {"", R"(,"stream":true)"}) {
    const auto answer = f.complete(fmt::format(
        R"({{"prompt":"hello","max_tokens":2,"temperature":0,"echo":true,"logprobs":1{}}})", more));
    ASSERT_EQ(answer.status, 200) << answer.body;
    const bj::value json = bj::parse(*more == 0 ? answer.body : events(answer.body).at(0));
    const auto& choice = json.at("choices").at(0);
    const auto& logprobs = choice.at("logprobs");
    const auto& tokens = logprobs.at("tokens").as_array();
    ASSERT_EQ(tokens.size(), *more == 0 ? 8u : 7u) << "BOS, five letters, and what was drawn";
    EXPECT_TRUE(choice.at("text").as_string().starts_with("hello"));
    EXPECT_EQ(str(tokens[1]), "h");
    EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
    EXPECT_TRUE(logprobs.at("top_logprobs").at(0).is_null());
    const auto& offsets = logprobs.at("text_offset").as_array();
    EXPECT_EQ(offsets[0], 0);
    EXPECT_EQ(offsets[1], 0) << "the BOS has no text";
    EXPECT_EQ(offsets[2], 1);
    EXPECT_EQ(offsets[6], 5) << "the output follows the prompt";
    for (size_t i = 1; i < tokens.size(); ++i) {
      if (i < 6) EXPECT_LE(logprobs.at("token_logprobs").at(i).to_number<double>(), 0);
      const auto& top = logprobs.at("top_logprobs").at(i).as_object();
      ASSERT_TRUE(top.contains(str(tokens[i]))) << "the token's own is always told";
      EXPECT_EQ(top.at(str(tokens[i])), logprobs.at("token_logprobs").at(i));
      EXPECT_LE(top.size(), 2u);
    }
  }
}

TEST(Completions, ThePromptAloneCanBeScored) {
  Fixture f;
  const auto json = bj::parse(
      f.complete(R"({"prompt":[[1,2,3],[7]],"max_tokens":0,"echo":true,"logprobs":0})").body);
  const auto& choice = json.at("choices").at(0);
  EXPECT_EQ(str(choice.at("text")), "bcd");
  EXPECT_EQ(str(choice.at("finish_reason")), "length");
  EXPECT_EQ(choice.at("logprobs").at("token_logprobs").as_array().size(), 3u);
  EXPECT_EQ(choice.at("logprobs").at("top_logprobs").at(1).as_object().size(), 1u);
  EXPECT_EQ(json.at("choices").at(1).at("logprobs").at("tokens").as_array().size(), 1u);
  EXPECT_EQ(json.at("usage").at("prompt_tokens"), 4);
  EXPECT_EQ(json.at("usage").at("completion_tokens"), 0);
  const auto bare = bj::parse(f.complete(R"({"prompt":"ab","max_tokens":0,"echo":true})").body);
  EXPECT_EQ(str(bare.at("choices").at(0).at("text")), "ab");
  EXPECT_TRUE(bare.at("choices").at(0).at("logprobs").is_null());
}

TEST(Tokenize, IdsOfATextAsTheModelSeesThem) {
  Fixture f;
  const auto post = [&](std::string_view body) {
    return fetch(f.server->port(), "POST", "/tokenize", body);
  };
  auto json = bj::parse(post(R"({"prompt":"abc","model":"scripted"})").body);
  EXPECT_EQ(bj::serialize(json.at("tokens")), "[62,0,1,2]");
  EXPECT_EQ(json.at("count"), 4);
  EXPECT_EQ(json.at("max_model_len"), 128);
  json = bj::parse(post(R"({"prompt":"abc","add_special_tokens":false})").body);
  EXPECT_EQ(bj::serialize(json.at("tokens")), "[0,1,2]");
  EXPECT_EQ(post(R"({"prompt":[1]})").status, 400);
  EXPECT_EQ(post(R"({})").status, 400);
  EXPECT_EQ(post(R"({"prompt":"a","model":"other"})").status, 404);
}

TEST(Completions, PromptLogprobsInTheFormOfVllm) {
  Fixture f;
  const auto json = bj::parse(
      f.complete(R"({"prompt":[1,2,3],"max_tokens":1,"temperature":0,"prompt_logprobs":2})").body);
  const auto& choice = json.at("choices").at(0);
  EXPECT_TRUE(choice.at("logprobs").is_null());
  const auto& rows = choice.at("prompt_logprobs").as_array();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_TRUE(rows[0].is_null());
  const int32_t best = engine::ScriptedModel::next({1, 2});
  ASSERT_NE(best, 3);
  const auto& row = rows[2].as_object();
  EXPECT_EQ(row.begin()->key(), "3") << "the prompt's own token first";
  EXPECT_EQ(str(row.at("3").at("decoded_token")), "d");
  EXPECT_EQ(row.at("3").at("rank"), best < 3 ? 4 : 5);
  EXPECT_EQ(row.at(std::to_string(best)).at("rank"), 1);
  EXPECT_GT(row.at(std::to_string(best)).at("logprob").as_double(),
            row.at("3").at("logprob").as_double());
  EXPECT_EQ(row.size(), 3u);
  EXPECT_FALSE(bj::parse(f.complete(R"({"prompt":[1]})").body)
                   .at("choices")
                   .at(0)
                   .as_object()
                   .contains("prompt_logprobs"));
}

TEST(Completions, EachBadFieldIsNamed) {
  Fixture f;
  const struct {
    const char* body;
    int status;
    const char* param;
    const char* words;
  } cases[] = {
      {"{", 400, nullptr, "not valid JSON"},
      {"[1]", 400, nullptr, "JSON object"},
      {"{} x", 400, nullptr, "not valid JSON"},
      {"{\"prompt\":\"\xFF\"}", 400, nullptr, "not valid JSON"},
      {"{}", 400, "prompt", "missing"},
      {R"({"prompt":7})", 400, "prompt", "prompt is 7"},
      {R"({"prompt":[]})", 400, "prompt", "array"},
      {R"({"prompt":[1.5]})", 400, "prompt", "array"},
      {R"({"prompt":[1,64]})", 400, "prompt", "64"},
      {R"({"prompt":""," add_special_tokens":false,"add_special_tokens":false})", 400, "prompt",
       "no tokens"},
      {R"({"prompt":"a","model":"gpt"})", 404, "model", "\"gpt\""},
      {R"({"prompt":"a","max_tokens":0})", 400, "max_tokens", "max_tokens is 0"},
      {R"({"prompt":"a","max_tokens":"x"})", 400, "max_tokens", "\"x\""},
      {R"({"prompt":"a","temperature":-1})", 400, "temperature", "-1"},
      {R"({"prompt":"a","temperature":2.5})", 400, "temperature", "from 0 to 2"},
      {R"({"prompt":"a","top_p":0})", 400, "top_p", "above 0"},
      {R"({"prompt":"a","top_p":1.1})", 400, "top_p", "1.1"},
      {R"({"prompt":"a","top_k":-2})", 400, "top_k", "-2"},
      {R"({"prompt":"a","seed":1.5})", 400, "seed", "1.5"},
      {R"({"prompt":"a","stop":[""]})", 400, "stop", "stop"},
      {R"({"prompt":"a","stop_token_ids":[64]})", 400, "stop_token_ids", "63"},
      {R"({"prompt":"a","logprobs":21})", 400, "logprobs", "20"},
      {R"({"prompt":"a","stream":1})", 400, "stream", "true or false"},
      {R"({"prompt":"a","stream_options":{"include_usage":true}})", 400, "stream_options",
       "stream"},
      {R"({"prompt":"a","stream":true,"stream_options":{"include_usage":1}})", 400,
       "stream_options.include_usage", "true or false"},
      {R"({"prompt":"a","n":2})", 400, "n", "one choice"},
      {R"({"prompt":"a","best_of":3})", 400, "best_of", "3"},
      {R"({"prompt":"a","suffix":"x"})", 400, "suffix", "suffix"},
      {R"({"prompt":"a","echo":true,"max_tokens":-1})", 400, "max_tokens", "max_tokens is -1"},
      {R"({"prompt":"a","prompt_logprobs":21})", 400, "prompt_logprobs", "20"},
      {R"({"prompt":"a","prompt_logprobs":1,"max_tokens":0})", 400, "max_tokens", "0"},
      {R"({"prompt":"a","prompt_logprobs":0,"stream":true})", 400, "prompt_logprobs", "stream"},
      {R"({"prompt":"a","frequency_penalty":0.5})", 400, "frequency_penalty", "0.5"},
      {R"({"prompt":"a","min_tokens":20})", 400, "min_tokens", "16"},
  };
  for (const auto& c : cases) {
    const auto answer = f.complete(c.body);
    EXPECT_EQ(answer.status, c.status) << c.body << answer.body;
    const auto error = bj::parse(answer.body).at("error");
    EXPECT_NE(std::string(error.at("message").as_string()).find(c.words), std::string::npos)
        << answer.body;
    EXPECT_EQ(str(error.at("type")), "invalid_request_error");
    if (c.param != nullptr) {
      EXPECT_EQ(str(error.at("param")), c.param) << answer.body;
    }
  }
  EXPECT_EQ(
      str(bj::parse(f.complete(R"({"prompt":"a","model":"gpt"})").body).at("error").at("code")),
      "model_not_found");
  // Neutral values of what we lack, and nulls, ask for nothing.
  EXPECT_EQ(f.complete(R"({"prompt":"a","n":1,"best_of":1,"suffix":null,"presence_penalty":0,
      "logit_bias":{},"user":"u","stop":null,"seed":18446744073709551615})")
                .status,
            200);
}

TEST(Completions, TooLongPromptNamesBothLengths) {
  Fixture f;
  const auto answer = f.complete(fmt::format(R"({{"prompt":"{}"}})", std::string(200, 'a')));
  EXPECT_EQ(answer.status, 400);
  EXPECT_NE(answer.body.find("201 tokens"), std::string::npos);
  EXPECT_NE(answer.body.find("128"), std::string::npos);
}

TEST(Completions, FailuresAfterTheHeadComeAsAnEvent) {
  Fixture f;
  f.model.poison = 5;
  auto answer = f.complete(R"({"prompt":[5],"max_tokens":4,"stream":true})");
  EXPECT_EQ(answer.status, 200);
  const auto all = events(answer.body);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(str(bj::parse(all[0]).at("error").at("type")), "server_error");
  answer = f.complete(R"({"prompt":[5],"max_tokens":4})");
  EXPECT_EQ(answer.status, 500);
}

TEST(Completions, ClientThatLeavesFreesItsRequest) {
  Fixture f;
  f.model.observe = [](auto) { std::this_thread::sleep_for(milliseconds(2)); };
  http::RawClient client(f.server->port());
  client.request("POST", "/v1/completions", R"({"prompt":[1],"max_tokens":120,"stream":true})");
  ASSERT_TRUE(client.read_until("data: "));
  client.close();
  bool freed = false;
  for (int i = 0; i < 100 && !freed; ++i) {
    std::this_thread::sleep_for(milliseconds(2));
    freed = f.engine->metrics().pages_used == 0;
  }
  EXPECT_TRUE(freed);
  const auto metrics = f.engine->metrics();
  EXPECT_EQ(metrics.finished[static_cast<size_t>(engine::FinishReason::kCancelled)], 1u);
  EXPECT_LT(metrics.generation_tokens, 110u);
}

TEST(Api, ModelsHealthVersionPlan) {
  Fixture f;
  const uint16_t port = f.server->port();
  EXPECT_EQ(str(bj::parse(fetch(port, "GET", "/v1/models").body).at("data").at(0).at("id")),
            "scripted");
  EXPECT_EQ(fetch(port, "GET", "/v1/models/scripted").status, 200);
  EXPECT_EQ(fetch(port, "GET", "/v1/models/other").status, 404);
  EXPECT_EQ(fetch(port, "GET", "/version").status, 200);
  EXPECT_EQ(fetch(port, "GET", "/headroom/plan").body, "{\"kv\":\"bf16\"}");
  EXPECT_EQ(fetch(port, "GET", "/v1/completions").status, 405);
  EXPECT_EQ(fetch(port, "GET", "/health").status, 200);
  f.engine->drain();
  EXPECT_EQ(fetch(port, "GET", "/health").status, 503);
  const auto refused = f.complete(R"({"prompt":"a"})");
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.head.find("Retry-After"), std::string::npos);
}

TEST(Api, KeyGuardsWhatTellsAboutTheModel) {
  Fixture f("secret");
  const uint16_t port = f.server->port();
  for (const char* header : {"", "Authorization: Bearer wrong\r\n", "Authorization: secret\r\n",
                             "Authorization: Bearer secre\r\n", "Authorization: Bearer \r\n"}) {
    const auto answer = fetch(port, "GET", "/v1/models", {}, header);
    EXPECT_EQ(answer.status, 401) << header;
    EXPECT_EQ(str(bj::parse(answer.body).at("error").at("code")), "invalid_api_key");
  }
  for (const char* header :
       {"Authorization: Bearer secret\r\n", "authorization: bearer  secret\r\n"})
    EXPECT_EQ(fetch(port, "GET", "/v1/models", {}, header).status, 200) << header;
  EXPECT_EQ(fetch(port, "GET", "/headroom/plan").status, 401);
  EXPECT_EQ(fetch(port, "GET", "/health").status, 200);
  EXPECT_EQ(fetch(port, "GET", "/metrics").status, 200);
}

TEST(Api, MetricsHaveTheKnownNames) {
  Fixture f;
  f.complete(R"({"prompt":"abc","max_tokens":5})");
  const std::string text = fetch(f.server->port(), "GET", "/metrics").body;
  for (const char* line :
       {"vllm:num_requests_running{model_name=\"scripted\",engine=\"0\"} 0\n",
        "vllm:generation_tokens_total{model_name=\"scripted\",engine=\"0\"} 5\n",
        "vllm:prompt_tokens_total{model_name=\"scripted\",engine=\"0\"} 4\n",
        "finished_reason=\"length\"} 1\n", "vllm:time_to_first_token_seconds_count",
        "headroom_op_runs_total{model_name=\"scripted\",engine=\"0\",op=\"mla_decode\","
        "kernel=\"avx512\"} 5\n",
        "le=\"+Inf\"} 1\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  // A sample may not come twice, and buckets must not fall.
  std::set<std::string> seen;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('#')) continue;
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
}

}  // namespace
}  // namespace headroom::openai
