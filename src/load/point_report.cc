// Points as JSON and as table rows.
#include "load/point_report.h"

namespace headroom::load {

namespace {

using Maybe = std::optional<double>;
constexpr double kPercents[] = {50, 90, 99};

Maybe rate(const std::optional<int64_t>& tokens, const Maybe& seconds) {
  if (!tokens || !seconds || *seconds <= 0) return std::nullopt;
  return static_cast<double>(*tokens) / *seconds;
}

Maybe sum(const Maybe& a, const Maybe& b) {
  return a && b ? Maybe(*a + *b) : std::nullopt;
}

Maybe per_device(const Maybe& value, const results::Record& record) {
  const auto& devices = record.hardware.devices;
  if (!value || !devices || *devices < 1) return std::nullopt;
  return *value / static_cast<double>(*devices);
}

Maybe percentile_ms(const std::optional<base::Histogram>& histogram, double percent) {
  if (!histogram || histogram->empty()) return std::nullopt;
  return static_cast<double>(histogram->percentile(percent)) * 1e-6;
}

Maybe inverted(const Maybe& ms) {
  return ms && *ms > 0 ? Maybe(1000 / *ms) : std::nullopt;
}

void write_times(base::JsonWriter& json, std::string_view name,
                 const std::optional<base::Histogram>& histogram) {
  json.key(name);
  if (!histogram || histogram->empty()) {
    json.null();
    return;
  }
  json.begin_object().field("mean", histogram->mean() * 1e-6);
  for (const double p : kPercents)
    json.field(fmt::format("p{:.0f}", p), percentile_ms(histogram, p));
  json.field("samples", histogram->count()).end_object();
}

void write_window(base::JsonWriter& json, const results::Window& window,
                  const results::Record& record) {
  const Maybe input = rate(window.input_tokens, window.duration_s);
  const Maybe output = rate(window.output_tokens, window.duration_s);
  const Maybe total = sum(input, output);
  json.field("duration_s", window.duration_s).field("requests", window.requests);
  json.field("input_tokens", window.input_tokens).field("output_tokens", window.output_tokens);
  write_times(json, "ttft_ms", window.ttft);
  write_times(json, "tpot_ms", window.tpot);
  write_times(json, "itl_ms", window.itl);
  write_times(json, "e2e_ms", window.e2e);
  json.key("interactivity");
  if (window.tpot) {
    json.begin_object().field("mean", inverted(window.tpot->mean() * 1e-6));
    for (const double p : kPercents)
      json.field(fmt::format("p{:.0f}", p), inverted(percentile_ms(window.tpot, p)));
    json.end_object();
  } else {
    json.null();
  }
  json.field("tok_s", total).field("output_tok_s", output).field("input_tok_s", input);
  json.field("tok_s_gpu", per_device(total, record));
  json.field("output_tok_s_gpu", per_device(output, record));
  json.field("input_tok_s_gpu", per_device(input, record));
}

constexpr std::string_view kAbsent = "–";

std::string cell(const Maybe& value, int decimals) {
  return value ? fmt::format("{:.{}f}", *value, decimals) : std::string(kAbsent);
}

/// "16 streams" or "0.25 req/s".
std::string load_text(const results::Workload& workload) {
  if (workload.rate) return fmt::format("{:.3g} req/s", *workload.rate);
  return workload.concurrency ? fmt::format("{} streams", *workload.concurrency) : "–";
}

}  // namespace

void write_point(base::JsonWriter& json, const results::Record& record, std::string_view id) {
  const results::Measures& m = record.measures;
  json.begin_object().field("concurrency", record.workload.concurrency);
  json.field("rate", record.workload.rate);
  json.field("requests_sent", m.requests_sent).field("requests_ok", m.requests_ok);
  json.key("requests_failed").begin_object();
  for (const auto& [kind, count] : m.requests_failed) json.field(kind, count);
  json.end_object();
  write_window(json, m.whole, record);
  json.key("steady");
  if (m.steady) {
    json.begin_object();
    write_window(json, *m.steady, record);
    json.end_object();
  } else {
    json.null();
  }
  json.field("client_input_tokens", m.client_input_tokens);
  json.field("client_output_tokens", m.client_output_tokens);
  json.field("server_input_tokens", m.server_input_tokens);
  json.field("server_output_tokens", m.server_output_tokens);
  json.field("tokens_per_chunk", m.tokens_per_chunk);
  json.field("client_cpu_cores", m.client.cpu_cores);
  const auto clock = m.client.settings.find("clock");
  json.field("clock", clock == m.client.settings.end() ? "" : clock->second);
  json.key("flags").begin_object();
  for (const auto& [code, text] : m.doubts) json.field(code, text);
  json.end_object();
  json.field("record", id).end_object();
}

base::Table point_table() {
  base::Table table;
  for (const char* title : {"load", "ok", "failed", "TTFT ms", "p99", "TPOT ms", "p99", "ITL ms",
                            "tok/s/user", "E2E s", "out tok/s", "tok/s", "steady out", "tok/s/GPU"})
    table.columns.push_back({title, base::Table::Align::kRight});
  return table;
}

void add_point_row(base::Table& table, const results::Record& record) {
  const results::Measures& m = record.measures;
  const results::Window& w = m.whole;
  const Maybe input = rate(w.input_tokens, w.duration_s);
  const Maybe output = rate(w.output_tokens, w.duration_s);
  const Maybe e2e = percentile_ms(w.e2e, 50);
  const Maybe steady =
      m.steady ? rate(m.steady->output_tokens, m.steady->duration_s) : std::nullopt;
  table.rows.push_back(
      {load_text(record.workload), std::to_string(m.requests_ok.value_or(0)),
       std::to_string(m.requests_sent.value_or(0) - m.requests_ok.value_or(0)),
       cell(percentile_ms(w.ttft, 50), 1), cell(percentile_ms(w.ttft, 99), 1),
       cell(percentile_ms(w.tpot, 50), 2), cell(percentile_ms(w.tpot, 99), 2),
       cell(percentile_ms(w.itl, 50), 2), cell(inverted(percentile_ms(w.tpot, 50)), 1),
       cell(e2e ? Maybe(*e2e / 1000) : e2e, 2), cell(output, 1), cell(sum(input, output), 1),
       cell(steady, 1), cell(per_device(sum(input, output), record), 1)});
}

void drop_absent_columns(base::Table& table) {
  const auto absent = [](const auto& row) { return row.back() == kAbsent; };
  for (int i = 0; i < 2 && std::ranges::all_of(table.rows, absent); ++i) {
    table.columns.pop_back();
    for (auto& row : table.rows) row.pop_back();
  }
}

std::string doubt_lines(const results::Record& record) {
  std::string text;
  for (const auto& [code, line] : record.measures.doubts)
    text += fmt::format("  {}, {}: {}\n", load_text(record.workload), code, line);
  return text;
}

std::string point_line(const results::Record& record) {
  const results::Measures& m = record.measures;
  const results::Window& w = m.whole;
  return fmt::format(
      "{:>13}  {} of {} ok  TTFT {} ms  TPOT {} ms ({} tok/s/user)  {} out tok/s",
      load_text(record.workload), m.requests_ok.value_or(0), m.requests_sent.value_or(0),
      cell(percentile_ms(w.ttft, 50), 1), cell(percentile_ms(w.tpot, 50), 2),
      cell(inverted(percentile_ms(w.tpot, 50)), 1), cell(rate(w.output_tokens, w.duration_s), 1));
}

}  // namespace headroom::load
