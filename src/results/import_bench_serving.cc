// What `vllm bench serve`, SGLang's bench_serving and InferenceX's client write.
#include <simdjson.h>

#include "results/import_json.h"

namespace headroom::results {
namespace {

/// A list of numbers, or of lists of numbers that are joined; empty on anything else.
std::vector<double> numbers_of(const JsonValue& list) {
  std::vector<double> numbers;
  simdjson::dom::parser parser;
  simdjson::dom::array array;
  if (parser.parse(list.text).get(array)) return {};
  const auto add = [&](const simdjson::dom::element& item) {
    double number = 0;
    if (item.get(number)) return false;
    numbers.push_back(number);
    return true;
  };
  for (const simdjson::dom::element item : array) {
    simdjson::dom::array inner;
    if (item.get(inner)) {
      if (!add(item)) return {};
      continue;
    }
    for (const simdjson::dom::element value : inner)
      if (!add(value)) return {};
  }
  return numbers;
}

/// Seconds of each request (or gap) as a histogram; a failed request's 0 is no measurement.
void histogram(RowReader& reader, const char* path, std::optional<base::Histogram>& target) {
  const JsonValue* value = reader.take(path);
  if (value == nullptr || value->kind != JsonValue::Kind::kList) return;
  base::Histogram out;
  for (const double seconds : numbers_of(*value)) {
    if (!(seconds >= 0 && seconds < 1e9)) return reader.wrong(path, *value, "a list of seconds");
    if (seconds > 0) out.record(static_cast<int64_t>(seconds * 1e9));
  }
  if (!out.empty()) target = std::move(out);
}

void arrivals(RowReader& reader, Workload& workload) {
  reader.count("max_concurrency", workload.concurrency);
  const JsonValue* rate = reader.take("request_rate");
  std::optional<double> burstiness;
  reader.number("burstiness", burstiness);
  if (rate == nullptr || rate->text == "inf" || rate->text == "Infinity") {
    if (workload.concurrency) workload.arrivals = "closed";
    return;
  }
  reader.number("request_rate", workload.rate);
  workload.arrivals = burstiness.value_or(1) == 1 ? "poisson" : "gamma";
  if (workload.arrivals == "gamma")
    workload.arrival_detail = fmt::format("burstiness {}", *burstiness);
}

}  // namespace

void read_bench_serving(RowReader& reader, Record& record) {
  // Only SGLang counts tokens twice; only InferenceX's client has that colon.
  const bool sglang = reader.row().has("total_output_tokens_retokenized");
  record.published.source = sglang                                 ? "sglang bench_serving"
                            : reader.row().has("request_goodput:") ? "inferencex client"
                                                                   : "vllm bench serve";
  reader.date("date", record.date);
  reader.text("model_id", record.server.model);
  std::string backend;
  reader.text("backend", backend);
  if (backend == "vllm" || backend == "sglang" || backend == "trt" || backend == "atom")
    record.server.framework = backend;
  else if (!backend.empty())
    record.published.columns["backend"] = backend;
  arrivals(reader, record.workload);
  reader.text("dataset_name", record.workload.dataset);
  reader.count("random_input_len", record.workload.input_tokens);
  reader.count("random_output_len", record.workload.output_tokens);

  Measures& m = record.measures;
  std::optional<int64_t> failed;
  reader.count("num_prompts", m.requests_sent);
  reader.count("completed", m.requests_ok, 0);
  reader.count("failed", failed, 0);
  if (!m.requests_sent && m.requests_ok && failed) m.requests_sent = *m.requests_ok + *failed;
  if (m.requests_sent && m.requests_ok && *m.requests_sent > *m.requests_ok)
    m.requests_failed["unknown"] = *m.requests_sent - *m.requests_ok;
  reader.number("duration", m.whole.duration_s);
  if (m.whole.duration_s && *m.whole.duration_s <= 0)
    reader.wrong("duration", *reader.row().find("duration"), "above 0 s");
  reader.count("total_input_tokens", m.whole.input_tokens, 0);
  reader.count("total_output_tokens", m.whole.output_tokens, 0);
  m.whole.requests = m.requests_ok;
  histogram(reader, "ttfts", m.whole.ttft);
  histogram(reader, "itls", m.whole.itl);
  take_statistics(reader, "", 0, record.published);
}

}  // namespace headroom::results
