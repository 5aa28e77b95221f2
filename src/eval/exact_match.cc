// Exact match: n-shot prompts, greedy answers, both of lm-eval's rules.
#include <simdjson.h>

#include <algorithm>
#include <cmath>

#include "base/file.h"
#include "base/json_writer.h"
#include "eval/extract.h"
#include "eval/measures.h"
#include "eval/task.h"

namespace headroom::eval {
namespace {

using base::ErrorCode;

/// The text in front of every question: worked examples in GSM8K's usual form.
std::string prefix_of(const std::vector<Question>& examples) {
  std::string text;
  for (const Question& example : examples)
    text += "Question: " + example.question + "\nAnswer: " + example.answer + "\n\n";
  return text;
}

std::string body_of(const Run& run, const std::string& prompt) {
  base::JsonWriter json;
  json.begin_object().field("model", run.model);
  if (run.options.chat) {
    json.key("messages").begin_array().begin_object();
    json.field("role", "user").field("content", prompt).end_object().end_array();
  } else {
    json.field("prompt", prompt);
  }
  json.field("max_tokens", run.options.max_tokens).field("temperature", 0).field("seed", 0);
  // A model that goes on would write the next question itself.
  json.key("stop").begin_array().value("Question:").value("</s>").value("<|im_end|>").end_array();
  json.field("stream", false).end_object();
  return json.take();
}

struct Reply {
  std::string text, finish_reason;
};

/// The text of the first choice; absent when the answer is not of the API's form.
std::optional<Reply> reply_of(const std::string& body, bool chat) {
  simdjson::dom::parser parser;
  simdjson::dom::element root, choice;
  if (parser.parse(simdjson::padded_string(body)).get(root) != simdjson::SUCCESS ||
      root["choices"].at(0).get(choice) != simdjson::SUCCESS)
    return std::nullopt;
  Reply reply;
  std::string_view text;
  const auto content = chat ? choice["message"]["content"] : choice["text"];
  if (content.get_string().get(text) == simdjson::SUCCESS) {
    reply.text = text;
  } else if (!chat || content.error() != simdjson::SUCCESS || !content.is_null()) {
    return std::nullopt;  // a null message is an answer without words
  }
  if (choice["finish_reason"].get_string().get(text) == simdjson::SUCCESS)
    reply.finish_reason = text;
  return reply;
}

class Scores {
 public:
  void add(bool strict, bool flexible) {
    strict_ += strict;
    flexible_ += flexible;
  }
  results::Eval eval(const Run& run, const EvalOutcome& outcome, bool strict) const {
    const int64_t right = strict ? strict_ : flexible_;
    // Of ones and zeros the sum of squares is the sum.
    const auto sum = static_cast<double>(right);
    const MeanError score = mean_error(sum, sum, outcome.attempted);
    results::Eval eval;
    eval.task = run.options.file.stem().string();
    eval.metric = strict ? "exact_match,strict-match" : "exact_match,flexible-extract";
    eval.protocol = fmt::format("headroom exact match {}, {}-shot, {}, greedy, at most {} tokens",
                                kExactMatchVersion, run.options.shots,
                                run.options.chat ? "chat in one user message" : "completions",
                                run.options.max_tokens);
    eval.score = score.mean;
    eval.standard_error = score.error;
    eval.questions = outcome.attempted;
    return eval;
  }
  double strict_share(int64_t attempted) const {
    return attempted > 0 ? static_cast<double>(strict_) / static_cast<double>(attempted) : 0;
  }

 private:
  int64_t strict_ = 0, flexible_ = 0;
};

/// Fills `examples` and `asked` from the files.
base::Result<> read_questions(const EvalOptions& options, std::vector<Question>& examples,
                              std::vector<Question>& asked) {
  HEADROOM_TRY(const std::string text, base::read_file(options.file, size_t{1} << 30));
  HEADROOM_TRY(asked, parse_task(text, options.file.string()));
  const auto shots = static_cast<size_t>(options.shots);
  std::vector<Question>* source = &asked;
  std::string name = options.file.string();
  std::vector<Question> others;
  if (!options.examples.empty()) {
    name = options.examples.string();
    HEADROOM_TRY(const std::string more, base::read_file(options.examples, size_t{1} << 30));
    HEADROOM_TRY(others, parse_task(more, name));
    source = &others;
  }
  const size_t needed = shots + (source == &asked ? 1 : 0);
  if (source->size() < needed)
    return base::fail(ErrorCode::kInvalidArgument,
                      "{}: holds {} questions; {} worked examples need {} (--shots)", name,
                      source->size(), shots, needed);
  const auto split = source->begin() + static_cast<ptrdiff_t>(shots);
  examples.assign(source->begin(), split);
  // Examples are never asked: their answers stand in the prompt.
  if (source == &asked) asked.erase(asked.begin(), split);
  if (options.limit > 0 && asked.size() > static_cast<size_t>(options.limit))
    asked.resize(static_cast<size_t>(options.limit));
  return {};
}

std::string item_json(const Question& question, const std::optional<Reply>& reply,
                      const Answer& answer, const std::optional<std::string>& strict,
                      const std::optional<std::string>& flexible) {
  base::JsonWriter json;
  json.begin_object().field("line", question.line).field("question", question.question);
  json.field("gold", question.gold);
  if (reply) {
    json.field("answer", reply->text).field("finish_reason", reply->finish_reason);
    json.field("strict", strict).field("flexible", flexible);
    json.field("strict_match", strict == question.gold);
    json.field("flexible_match", flexible == question.gold);
  } else {
    json.field("failure", answer.failure).field("why", answer.why);
  }
  json.field("seconds", answer.seconds).end_object();
  return json.take();
}

}  // namespace

base::Result<EvalOutcome> exact_match(const Run& run) {
  std::vector<Question> examples, asked;
  HEADROOM_TRY_VOID(read_questions(run.options, examples, asked));
  const std::string prefix = prefix_of(examples);
  EvalOutcome outcome;
  outcome.total = std::ssize(asked);
  Scores scores;
  std::string first_failure;
  const auto done = [&](size_t index, Answer answer) {
    const Question& question = asked[index];
    std::optional<Reply> reply;
    if (answer.failure.empty()) {
      reply = reply_of(answer.body, run.options.chat);
      if (!reply) {
        answer.failure = "bad answer";
        answer.why = excerpt(answer.body);
      }
    }
    std::optional<std::string> strict, flexible;
    ++outcome.attempted;
    if (reply) {
      if (auto found = strict_match(reply->text)) strict = normalised(*found);
      if (auto found = flexible_match(reply->text)) flexible = normalised(*found);
      scores.add(strict == question.gold, flexible == question.gold);
      outcome.truncated += reply->finish_reason == "length";
    } else {
      ++outcome.failed;
      ++outcome.failures[answer.failure];
      if (first_failure.empty()) first_failure = answer.failure + ": " + answer.why;
    }
    if (run.options.on_item)
      run.options.on_item(item_json(question, reply, answer, strict, flexible));
    if (run.progress)
      run.progress(outcome.attempted, outcome.total,
                   fmt::format("strict {:.3f}", scores.strict_share(outcome.attempted)));
  };
  const auto body = [&](size_t index) {
    return body_of(run, prefix + "Question: " + asked[index].question + "\nAnswer:");
  };
  const Asker asker = run.to(run.options.chat ? "/v1/chat/completions" : "/v1/completions");
  HEADROOM_TRY_VOID(asker.ask(asked.size(), body, done, run.stop));
  outcome.stopped = outcome.attempted < outcome.total;
  if (outcome.failed == outcome.attempted && outcome.failed > 0)
    return base::fail(ErrorCode::kUnavailable,
                      "{}: none of {} questions was answered; the first: {}", run.asker.url.text(),
                      outcome.failed, first_failure);
  if (outcome.attempted > 0)
    outcome.evals = {scores.eval(run, outcome, true), scores.eval(run, outcome, false)};
  return outcome;
}

}  // namespace headroom::eval
