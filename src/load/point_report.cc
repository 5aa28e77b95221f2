// Points as JSON and as table rows.
#include "load/point_report.h"

#include <algorithm>

#include "base/utf8.h"

namespace headroom::load {

namespace {

using Maybe = std::optional<double>;
constexpr double kPercents[] = {50, 90, 95, 99, 99.9};

std::string percent_name(double percent) {
  return fmt::format("p{:g}", percent);
}

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

bool shown(double percent, const base::Histogram& histogram, const ReportOptions& options) {
  return options.force_percentiles || percentile_refusal(percent, histogram.count()).empty();
}

void write_times(base::JsonWriter& json, std::string_view name,
                 const std::optional<base::Histogram>& histogram, const ReportOptions& options) {
  json.key(name);
  if (!histogram || histogram->empty()) {
    json.null();
    return;
  }
  json.begin_object().field("mean", histogram->mean() * 1e-6);
  for (const double p : kPercents)
    json.field(percent_name(p),
               shown(p, *histogram, options) ? percentile_ms(histogram, p) : Maybe());
  json.field("samples", histogram->count());
  json.key("refused").begin_object();
  for (const double p : kPercents)
    if (!shown(p, *histogram, options))
      json.field(percent_name(p), percentile_refusal(p, histogram->count()));
  json.end_object().end_object();
}

void write_window(base::JsonWriter& json, const results::Window& window,
                  const results::Record& record, const ReportOptions& options) {
  const Maybe input = rate(window.input_tokens, window.duration_s);
  const Maybe output = rate(window.output_tokens, window.duration_s);
  const Maybe total = sum(input, output);
  json.field("duration_s", window.duration_s).field("requests", window.requests);
  json.field("input_tokens", window.input_tokens).field("output_tokens", window.output_tokens);
  write_times(json, "ttft_ms", window.ttft, options);
  write_times(json, "tpot_ms", window.tpot, options);
  write_times(json, "itl_ms", window.itl, options);
  write_times(json, "e2e_ms", window.e2e, options);
  write_times(json, "ttft_from_due_ms", window.ttft_from_due, options);
  write_times(json, "e2e_from_due_ms", window.e2e_from_due, options);
  json.key("interactivity");
  if (window.tpot) {
    json.begin_object().field("mean", inverted(window.tpot->mean() * 1e-6));
    for (const double p : kPercents)
      json.field(percent_name(p), shown(p, *window.tpot, options)
                                      ? inverted(percentile_ms(window.tpot, p))
                                      : Maybe());
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
  if (workload.rate)
    return fmt::format("{:.4g} req/s{}", *workload.rate,
                       workload.arrivals == "constant" ? "" : " " + workload.arrivals);
  if (workload.concurrency)
    return fmt::format("{} stream{}", *workload.concurrency, *workload.concurrency == 1 ? "" : "s");
  return workload.arrivals.empty() ? std::string(kAbsent) : workload.arrivals;
}

int64_t failed_of(const results::Measures& m) {
  return m.requests_sent.value_or(0) - m.requests_ok.value_or(0);
}

Maybe share_of(const std::optional<int64_t>& part, const std::optional<int64_t>& whole) {
  if (!part || !whole || *whole < 1) return std::nullopt;
  return static_cast<double>(*part) / static_cast<double>(*whole);
}

std::string failed_text(const results::Measures& m) {
  const int64_t failed = failed_of(m);
  if (failed == 0) return "0";
  return fmt::format("{} ({:.1f} %)", failed, 100 * share_of(failed, m.requests_sent).value_or(0));
}

std::string p99_cell(const std::optional<base::Histogram>& histogram, int decimals,
                     const ReportOptions& options) {
  if (!histogram || histogram->empty()) return std::string(kAbsent);
  return shown(99, *histogram, options) ? cell(percentile_ms(histogram, 99), decimals) : "n<100";
}

/// `line` in lines of at most kColumns; those after the first are set in a little deeper.
std::string wrapped(std::string_view line) {
  constexpr size_t kColumns = 116;
  std::string text, current(line.substr(0, line.find_first_not_of(' ')));
  const std::string further = current + "  ";
  bool fresh = true;  // nothing but the indent so far
  const auto end_line = [&] {
    text += current + '\n';
    current = further;
    fresh = true;
  };
  line.remove_prefix(current.size());
  while (!line.empty()) {
    std::string_view word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
    if (!fresh && base::display_width(current) + 1 + base::display_width(word) > kColumns)
      end_line();
    if (!fresh) current += ' ';
    fresh = false;
    for (; !word.empty(); word.remove_prefix(std::max<size_t>(1, base::utf8_length(word)))) {
      if (base::display_width(current) >= kColumns) end_line();
      current += word.substr(0, std::max<size_t>(1, base::utf8_length(word)));
      fresh = false;
    }
  }
  return text + current + '\n';
}

void write_slo(base::JsonWriter& json, const results::Measures& m) {
  json.key("slo");
  if (!m.slo) {
    json.null();
    return;
  }
  const Maybe seconds = m.whole.duration_s;
  json.begin_object().field("ttft_ms", m.slo->ttft_ms).field("tpot_ms", m.slo->tpot_ms);
  json.field("e2e_ms", m.slo->e2e_ms).field("met", m.slo->met);
  json.field("attempted", m.requests_sent);
  json.field("goodput", share_of(m.slo->met, m.requests_sent));
  json.field("goodput_req_s", rate(m.slo->met, seconds)).end_object();
}

}  // namespace

std::string percentile_refusal(double percent, uint64_t samples) {
  const uint64_t needed = percent >= 99.9 ? 1000 : percent >= 99 ? 100 : 0;
  return samples < needed ? fmt::format("{} samples, fewer than {}", samples, needed) : "";
}

void write_point(base::JsonWriter& json, const results::Record& record, std::string_view id,
                 const ReportOptions& options) {
  const results::Measures& m = record.measures;
  json.begin_object().field("concurrency", record.workload.concurrency);
  json.field("rate", record.workload.rate).field("arrivals", record.workload.arrivals);
  json.field("arrival_detail", record.workload.arrival_detail);
  json.field("dataset", record.workload.dataset);
  json.field("input_lengths", record.workload.input_lengths);
  json.field("output_lengths", record.workload.output_lengths);
  json.field("turns", record.workload.turns);
  json.field("requests_sent", m.requests_sent).field("requests_ok", m.requests_ok);
  json.key("requests_failed").begin_object();
  for (const auto& [kind, count] : m.requests_failed) json.field(kind, count);
  json.end_object();
  json.field("failure_share", share_of(failed_of(m), m.requests_sent));
  write_slo(json, m);
  write_window(json, m.whole, record, options);
  json.key("steady");
  if (m.steady) {
    json.begin_object();
    write_window(json, *m.steady, record, options);
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
  json.key("client_limited");
  if (m.client.limited)
    json.value(*m.client.limited ? "yes" : "no");
  else
    json.null();
  json.field("client_limited_reason", m.client.limited_reason);
  json.key("flags").begin_object();
  for (const auto& [code, text] : m.doubts) json.field(code, text);
  json.end_object();
  json.field("replay", record.replay).field("record", id).end_object();
}

base::Table point_table() {
  base::Table table;
  for (const char* title :
       {"load", "ok", "failed", "TTFT ms", "p99", "TPOT ms", "p99", "tok/s/user", "E2E s",
        "out tok/s", "tok/s", "steady out", "goodput", "tok/s/GPU"})
    table.columns.push_back({title, base::Table::Align::kRight});
  return table;
}

void add_point_row(base::Table& table, const results::Record& record,
                   const ReportOptions& options) {
  const results::Measures& m = record.measures;
  const results::Window& w = m.whole;
  const Maybe input = rate(w.input_tokens, w.duration_s);
  const Maybe output = rate(w.output_tokens, w.duration_s);
  const Maybe e2e = percentile_ms(w.e2e, 50);
  const Maybe steady =
      m.steady ? rate(m.steady->output_tokens, m.steady->duration_s) : std::nullopt;
  const Maybe good = m.slo ? share_of(m.slo->met, m.requests_sent) : std::nullopt;
  table.rows.push_back({load_text(record.workload), std::to_string(m.requests_ok.value_or(0)),
                        failed_text(m), cell(percentile_ms(w.ttft, 50), 1),
                        p99_cell(w.ttft, 1, options), cell(percentile_ms(w.tpot, 50), 2),
                        p99_cell(w.tpot, 2, options), cell(inverted(percentile_ms(w.tpot, 50)), 1),
                        cell(e2e ? Maybe(*e2e / 1000) : e2e, 2), cell(output, 1),
                        cell(sum(input, output), 1), cell(steady, 1),
                        good ? fmt::format("{:.1f} %", *good * 100) : std::string(kAbsent),
                        cell(per_device(sum(input, output), record), 1)});
}

void drop_absent_columns(base::Table& table) {
  for (size_t i = table.columns.size(); i-- > 0;) {
    if (!std::ranges::all_of(table.rows, [&](const auto& row) { return row[i] == kAbsent; }))
      continue;
    table.columns.erase(table.columns.begin() + static_cast<ptrdiff_t>(i));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<ptrdiff_t>(i));
  }
}

std::string verdict_lines(const std::vector<const results::Record*>& records) {
  std::string text;
  size_t no = 0;
  for (const results::Record* record : records) {
    const results::ClientLoad& client = record->measures.client;
    if (!client.limited) continue;
    no += !*client.limited;
    text += wrapped(fmt::format("  {}, client_limited: {}{}", load_text(record->workload),
                                *client.limited ? "yes" : "no",
                                client.limited_reason.empty() ? "" : ", " + client.limited_reason));
  }
  if (no > 1 && no == records.size()) return "  client_limited: no, at every point\n";
  return text;
}

std::string doubt_lines(const results::Record& record) {
  std::string text;
  for (const auto& [code, line] : record.measures.doubts)
    text += wrapped(fmt::format("  {}, {}: {}", load_text(record.workload), code, line));
  return text;
}

std::string point_line(const results::Record& record) {
  const results::Measures& m = record.measures;
  const results::Window& w = m.whole;
  const int64_t failed = failed_of(m);
  return fmt::format(
      "{:>13}  {} of {} ok{}  TTFT {} ms  TPOT {} ms ({} tok/s/user)  {} out tok/s",
      load_text(record.workload), m.requests_ok.value_or(0), m.requests_sent.value_or(0),
      failed > 0
          ? fmt::format(" ({:.1f} % failed)", 100 * share_of(failed, m.requests_sent).value_or(0))
          : "",
      cell(percentile_ms(w.ttft, 50), 1), cell(percentile_ms(w.tpot, 50), 2),
      cell(inverted(percentile_ms(w.tpot, 50)), 1), cell(rate(w.output_tokens, w.duration_s), 1));
}

}  // namespace headroom::load
