// Perplexity of a text: its windows' prompt log-probabilities, summed.
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/utf8.h"
#include "eval/measures.h"
#include "eval/prompt_scores.h"
#include "text/tokenizer.h"

namespace headroom::eval {
namespace {

using base::ErrorCode;

struct Cut {
  std::vector<Window> windows;
  std::string by;
  int64_t scored = 0;  // tokens of a full window; 0: pieces of text
};

base::Result<std::vector<int32_t>> own_ids(const std::string& text, const EvalOptions& options) {
  HEADROOM_TRY(const text::Tokenizer tokenizer, text::Tokenizer::load(options.tokenizer));
  HEADROOM_TRY(std::vector<int32_t> ids, tokenizer.encode(text, true));
  if (tokenizer.special_ids().add_bos && tokenizer.bos()) ids.insert(ids.begin(), *tokenizer.bos());
  return ids;
}

/// By the server's /tokenize; absent where it has none.
base::Result<std::optional<std::vector<int32_t>>> server_ids(const std::string& text,
                                                             const Run& run) {
  base::JsonWriter json;
  json.begin_object().field("model", run.model).field("prompt", text).end_object();
  HEADROOM_TRY(const Answer answer, run.to("/tokenize").ask_one(json.take()));
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array tokens;
  if (!answer.failure.empty() ||
      parser.parse(simdjson::padded_string(answer.body)).get(root) != simdjson::SUCCESS ||
      root["tokens"].get_array().get(tokens) != simdjson::SUCCESS)
    return std::nullopt;
  std::vector<int32_t> ids;
  for (const simdjson::dom::element token : tokens) {
    int64_t id = 0;
    if (token.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > INT32_MAX)
      return std::nullopt;
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

base::Result<Cut> cut_text(const std::string& text, const Run& run) {
  Cut cut;
  cut.scored = run.options.window;
  // One token may have to be drawn, and one stands in front.
  if (run.max_context) cut.scored = std::clamp<int64_t>(*run.max_context - 2, 1, cut.scored);
  std::optional<std::vector<int32_t>> ids;
  if (!run.options.tokenizer.empty()) {
    HEADROOM_TRY(ids, own_ids(text, run.options));
    cut.by = "tokenizer";
  } else {
    HEADROOM_TRY(ids, server_ids(text, run));
    cut.by = "server";
  }
  if (ids) {
    cut.windows = id_windows(*ids, cut.scored);
  } else {
    cut.by = "text windows";
    // Hardly a tokenizer needs more than a token for two bytes of prose.
    cut.windows = text_windows(text, static_cast<size_t>(2 * cut.scored));
    cut.scored = 0;
  }
  if (cut.windows.empty())
    return base::fail(ErrorCode::kInvalidArgument, "{}: too short, fewer than two tokens",
                      run.options.file.string());
  return cut;
}

/// The form that this server speaks, tried on the first window.
base::Result<Form> find_form(const Run& run, const Asker& asker, const Window& window) {
  std::string first;
  for (const Form form : kForms) {
    HEADROOM_TRY(const Answer answer, asker.ask_one(score_request(run.model, window, form)));
    if (answer.status == 0)
      return base::fail(ErrorCode::kUnavailable, "{}: {}: {}", run.asker.url.text(), answer.failure,
                        answer.why);
    if (answer.failure.empty() && read_scores(answer.body, window, form)) return form;
    if (first.empty())
      first = answer.failure.empty() ? excerpt(answer.body) : answer.failure + ": " + answer.why;
  }
  return base::fail(ErrorCode::kUnsupported,
                    "{}: gives no log-probabilities of prompts, neither by `echo` with `logprobs` "
                    "nor by `prompt_logprobs`, so perplexity cannot be measured; to the first it "
                    "said: {}",
                    run.asker.url.text(), first);
}

class Totals {
 public:
  void add(const WindowScore& score) {
    const double mean = score.nll / static_cast<double>(score.tokens);
    sum_ += mean;
    squares_ += mean * mean;
    ++windows_;
  }
  /// Over windows, which are nearer to independent than tokens are.
  std::optional<double> error() const { return mean_error(sum_, squares_, windows_).error; }

 private:
  double sum_ = 0, squares_ = 0;
  int64_t windows_ = 0;
};

void add_evals(const Run& run, const Cut& cut, const Totals& totals, EvalOutcome& out) {
  results::Eval eval;
  eval.task = run.options.file.filename().string();
  eval.metric = "nll_per_token";
  eval.protocol = fmt::format(
      "headroom perplexity {}, {}", kPerplexityVersion,
      cut.scored > 0 ? fmt::format("windows of {} tokens that step by {}, no state carried over",
                                   cut.scored + 1, cut.scored)
                     : std::string("pieces of text, no state carried over"));
  eval.score = out.nll_sum / static_cast<double>(out.tokens);
  eval.standard_error = totals.error();
  eval.questions = out.tokens;
  out.evals.push_back(eval);
  if (out.bytes == 0) return;
  eval.metric = "bits_per_byte";
  const double per_token = 1 / std::numbers::ln2 / static_cast<double>(out.bytes) *
                           static_cast<double>(out.tokens);  // nats per token → bits per byte
  eval.score = *eval.score * per_token;
  if (eval.standard_error) *eval.standard_error *= per_token;
  out.evals.push_back(eval);
}

std::string item_json(size_t index, const Answer& answer, const std::optional<WindowScore>& score) {
  base::JsonWriter json;
  json.begin_object().field("window", static_cast<uint64_t>(index));
  if (score) {
    json.field("tokens", score->tokens).field("bytes", score->bytes).field("nll", score->nll);
  } else {
    json.field("failure", answer.failure).field("why", answer.why);
  }
  json.field("seconds", answer.seconds).end_object();
  return json.take();
}

}  // namespace

base::Result<EvalOutcome> perplexity(const Run& run) {
  HEADROOM_TRY(const std::string text, base::read_file(run.options.file, size_t{1} << 28));
  for (size_t at = 0; at < text.size();) {
    const size_t length = base::utf8_length(std::string_view(text).substr(at));
    if (length == 0)
      return base::fail(
          ErrorCode::kDataLoss, "{}:{}: not UTF-8 text", run.options.file.string(),
          1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(at), '\n'));
    at += length;
  }
  HEADROOM_TRY(Cut cut, cut_text(text, run));
  const bool whole =
      run.options.limit == 0 || cut.windows.size() <= static_cast<size_t>(run.options.limit);
  if (!whole) cut.windows.resize(static_cast<size_t>(run.options.limit));
  const Asker asker = run.to("/v1/completions");
  HEADROOM_TRY(const Form form, find_form(run, asker, cut.windows.front()));

  EvalOutcome out;
  out.total = std::ssize(cut.windows);
  out.form = form_name(form);
  out.tokens_from = cut.by;
  Totals totals;
  bool from_start = false;
  std::string first_failure;
  const auto done = [&](size_t index, Answer answer) {
    std::optional<WindowScore> score;
    if (answer.failure.empty()) {
      score = read_scores(answer.body, cut.windows[index], form);
      if (!score) {
        answer.failure = "bad answer";
        answer.why = excerpt(answer.body);
      }
    }
    ++out.attempted;
    if (score) {
      out.tokens += score->tokens;
      out.bytes += score->bytes;
      out.nll_sum += score->nll;
      totals.add(*score);
      if (index == 0) from_start = score->from_start;
    } else {
      ++out.failed;
      ++out.failures[answer.failure];
      if (first_failure.empty()) first_failure = answer.failure + ": " + answer.why;
    }
    if (run.options.on_item) run.options.on_item(item_json(index, answer, score));
    if (run.progress && out.tokens > 0)
      run.progress(out.attempted, out.total,
                   fmt::format("perplexity {:.4g}",
                               std::exp(out.nll_sum / static_cast<double>(out.tokens))));
  };
  const auto body = [&](size_t index) {
    return score_request(run.model, cut.windows[index], form);
  };
  HEADROOM_TRY_VOID(asker.ask(cut.windows.size(), body, done, run.stop));
  out.stopped = out.attempted < out.total;
  if (out.failed == out.attempted && out.failed > 0)
    return base::fail(ErrorCode::kUnavailable, "{}: none of {} windows was scored; the first: {}",
                      run.asker.url.text(), out.failed, first_failure);
  // Characters cut by a window's border are shown with other bytes; the file has the true ones.
  if (whole && from_start && out.attempted == out.total && out.failed == 0 && cut.scored > 0)
    out.bytes = std::ssize(text);
  if (out.tokens > 0) add_evals(run, cut, totals, out);
  return out;
}

}  // namespace headroom::eval
