// run_eval against servers of its own that answer by script: scores, failures, forms, stop.
#include "eval/eval.h"

#include <simdjson.h>
#include <unistd.h>

#include <cmath>
#include <mutex>
#include <numbers>

#include "base/json_writer.h"
#include "base/utf8.h"
#include "eval/windows.h"
#include "http/server.h"

namespace headroom::eval {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// A server whose POST handlers are functions from body to reply.
class Scripted {
 public:
  using Script = std::function<http::Reply(const simdjson::dom::element& body)>;
  explicit Scripted(std::map<std::string, Script> scripts, int64_t context = 0) {
    http::Router router;
    router.add("GET", "/v1/models", [context](const auto&, auto responder) {
      responder->reply(
          {200, context > 0
                    ? fmt::format(R"({{"data":[{{"id":"m","max_model_len":{}}}]}})", context)
                    : R"({"data":[{"id":"m"}]})"});
    });
    for (auto& [path, script] : scripts)
      router.add(
          "POST", path, [this, script](const http::IncomingRequest& request, auto responder) {
            simdjson::dom::parser parser;
            const std::lock_guard lock(mutex_);
            bodies.push_back(request.body);
            responder->reply(script(parser.parse(simdjson::padded_string(request.body)).value()));
          });
    http::ServerOptions options;
    options.port = 0;
    server_ = std::move(*http::Server::listen(options, std::move(router)));
    server_->start();
  }
  ~Scripted() { server_->stop(milliseconds(100)); }
  std::string url() const { return server_->url(); }
  std::vector<std::string> bodies;

 private:
  std::mutex mutex_;
  std::unique_ptr<http::Server> server_;
};

class File {
 public:
  File(const std::string& name, const std::string& text)
      : path(fs::temp_directory_path() / fmt::format("headroom-eval-{}-{}", ::getpid(), name)) {
    std::ofstream(path, std::ios::binary) << text;
  }
  ~File() { fs::remove(path); }
  fs::path path;
};

/// Questions 1 … n, each with the answer 10 × its number.
std::string questions(int n) {
  std::string text;
  for (int i = 1; i <= n; ++i)
    text += fmt::format("{{\"question\":\"Q{}?\",\"answer\":\"so\\n#### {}\"}}\n", i, 10 * i);
  return text;
}

http::Reply says(std::string_view text, std::string_view finish = "stop") {
  base::JsonWriter json;
  json.begin_object().key("choices").begin_array().begin_object().field("text", text);
  json.field("finish_reason", finish).end_object().end_array().end_object();
  return {200, json.take()};
}

/// Number of the question that a prompt ends in.
int asked(const simdjson::dom::element& body) {
  const std::string prompt(body["prompt"].get_string().value());
  const size_t at = prompt.rfind("Question: Q");
  return std::atoi(prompt.c_str() + at + 11);
}

EvalOptions options_for(const Scripted& server, const fs::path& file) {
  EvalOptions options;
  options.url = server.url();
  options.file = file;
  options.concurrency = 3;
  return options;
}

TEST(ExactMatch, ScoresStrictFlexibleFailedAndTruncated) {
  Scripted server({{"/v1/completions", [](const auto& body) {
                      const int n = asked(body);
                      if (n == 4)
                        return says(fmt::format("#### {}", 10 * n));  // strict and flexible
                      if (n == 5)
                        return says(fmt::format("it is {} then.", 10 * n));  // flexible alone
                      if (n == 6)
                        return says(fmt::format("#### {} or 7", 10 * n), "length");  // strict alone
                      if (n == 7) return says("I don't know");
                      if (n == 8) return http::Reply{500, "broken"};
                      if (n == 9) return http::Reply{200, "<html>"};
                      return says(fmt::format("#### {}", 10 * n));
                    }}});
  const File file("task.jsonl", questions(13));
  EvalOptions options = options_for(server, file.path);
  options.shots = 3;
  std::vector<std::string> items;
  options.on_item = [&](const std::string& json) { items.push_back(json); };
  int64_t last_done = 0;
  const auto outcome = run_eval(options, [&](int64_t done, int64_t total, const auto&) {
    EXPECT_EQ(done, last_done + 1);
    EXPECT_EQ(total, 10);
    last_done = done;
  });
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->model, "m");
  EXPECT_EQ(outcome->attempted, 10);
  EXPECT_EQ(outcome->failed, 2);
  EXPECT_EQ(outcome->failures.at("http 500"), 1);
  EXPECT_EQ(outcome->failures.at("bad answer"), 1);
  EXPECT_EQ(failures_text(*outcome),
            "2 of 10 attempted (1 × bad answer, 1 × http 500); each counts as wrong");
  EXPECT_EQ(failures_text({}), "");
  EXPECT_EQ(outcome->truncated, 1);
  EXPECT_FALSE(outcome->stopped);
  ASSERT_EQ(outcome->evals.size(), 2u);
  EXPECT_EQ(outcome->evals[0].metric, "exact_match,strict-match");
  EXPECT_DOUBLE_EQ(*outcome->evals[0].score, 0.6) << "4, 6 and 10 to 13 of ten";
  EXPECT_DOUBLE_EQ(*outcome->evals[1].score, 0.6) << "4, 5 and 10 to 13 of ten";
  EXPECT_NEAR(*outcome->evals[0].standard_error, std::sqrt(0.6 * 0.4 / 9), 1e-12);
  EXPECT_EQ(outcome->evals[0].questions, 10);
  EXPECT_NE(outcome->evals[0].protocol.find("3-shot, completions"), std::string::npos);
  EXPECT_EQ(items.size(), 10u);
  simdjson::dom::parser parser;
  for (const std::string& item : items) {
    const auto json = parser.parse(simdjson::padded_string(item)).value();
    EXPECT_EQ(std::string_view(json["question"]), fmt::format("Q{}?", int64_t(json["line"])));
  }
  const auto body = parser.parse(simdjson::padded_string(server.bodies.at(0))).value();
  EXPECT_TRUE(
      std::string_view(body["prompt"])
          .starts_with("Question: Q1?\nAnswer: so\n#### 10\n\nQuestion: Q2?\nAnswer: so\n#### "
                       "20\n\nQuestion: Q3?"));
  EXPECT_TRUE(std::string_view(body["prompt"]).ends_with("?\nAnswer:"));
  EXPECT_EQ(double(body["temperature"]), 0);
}

TEST(ExactMatch, ChatAndExamplesFromAnotherFile) {
  Scripted server(
      {{"/v1/chat/completions", [](const auto& body) {
          const std::string text(body["messages"].at(0)["content"].get_string().value());
          EXPECT_TRUE(text.starts_with("Question: Q1?"));
          return http::Reply{
              200, text.find("Question: Q2?\nAnswer:") != std::string::npos
                       ? R"({"choices":[{"message":{"role":"assistant","content":"#### 20"}}]})"
                       : R"({"choices":[{"message":{"role":"assistant","content":null}}]})"};
        }}});
  const File file("task2.jsonl", questions(2)), examples("shots.jsonl", questions(1));
  EvalOptions options = options_for(server, file.path);
  options.chat = true;
  options.shots = 1;
  options.examples = examples.path;
  const auto outcome = run_eval(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_DOUBLE_EQ(*outcome->evals[0].score, 0.5);
  EXPECT_EQ(outcome->failed, 0) << "a message without content is an answer";
}

TEST(ExactMatch, AStopKeepsWhatWasScored) {
  std::atomic<bool> stop{false};
  Scripted server({{"/v1/completions", [](const auto& body) {
                      return says(fmt::format("#### {}", 10 * asked(body)));
                    }}});
  const File file("task3.jsonl", questions(40));
  EvalOptions options = options_for(server, file.path);
  options.shots = 0;
  const auto outcome = run_eval(
      options,
      [&](int64_t done, int64_t, const auto&) {
        if (done == 5) stop = true;
      },
      &stop);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->stopped);
  EXPECT_GE(outcome->attempted, 5);
  EXPECT_LT(outcome->attempted, 40);
  EXPECT_DOUBLE_EQ(*outcome->evals[0].score, 1);
  EXPECT_EQ(outcome->evals[0].questions, outcome->attempted);
}

TEST(ExactMatch, ErrorsInOneLine) {
  Scripted broken({{"/v1/completions", [](const auto&) { return http::Reply{503, "full"}; }}});
  const File file("task4.jsonl", questions(4)), bad("bad.jsonl", questions(2) + "{}\n");
  EvalOptions options = options_for(broken, file.path);
  options.shots = 1;
  auto outcome = run_eval(options);
  ASSERT_FALSE(outcome) << "no answer is no score of zero";
  EXPECT_NE(
      outcome.error().message.find("none of 3 questions was answered; the first: http 503: full"),
      std::string::npos)
      << outcome.error().message;
  options.shots = 4;
  EXPECT_NE(run_eval(options).error().message.find("4 worked examples need 5"), std::string::npos);
  options.file = bad.path;
  EXPECT_NE(run_eval(options).error().message.find("bad.jsonl:3: field `question` is missing"),
            std::string::npos);
  options.url = "http://127.0.0.1:9";
  EXPECT_EQ(run_eval(options).error().code, base::ErrorCode::kUnavailable);
  options = options_for(broken, file.path);
  options.concurrency = 0;
  EXPECT_EQ(run_eval(options).error().code, base::ErrorCode::kInvalidArgument);
}

/// Ids are bytes; the log-probability of id x is -x / 100.
double logprob_of(int64_t id) {
  return -static_cast<double>(id) / 100;
}
http::Reply tokenize(const simdjson::dom::element& body) {
  base::JsonWriter json;
  json.begin_object().key("tokens").begin_array();
  for (const char c : std::string_view(body["prompt"]))
    json.value(int64_t{static_cast<unsigned char>(c)});
  json.end_array().end_object();
  return {200, json.take()};
}
/// One byte a token, of ids or of text.
http::Reply echo(const simdjson::dom::element& body, bool draws) {
  if (body["max_tokens"].get_int64().value() == 0 && draws) return {400, "max_tokens is 0"};
  std::string text;
  if (body["prompt"].is_string()) {
    text = std::string_view(body["prompt"]);
  } else {
    for (const int64_t id : body["prompt"].get_array()) text += static_cast<char>(id);
  }
  base::JsonWriter json;
  json.begin_object().key("choices").begin_array().begin_object();
  json.field("text", draws ? text + "x" : text).key("logprobs").begin_object();
  json.key("token_logprobs").begin_array().null();
  for (size_t i = 1; i < text.size(); ++i) json.value(logprob_of(text[i]));
  if (draws) json.value(-9.0);
  json.end_array().key("text_offset").begin_array();
  for (size_t i = 0; i < text.size() + draws; ++i) json.value(static_cast<uint64_t>(i));
  json.end_array().end_object().end_object().end_array().end_object();
  return {200, json.take()};
}
http::Reply vllm(const simdjson::dom::element& body) {
  if (body["echo"].error() == simdjson::SUCCESS) return {400, "echo is not supported"};
  base::JsonWriter json;
  json.begin_object().key("choices").begin_array().begin_object().field("text", "x");
  json.key("prompt_logprobs").begin_array().null();
  bool first = true;
  for (const int64_t id : body["prompt"].get_array()) {
    if (!std::exchange(first, false)) {
      json.begin_object().key(std::to_string(id)).begin_object();
      json.field("logprob", logprob_of(id)).field("rank", 1);
      json.field("decoded_token", std::string(1, static_cast<char>(id)));
      json.end_object().end_object();
    }
  }
  json.end_array().end_object().end_array().end_object();
  return {200, json.take()};
}

const std::string kText = "The quick brown fox jumps over the lazy dog and sleeps.";

/// NLL of the bytes of kText from `from` on.
double nll_from(size_t from) {
  double sum = 0;
  for (size_t i = from; i < kText.size(); ++i) sum -= logprob_of(kText[i]);
  return sum;
}

TEST(Perplexity, EveryFormThatServersSpeak) {
  const File file("text.txt", kText);
  const struct {
    Scripted::Script script;
    const char* form;
  } cases[] = {{[](const auto& b) { return echo(b, false); }, "echo"},
               {[](const auto& b) { return echo(b, true); }, "echo"},
               {vllm, "prompt_logprobs"}};
  for (const auto& c : cases) {
    Scripted server({{"/tokenize", tokenize}, {"/v1/completions", c.script}});
    EvalOptions options = options_for(server, file.path);
    options.window = 7;
    const auto outcome = run_eval(options);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(outcome->form, c.form);
    EXPECT_EQ(outcome->tokens_from, "server");
    EXPECT_EQ(outcome->tokens, std::ssize(kText) - 1) << "each but the first, once";
    EXPECT_EQ(outcome->bytes, std::ssize(kText) - 1);
    EXPECT_NEAR(outcome->nll_sum, nll_from(1), 1e-9);
    EXPECT_EQ(outcome->evals[0].metric, "nll_per_token");
    EXPECT_NEAR(*outcome->evals[0].score, nll_from(1) / static_cast<double>(kText.size() - 1),
                1e-12);
    EXPECT_NEAR(*outcome->evals[1].score,
                nll_from(1) / static_cast<double>(kText.size() - 1) / std::numbers::ln2, 1e-12);
    EXPECT_GT(*outcome->evals[0].standard_error, 0);
  }
}

TEST(Perplexity, PiecesOfTextWhereNobodyTokenizes) {
  Scripted server({{"/v1/completions", [](const auto& b) { return echo(b, false); }}});
  const File file("text2.txt", kText);
  EvalOptions options = options_for(server, file.path);
  options.window = 10;  // pieces of 20 bytes
  const auto outcome = run_eval(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->tokens_from, "text windows");
  const auto pieces = text_windows(kText, 20);
  ASSERT_GE(pieces.size(), 3u);
  std::string joined;
  double nll = 0;
  for (const Window& piece : pieces) {
    joined += piece.text;
    for (size_t i = 1; i < piece.text.size(); ++i) nll -= logprob_of(piece.text[i]);
  }
  EXPECT_EQ(joined, kText);
  EXPECT_NEAR(outcome->nll_sum, nll, 1e-9);
  EXPECT_EQ(outcome->tokens, std::ssize(kText) - std::ssize(pieces));
  EXPECT_EQ(outcome->bytes, outcome->tokens);
}

TEST(Perplexity, AShortContextMakesShortWindows) {
  Scripted server(
      {{"/tokenize", tokenize}, {"/v1/completions", [](const auto& b) { return echo(b, false); }}},
      12);
  const File file("text3.txt", kText);
  const auto outcome = run_eval(options_for(server, file.path));
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->total, (std::ssize(kText) - 1 + 9) / 10);
}

TEST(Perplexity, RefusesWhatCannotBeMeasured) {
  // It ignores echo and prompt_logprobs, as servers do that know neither.
  Scripted deaf({{"/v1/completions", [](const auto&) {
                    return http::Reply{
                        200, R"({"choices":[{"text":"x","logprobs":{"token_logprobs":[-1.5]}}]})"};
                  }}});
  const File file("text4.txt", kText), broken("text5.txt", "fine\nnot \xFF fine"),
      empty("text6.txt", "");
  const auto outcome = run_eval(options_for(deaf, file.path));
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, base::ErrorCode::kUnsupported);
  EXPECT_NE(
      outcome.error().message.find("neither by `echo` with `logprobs` nor by `prompt_logprobs`"),
      std::string::npos);
  EXPECT_NE(run_eval(options_for(deaf, broken.path)).error().message.find("text5.txt:2: not UTF-8"),
            std::string::npos);
  EXPECT_NE(run_eval(options_for(deaf, empty.path)).error().message.find("too short"),
            std::string::npos);
  EXPECT_EQ(run_eval(options_for(deaf, "/no/such.txt")).error().code, base::ErrorCode::kNotFound);
  EvalOptions options = options_for(deaf, file.path);
  options.tokenizer = "/no/such";
  EXPECT_FALSE(run_eval(options));
}

TEST(Perplexity, AFailedWindowIsNotCountedAsScored) {
  Scripted server({{"/tokenize", tokenize}, {"/v1/completions", [](const auto& b) {
                                               const auto ids = b["prompt"].get_array();
                                               return int64_t(ids.at(0)) == 'b'
                                                          ? http::Reply{500, "no"}
                                                          : echo(b, false);
                                             }}});
  const File file("text7.txt", kText);
  EvalOptions options = options_for(server, file.path);
  options.window = 10;  // the second window starts with the b of "brown"
  const auto outcome = run_eval(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->failed, 1);
  EXPECT_EQ(outcome->tokens, std::ssize(kText) - 1 - 10);
  double missing = 0;
  for (size_t i = 11; i <= 20; ++i) missing -= logprob_of(kText[i]);
  EXPECT_NEAR(outcome->nll_sum, nll_from(1) - missing, 1e-9);
}

TEST(Windows, TextIsNeverCutInsideACharacter) {
  const std::string text = "aéaéaé漢字漢字 漢字";
  for (size_t bytes = 1; bytes < 12; ++bytes) {
    std::string joined;
    for (const Window& piece : text_windows(text, bytes)) {
      ASSERT_FALSE(piece.text.empty());
      for (size_t at = 0; at < piece.text.size();) {
        const size_t length = base::utf8_length(std::string_view(piece.text).substr(at));
        ASSERT_GT(length, 0u) << piece.text;
        at += length;
      }
      joined += piece.text;
    }
    EXPECT_EQ(joined, text);
  }
}

}  // namespace
}  // namespace headroom::eval
