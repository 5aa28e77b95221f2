// Finds the model, chooses the measure.
#include "eval/eval.h"

#include <simdjson.h>

#include <cmath>

#include "base/clock.h"
#include "eval/measures.h"
#include "http/client.h"

namespace headroom::eval {
namespace {

using base::ErrorCode;

/// The model's name and context from GET /v1/models. A server without that path is fine when the
/// name was given.
base::Result<> find_model(Run& run) {
  http::ClientOptions client;
  client.headers = run.options.headers;
  HEADROOM_TRY(const http::Response response, http::get(run.asker.url, "/v1/models", client));
  const std::string where = run.asker.url.text();
  if (response.head.status == 401 || response.head.status == 403)
    return base::fail(ErrorCode::kUnauthorized, "{}: refuses the key ({})", where,
                      response.head.status);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  simdjson::dom::array models;
  const bool listed =
      response.head.status == 200 &&
      parser.parse(simdjson::padded_string(response.body)).get(root) == simdjson::SUCCESS &&
      root["data"].get_array().get(models) == simdjson::SUCCESS;
  if (!listed) {
    if (!run.model.empty()) return {};
    return base::fail(ErrorCode::kInvalidArgument,
                      "{}: GET /v1/models lists no models; name the model (--model)", where);
  }
  std::string names;
  size_t count = 0;
  for (const simdjson::dom::element entry : models) {
    std::string_view id;
    if (entry["id"].get_string().get(id) != simdjson::SUCCESS) continue;
    names += (names.empty() ? "" : ", ") + std::string(id);
    ++count;
    if (!run.model.empty() && run.model != id) continue;
    int64_t context = 0;
    if (entry["max_model_len"].get_int64().get(context) == simdjson::SUCCESS && context > 0)
      run.max_context = context;
    if (run.options.model.empty()) run.model = id;
  }
  if (run.options.model.empty() && count != 1)
    return base::fail(ErrorCode::kInvalidArgument, "{}: serves {}; name the model (--model)", where,
                      count == 0 ? "no model" : names);
  return {};
}

base::Result<> check(const EvalOptions& options) {
  const auto wrong = [](const char* name, auto value, const char* right) {
    return base::fail(ErrorCode::kInvalidArgument, "{} is {}; it must be {}", name, value, right);
  };
  if (options.concurrency < 1) return wrong("concurrency", options.concurrency, "at least 1");
  if (options.limit < 0) return wrong("limit", options.limit, "0 (all) or more");
  if (options.shots < 0) return wrong("shots", options.shots, "0 or more");
  if (options.max_tokens < 1) return wrong("max_tokens", options.max_tokens, "at least 1");
  if (options.window < 1) return wrong("window", options.window, "at least 1");
  if (!(options.timeout_s > 0)) return wrong("timeout", options.timeout_s, "above 0");
  return {};
}

}  // namespace

MeanError mean_error(double sum, double squares, int64_t n) {
  MeanError out;
  if (n < 1) return out;
  const auto count = static_cast<double>(n);
  out.mean = sum / count;
  if (n < 2) return out;
  const double variance = std::max(0.0, (squares - sum * sum / count) / (count - 1));
  out.error = std::sqrt(variance / count);
  return out;
}

std::string failures_text(const EvalOutcome& outcome) {
  if (outcome.failed == 0) return {};
  std::string kinds;
  for (const auto& [kind, count] : outcome.failures)
    kinds += fmt::format("{}{} × {}", kinds.empty() ? "" : ", ", count, kind);
  return fmt::format("{} of {} attempted ({}); {}", outcome.failed, outcome.attempted, kinds,
                     outcome.form.empty() ? "each counts as wrong" : "none is part of the score");
}

base::Result<EvalOutcome> run_eval(
    const EvalOptions& options,
    const std::function<void(int64_t, int64_t, const std::string&)>& progress,
    const std::atomic<bool>* stop) {
  HEADROOM_TRY_VOID(check(options));
  const int64_t started = base::now_ns();
  Run run{options, progress, stop, {}, options.model, std::nullopt};
  HEADROOM_TRY(run.asker.url, http::parse_server_url(options.url));
  run.asker.headers = options.headers;
  run.asker.timeout_s = options.timeout_s;
  run.asker.concurrency = static_cast<size_t>(options.concurrency);
  HEADROOM_TRY_VOID(find_model(run));
  const bool questions = options.file.extension() == ".jsonl";
  HEADROOM_TRY(EvalOutcome outcome, questions ? exact_match(run) : perplexity(run));
  outcome.model = run.model;
  outcome.seconds = static_cast<double>(base::now_ns() - started) * 1e-9;
  return outcome;
}

}  // namespace headroom::eval
