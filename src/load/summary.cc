// From request records to a record of the point.
#include "load/summary.h"

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/version.h"
#include "load/slo.h"
#include "load/steady_rate.h"
#include "load/verdict.h"

namespace headroom::load {

namespace {

using Records = std::vector<RequestRecord>;

struct Tokens {
  std::optional<int64_t> input = 0, output = 0;
  void add(std::optional<int64_t> in, std::optional<int64_t> out) {
    input = input && in ? std::optional(*input + *in) : std::nullopt;
    output = output && out ? std::optional(*output + *out) : std::nullopt;
  }
};

void set_histogram(std::optional<base::Histogram>& target, base::Histogram histogram) {
  if (!histogram.empty()) target = std::move(histogram);
}

/// Requests of a window: successes that were measured and ended in it.
void fill_distributions(const PointRun& point, std::optional<Span> span, results::Window& window) {
  const Records& records = point.recorder.records();
  base::Histogram ttft, tpot, e2e, ttft_due, e2e_due;
  int64_t count = 0;
  for (const RequestRecord& r : records) {
    if (r.warmup || !r.ok() || (span && !span->contains(r.done))) continue;
    ++count;
    if (const auto value = r.ttft()) ttft.record(*value);
    if (const auto value = r.e2e()) e2e.record(*value);
    if (const auto value = r.tpot()) tpot.record(std::llround(*value));
    if (r.first_token) ttft_due.record(*r.first_token - r.intended);
    if (r.last_token) e2e_due.record(*r.last_token - r.intended);
  }
  window.requests = count;
  set_histogram(window.ttft, std::move(ttft));
  set_histogram(window.tpot, std::move(tpot));
  set_histogram(window.e2e, std::move(e2e));
  // In a closed loop a request is due when its slot is free: nobody waits for it before that.
  if (!point.arrival) return;
  set_histogram(window.ttft_from_due, std::move(ttft_due));
  set_histogram(window.e2e_from_due, std::move(e2e_due));
}

/// The prompt's length as the server counts it, else as it was made.
std::optional<int64_t> prompt_tokens(const RequestRecord& r) {
  return r.prompt_tokens ? r.prompt_tokens : r.prompt_intended;
}

std::optional<int64_t> output_tokens(const RequestRecord& r) {
  return r.counted() ? std::optional(r.tokens()) : std::nullopt;
}

results::Window whole_window(const PointRun& point, Span span) {
  results::Window window;
  const Records& records = point.recorder.records();
  window.duration_s = static_cast<double>(span.length()) * 1e-9;
  fill_distributions(point, std::nullopt, window);
  set_histogram(window.itl, point.recorder.gaps().all());
  Tokens tokens;
  for (const RequestRecord& r : records)
    if (!r.warmup && r.ok()) tokens.add(prompt_tokens(r), output_tokens(r));
  if (window.requests == 0) return window;  // no rate, not a rate of 0
  window.input_tokens = tokens.input;
  window.output_tokens = tokens.output;
  return window;
}

/// In the steady window all load counts, warm-up that still runs included: it is what the server
/// did in that time. Output counts when it arrives, a prompt when its first token does (both with
/// the last byte of an answer in one piece). Failed requests count in no figure.
results::Window window_of(const PointRun& point, Span span) {
  results::Window window;
  const Records& records = point.recorder.records();
  window.duration_s = static_cast<double>(span.length()) * 1e-9;
  fill_distributions(point, span, window);
  set_histogram(window.itl, point.recorder.gaps().within(span));
  Tokens tokens;
  for (const RequestRecord& r : records) {
    const auto at = r.streamed ? r.first_token : r.last_token;
    if (r.ok() && at && span.contains(*at)) tokens.add(prompt_tokens(r), output_tokens(r));
  }
  window.input_tokens = tokens.input;
  if (tokens.output)  // known of all of them; their chunks tell when they came
    window.output_tokens = std::llround(point.recorder.tokens().within(span));
  return window;
}

void count_requests(const Records& records, results::Measures& m) {
  int64_t sent = 0, ok = 0, chunks = 0, output = 0;
  Tokens client, server;
  // A server that fails from the first request on never comes to the measured ones.
  const bool only_warmup =
      std::ranges::all_of(records, [](const RequestRecord& r) { return r.warmup; });
  for (const RequestRecord& r : records) {
    if (r.warmup && (!only_warmup || r.ok())) continue;
    ++sent;
    if (!r.ok()) {
      ++m.requests_failed[failure_name(r.failure, r.http_status)];
      continue;
    }
    ++ok;
    chunks += r.chunks;
    output += r.tokens();
    client.add(r.prompt_intended, r.streamed ? std::optional(r.chunk_tokens) : std::nullopt);
    server.add(r.prompt_tokens, r.output_tokens);
  }
  m.requests_sent = sent;
  m.requests_ok = ok;
  if (ok == 0) return;
  m.client_input_tokens = client.input;
  m.client_output_tokens = client.output;
  m.server_input_tokens = server.input;
  m.server_output_tokens = server.output;
  if (chunks > 0) m.tokens_per_chunk = static_cast<double>(output) / static_cast<double>(chunks);
}

void fill_client(const PointRun& point, const RunFacts& facts, results::ClientLoad& client) {
  base::Histogram lateness, queueing;
  for (const RequestRecord& r : point.recorder.records()) {
    if (r.warmup || !r.sent) continue;
    lateness.record(*r.sent - r.intended);
    queueing.record(*r.sent - r.released);
  }
  client.cpu_cores = point.client.cpu_cores;
  set_histogram(client.lateness, std::move(lateness));
  set_histogram(client.queueing, std::move(queueing));
  set_histogram(client.connect, point.client.connect_time);
  set_histogram(client.read_lag, point.client.read_lag);
  client.environment = facts.client_environment;
  client.settings["seed"] = std::to_string(facts.workload.seed);
  client.settings["salt"] = facts.workload.salt;
  client.settings["temperature"] = fmt::format("{}", facts.workload.temperature);
  client.settings["endpoint"] = endpoint_path(facts.workload.endpoint);
  client.settings["token_ids_asked"] = facts.workload.ask_token_ids ? "yes" : "no";
  client.settings["warmup_requests"] = std::to_string(point.warmup);
  client.settings["clock"] = point.client.user_reads == 0     ? "kernel"
                             : point.client.kernel_reads == 0 ? "user"
                                                              : "kernel, some user";
  fill_verdict(point, client);
}

/// What the first failure of each kind said.
std::string causes_of(const std::map<std::string, std::string>& first_failures) {
  constexpr size_t kMost = 3;
  std::string text;
  size_t shown = 0;
  for (const auto& [kind, why] : first_failures) {
    if (shown++ == kMost) break;
    text += "; " + (why.starts_with("HTTP ") ? why : kind + ": " + why);
  }
  return text;
}

void doubt_counts(const PointRun& point, const RunFacts& facts, results::Measures& m) {
  const Records& records = point.recorder.records();
  int64_t ok = 0, prompt_off = 0, fewer = 0, no_usage = 0, short_output = 0, again = 0;
  int64_t asked_prompt = 0;
  int64_t at_once = 0;
  int64_t chunks = 0, coalesced = 0, seen_prompt = 0;
  for (const RequestRecord& r : records) {
    if (r.warmup || !r.ok()) continue;
    ++ok;
    again += r.again;
    chunks += r.chunks;
    coalesced += r.at_once() ? 0 : r.coalesced;
    at_once += r.at_once();
    no_usage += !r.output_tokens;
    short_output += facts.workload.force_length && r.counted() && r.tokens() < r.output_intended;
    fewer += r.output_tokens && *r.output_tokens < r.chunk_tokens;
    if (r.prompt_tokens && r.prompt_intended && *r.prompt_tokens != *r.prompt_intended) {
      ++prompt_off;
      asked_prompt = *r.prompt_intended;
      seen_prompt = *r.prompt_tokens;
    }
  }
  auto& doubts = m.doubts;
  const int64_t failed = *m.requests_sent - ok;
  if (failed > 0)
    doubts["failures"] = fmt::format(
        "{} of {} requests failed ({:.1f} %); they count in no figure{}", failed, *m.requests_sent,
        100 * static_cast<double>(failed) / static_cast<double>(*m.requests_sent),
        causes_of(point.first_failures));
  if (prompt_off > 0)
    doubts["prompt_tokens"] =
        fmt::format("{} of {} prompts: {} tokens sent, {} counted by the server", prompt_off, ok,
                    asked_prompt, seen_prompt);
  if (fewer > 0)
    doubts["output_tokens"] = fmt::format(
        "{} of {} requests brought more chunks than the server counts tokens", fewer, ok);
  if (no_usage > 0)
    doubts["no_usage"] = fmt::format(
        "{} of {} requests came without usage: {}", no_usage, ok,
        facts.workload.stream ? "chunks count as tokens" : "how many tokens came is not known");
  if (short_output > 0)
    doubts["output_short"] = fmt::format(
        "{} of {} requests ended before the tokens that were asked for", short_output, ok);
  if (m.tokens_per_chunk && *m.tokens_per_chunk > 1.02)
    doubts["tokens_per_chunk"] = fmt::format(
        "{:.2f} tokens per chunk: ITL is the gap of chunks, not of tokens", *m.tokens_per_chunk);
  if (at_once > 0)
    doubts["at_once"] = fmt::format(
        "{} of {} responses came in one piece (does a proxy buffer them?): they have no TPOT",
        at_once, ok);
  if (chunks > 0 && coalesced * 100 > chunks)
    doubts["coalesced"] = fmt::format(
        "{} of {} chunks came in one read with the one before: ITL is "
        "coarse, TPOT is not",
        coalesced, chunks);
  if (again > 0)
    doubts["resent"] = fmt::format(
        "{} of {} requests were sent twice: the server had closed their "
        "idle connection",
        again, ok);
  if (point.client.retries > 0)
    doubts["retries"] = fmt::format(
        "{} attempts were repeated, as asked: times are those of a request's last attempt",
        point.client.retries);
  if (facts.distinct_prompts > 0 && !facts.shares_prefixes &&
      point.next_index > facts.distinct_prompts)
    doubts["prompts_repeated"] =
        fmt::format("the file has {} prompts, fewer than were sent: prefix caches may help",
                    facts.distinct_prompts);
}

/// Requests a second of an open loop, where it has one number: after a ramp, the end's.
std::optional<double> nominal_rate(const std::optional<ArrivalOptions>& arrival) {
  if (!arrival || arrival->kind == ArrivalKind::kSchedule || arrival->kind == ArrivalKind::kTrace ||
      std::isinf(arrival->rate))
    return std::nullopt;
  return arrival->end_rate.value_or(arrival->rate);
}

std::optional<Span> steady_span(const PointRun& point) {
  const Records& records = point.recorder.records();
  if (!point.arrival) return steady_window(records, point.concurrency);
  const auto rate = nominal_rate(point.arrival);
  if (!rate) return std::nullopt;
  const int64_t ramp = point.arrival->end_rate ? std::llround(point.arrival->ramp_s * 1e9) : 0;
  return steady_rate_window(records, *rate, point.start_ns + ramp);
}

void doubt_conduct(const PointRun& point, results::Measures& m) {
  if (*m.requests_ok == 0) return;  // there is no figure to speak against
  auto& doubts = m.doubts;
  if (point.arrival) {
    if (point.most_in_flight >= point.concurrency)
      doubts["overloaded"] = fmt::format(
          "{} requests were in flight at once, the most this client allows: the server does not "
          "keep up with the arrivals",
          point.concurrency);
  } else if (*m.requests_sent < 3 * point.concurrency) {
    doubts["few_requests"] =
        fmt::format("{} requests at concurrency {}: start and drain weigh much", *m.requests_sent,
                    point.concurrency);
  }
  const auto rate = nominal_rate(point.arrival);
  const int64_t ended = m.steady ? m.steady->requests.value_or(0) : 0;
  if (point.arrival) {
    // Without one rate there is nothing that the server could be in step with.
    if (rate && !m.steady)
      doubts["no_steady_window"] =
          fmt::format("requests never ended at {} a second, within 1 %, as they came", *rate);
    else if (rate && 2 * ended < m.whole.requests.value_or(0))
      doubts["short_steady_window"] =
          fmt::format("only {} of {} requests ended while the server kept step with the arrivals",
                      ended, m.whole.requests.value_or(0));
  } else if (!m.steady) {
    doubts["no_steady_window"] =
        fmt::format("{} streams were never busy at once", point.concurrency);
  } else if (ended < point.concurrency) {
    doubts["short_steady_window"] =
        fmt::format("only {} requests ended in the {:.1f} s at full concurrency", ended,
                    m.steady->duration_s.value_or(0));
  }
}

void describe_workload(const PointRun& point, const RunFacts& facts, results::Workload& w) {
  const WorkloadOptions& o = facts.workload;
  if (facts.distinct_prompts == 0) {
    w.input_tokens = o.input_tokens;
    w.output_tokens = o.output_tokens;
  } else if (facts.output_lengths == "fixed") {
    w.output_tokens = o.output_tokens;
  }
  w.input_lengths = facts.input_lengths;
  w.output_lengths = facts.output_lengths;
  w.dataset = facts.dataset;
  w.arrivals = point.arrival ? arrival_name(*point.arrival) : "closed";
  if (point.arrival) w.arrival_detail = arrival_detail(*point.arrival);
  w.rate = nominal_rate(point.arrival);
  if (!point.arrival) w.concurrency = point.concurrency;
  if (o.turns > 1) {
    w.turns = o.turns;
    w.think_s = o.think.seconds;
  }
  if (o.prefix_tokens > 0) w.prefix_tokens = o.prefix_tokens;
}

}  // namespace

results::Record summarize(const PointRun& point, const RunFacts& facts) {
  results::Record record;
  record.run = facts.run;
  record.label = facts.label;
  record.time = base::utc_text(point.unix_start_ns);
  record.date = record.time.substr(0, 10);
  record.client = fmt::format("headroom {}", base::kVersion);
  record.client_protocol = results::kClientProtocol;
  record.server = facts.server.server;
  record.hardware = facts.server.hardware;
  record.plan = facts.server.plan;
  describe_workload(point, facts, record.workload);
  results::Measures& m = record.measures;
  const Records& records = point.recorder.records();
  count_requests(records, m);
  std::optional<Span> span;
  for (const RequestRecord& r : records) {
    if (r.warmup) continue;
    if (!span) span = Span{r.released, r.done};
    span->begin = std::min(span->begin, r.released);
    span->end = std::max(span->end, r.done);
  }
  // At a constant rate each request stands for one period, the last one too.
  const auto rate = nominal_rate(point.arrival);
  if (span && rate && point.arrival->kind == ArrivalKind::kConstant && !point.arrival->end_rate)
    span->end = std::max(
        span->end,
        span->begin + static_cast<int64_t>(static_cast<double>(*m.requests_sent) / *rate * 1e9));
  if (span) m.whole = whole_window(point, *span);
  // Streams that are busy failing are no steady load.
  const auto steady = *m.requests_ok > 0 ? steady_span(point) : std::nullopt;
  if (steady) m.steady = window_of(point, *steady);
  if (has_bounds(facts.slo)) {
    m.slo = facts.slo;
    m.slo->met = std::ranges::count_if(
        records, [&](const RequestRecord& r) { return !r.warmup && meets(facts.slo, r); });
  }
  fill_client(point, facts, m.client);
  doubt_counts(point, facts, m);
  doubt_conduct(point, m);
  return record;
}

}  // namespace headroom::load
