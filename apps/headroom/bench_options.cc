// Definition and reading of the options of `headroom bench`.
#include "bench_options.h"

#include <cstdio>
#include <cstdlib>

#include "load/dataset/dataset.h"
#include "load/slo.h"

namespace headroom::apps {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

std::string dataset_help() {
  std::string text = "what is sent, a file by its path or as NAME:FILE:";
  for (const load::DatasetKind& kind : load::datasets())
    text += fmt::format(" {}{} ({});", kind.name, kind.file ? ":FILE" : "", kind.help);
  text.pop_back();
  return text;
}

void define_server(CLI::App& sub, BenchArguments& a) {
  load::BenchOptions& b = a.bench;
  sub.add_option("--url", b.url, "http(s)://host:port, with or without /v1, or unix:/file");
  sub.add_option("--model", b.workload.model, "the model's name at the server");
  sub.add_option("--endpoint", a.endpoint, "completions or chat")->capture_default_str();
  sub.add_option("--header", b.headers, "\"Name: value\", may be repeated");
  auto* key = sub.add_option("--api-key", b.api_key, "sent as a bearer token, never stored");
  sub.add_option("--api-key-env", b.api_key_env, "the variable that holds it")->excludes(key);
  auto* ca = sub.add_option("--ca-file", b.ca_file, "PEM file of trusted authorities");
  sub.add_flag("--insecure", b.insecure, "any certificate will do")->excludes(ca);
}

void define_load(CLI::App& sub, BenchArguments& a) {
  load::BenchOptions& b = a.bench;
  load::ArrivalOptions& arrival = b.arrival;
  sub.add_option("--concurrency", b.concurrency, "streams at once, a point each: 1,4,16 [1]")
      ->delimiter(',');
  sub.add_option("--stagger", b.stagger_s, "seconds over which the streams start");
  sub.add_option("--rate", b.rates, "requests a second, a point each; inf: all at once")
      ->delimiter(',');
  sub.add_option("--arrival", a.arrival, "with --rate: constant, poisson or gamma")
      ->capture_default_str();
  sub.add_option("--burstiness", arrival.burstiness, "of gamma: 1 is Poisson, less is burstier")
      ->capture_default_str();
  sub.add_option("--end-rate", arrival.end_rate, "the rate goes there within --ramp");
  sub.add_option("--ramp", arrival.ramp_s, "seconds of the ramp");
  sub.add_option("--ramp-shape", a.ramp_shape, "linear or exponential")->capture_default_str();
  auto* schedule = sub.add_option("--schedule", a.schedule,
                                  "file of offsets in seconds, a line each (or JSON lines)");
  sub.add_option("--trace", a.trace, "Mooncake trace: its times, lengths and shared blocks")
      ->excludes(schedule);
  sub.add_option("--time-scale", arrival.time_scale,
                 "of --schedule and --trace: 0.5 is twice as fast")
      ->capture_default_str();
  sub.add_option("--max-in-flight", b.max_in_flight, "requests at once, with --rate and files")
      ->capture_default_str();
  auto* requests = sub.add_option("--requests", b.requests,
                                  "measured requests a point [max(3 x concurrency, 12)]");
  auto* per_stream =
      sub.add_option("--requests-per-stream", b.requests_per_stream, "times the concurrency")
          ->excludes(requests);
  sub.add_option("--duration", b.duration_s, "seconds a point, instead of --requests")
      ->excludes(requests)
      ->excludes(per_stream);
  auto* warmup = sub.add_option("--warmup", b.warmup, "unmeasured requests first [one per stream]");
  sub.add_option("--warmup-per-stream", b.warmup_per_stream, "times the concurrency")
      ->excludes(warmup);
  sub.add_option("--timeout", b.timeout_s, "seconds without content that fail a stream")
      ->capture_default_str();
  sub.add_option("--point-timeout", b.point_timeout_s,
                 "seconds after which a point ends with what it has");
  sub.add_option("--retries", b.retries, "of a request whose answer never began; counted")
      ->capture_default_str();
  sub.add_option("--pace", b.pace_ms, "least milliseconds between two requests");
  sub.add_option("--threads", b.threads, "of the client [one, more where the load needs it]");
  sub.add_option("--source", b.sources, "local addresses to connect from, in turn")->delimiter(',');
}

void define_requests(CLI::App& sub, BenchArguments& a) {
  load::WorkloadOptions& w = a.bench.workload;
  sub.add_option("--preset", a.preset,
                 "inferencex: lengths uniform in [0.8 L, L], 10 requests and 2 warm-ups a stream");
  sub.add_option("--dataset", w.dataset, dataset_help())->capture_default_str();
  sub.add_option("--input", w.input_tokens, "prompt tokens")->capture_default_str();
  sub.add_option("--output", w.output_tokens, "tokens to generate")->capture_default_str();
  sub.add_option("--input-lengths", a.input_lengths, "fixed, uniform:0.8 or normal:0.2")
      ->capture_default_str();
  sub.add_option("--output-lengths", a.output_lengths, "the same")->capture_default_str();
  sub.add_option("--prefix-tokens", w.prefix_tokens, "tokens of the prompt that are shared");
  sub.add_option("--prefixes", w.prefixes, "so many shared beginnings")->capture_default_str();
  sub.add_option("--turns", w.turns, "turns of a session")->capture_default_str();
  sub.add_option("--think", w.think.seconds, "seconds between an answer and the next turn");
  sub.add_flag("--think-exponential", w.think.exponential, "that is the mean of a distribution");
  sub.add_flag("--no-stream", a.no_stream, "answers in one piece");
  sub.add_flag("--natural-length", a.natural_length,
               "the model may end an answer early: no ignore_eos");
  sub.add_option("--temperature", w.temperature, "0 is greedy")->capture_default_str();
  sub.add_option("--extra-body", w.extra_body, "JSON object that goes into every body");
  sub.add_option("--seed", w.seed, "of prompts, lengths and arrivals")->capture_default_str();
  auto* salt = sub.add_option("--salt", a.salt, "goes into every prompt; a fresh one by default");
  sub.add_flag("--no-salt", a.no_salt, "the same prompts as every run with this seed")
      ->excludes(salt);
  sub.add_option("--first-index", a.bench.first_index, "number of the first prompt");
  sub.add_option("--tokenizer", w.tokenizer,
                 "folder with the model's tokenizer.json: exact lengths of text");
  sub.add_option("--token-range", a.token_range, "LOW:HIGH of random token ids");
}

void define_results(CLI::App& sub, BenchArguments& a) {
  load::BenchOptions& b = a.bench;
  sub.add_option("--slo", a.slo, "ttft=MS,tpot=MS,e2e=MS: goodput over attempted requests");
  sub.add_option("--max-failures", b.max_failures_percent, "percent that make the run fail")
      ->capture_default_str();
  sub.add_flag("--force-percentiles", b.force_percentiles,
               "show p99 below 100 and p99.9 below 1,000 samples");
  sub.add_option("--requests-out", b.requests_out, "JSON lines, one a request, as they end");
  sub.add_option("--label", b.label, "short name of this run");
  sub.add_option("--repeat", b.repeat, "number of this repetition");
  sub.add_option(
      "--recipe", a.recipe,
      "what the server does not tell: framework=vllm,version=1.0,tp=8,... (\\, in a value)");
  sub.add_option("--hardware", b.hardware, "hardware that serves, e.g. h200");
  sub.add_option("--devices", b.devices, "how many of it: tok/s/GPU needs it");
  sub.add_option("--db", a.db, "store the points in this SQLite file");
  sub.add_flag("--json", a.json, "print one JSON object");
  sub.add_flag("--quiet", b.quiet, "no progress on stderr");
}

Result<> read_arrival(BenchArguments& a) {
  load::ArrivalOptions& arrival = a.bench.arrival;
  HEADROOM_TRY(arrival.kind, load::parse_arrival_kind(a.arrival));
  if (arrival.kind == load::ArrivalKind::kSchedule || arrival.kind == load::ArrivalKind::kTrace)
    return fail(ErrorCode::kInvalidArgument, "--arrival {}: pass --{} FILE", a.arrival, a.arrival);
  if (a.ramp_shape != "linear" && a.ramp_shape != "exponential")
    return fail(ErrorCode::kInvalidArgument, "--ramp-shape {}: not linear or exponential",
                a.ramp_shape);
  arrival.ramp_shape =
      a.ramp_shape == "linear" ? load::RampShape::kLinear : load::RampShape::kExponential;
  if (!a.schedule.empty() || !a.trace.empty()) {
    if (!a.bench.rates.empty())
      return fail(ErrorCode::kInvalidArgument, "--rate: a file tells when requests come");
    arrival.kind = a.trace.empty() ? load::ArrivalKind::kSchedule : load::ArrivalKind::kTrace;
    arrival.file = a.trace.empty() ? a.schedule : a.trace;
  }
  if (!a.trace.empty()) {
    const std::string dataset = "mooncake:" + a.trace;
    if (a.bench.workload.dataset != "random" && a.bench.workload.dataset != dataset)
      return fail(ErrorCode::kInvalidArgument, "--dataset {}: a trace brings its own prompts",
                  a.bench.workload.dataset);
    a.bench.workload.dataset = dataset;
  }
  if (arrival.burstiness != 1 && arrival.kind != load::ArrivalKind::kGamma)
    return fail(ErrorCode::kInvalidArgument, "--burstiness: needs --arrival gamma");
  if (arrival.time_scale != 1 && arrival.file.empty())
    return fail(ErrorCode::kInvalidArgument, "--time-scale: needs --schedule or --trace");
  const bool open = !a.bench.rates.empty() || !arrival.file.empty();
  if (!open && (a.arrival != "constant" || arrival.end_rate || arrival.ramp_s != 0))
    return fail(ErrorCode::kInvalidArgument, "{}: needs --rate",
                arrival.end_rate      ? "--end-rate"
                : arrival.ramp_s != 0 ? "--ramp"
                                      : "--arrival " + a.arrival);
  return {};
}

/// Entries stand between commas; a backslash makes a comma or a backslash part of the value.
Result<> read_recipe(const std::vector<std::string>& lists,
                     std::map<std::string, std::string>& recipe) {
  for (const std::string& list : lists)
    for (size_t at = 0; at <= list.size(); ++at) {
      std::string entry;
      for (; at < list.size() && list[at] != ','; ++at) {
        const bool escape = list[at] == '\\' && at + 1 < list.size() &&
                            (list[at + 1] == ',' || list[at + 1] == '\\');
        entry += list[at += escape];
      }
      const size_t equals = entry.find('=');
      if (equals == std::string::npos || equals == 0)
        return fail(ErrorCode::kInvalidArgument, "--recipe {}: not key=value", entry);
      recipe[entry.substr(0, equals)] = entry.substr(equals + 1);
    }
  return {};
}

Result<> read_key(load::BenchOptions& b) {
  if (b.api_key_env.empty()) return {};
  const char* value = std::getenv(b.api_key_env.c_str());
  if (value == nullptr || *value == '\0')
    return fail(ErrorCode::kInvalidArgument, "--api-key-env {}: the variable is not set",
                b.api_key_env);
  b.api_key = value;
  return {};
}

}  // namespace

void define_bench_options(CLI::App& sub, BenchArguments& arguments) {
  const auto titled = [&](const char* title, void (*define)(CLI::App&, BenchArguments&)) {
    const size_t before = sub.get_options().size();
    define(sub, arguments);
    const std::vector<CLI::Option*> options = sub.get_options({});
    for (size_t i = before; i < options.size(); ++i) options[i]->group(title);
  };
  titled("Server", define_server);
  titled("Load", define_load);
  titled("Requests", define_requests);
  titled("Results", define_results);
}

Result<> finish_bench_arguments(BenchArguments& a) {
  load::BenchOptions& b = a.bench;
  load::WorkloadOptions& w = b.workload;
  HEADROOM_TRY(w.endpoint, load::parse_endpoint(a.endpoint));
  HEADROOM_TRY(w.input_spread, load::parse_length_spread(a.input_lengths));
  HEADROOM_TRY(w.output_spread, load::parse_length_spread(a.output_lengths));
  HEADROOM_TRY(b.slo, load::parse_slo(a.slo));
  w.stream = !a.no_stream;
  w.force_length = !a.natural_length;
  HEADROOM_TRY_VOID(read_arrival(a));
  if (!a.preset.empty()) HEADROOM_TRY_VOID(load::apply_preset(a.preset, b));
  if (b.concurrency.empty() && b.rates.empty() && b.arrival.file.empty()) b.concurrency = {1};
  HEADROOM_TRY_VOID(read_key(b));
  if (w.think.seconds > 0 && w.turns == 1)
    return fail(ErrorCode::kInvalidArgument, "--think: needs --turns");
  if (b.api_key.find_first_of("\r\n") != std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "--api-key: has a line end in it");
  b.fresh_salt = !a.no_salt && a.salt.empty();
  w.salt = a.salt;
  HEADROOM_TRY_VOID(read_recipe(a.recipe, b.recipe));
  if (a.token_range.empty()) return {};
  char rest = 0;
  if (std::sscanf(a.token_range.c_str(), "%ld:%ld%c", &w.token_low, &w.token_high, &rest) != 2)
    return fail(ErrorCode::kInvalidArgument, "--token-range {}: not LOW:HIGH", a.token_range);
  b.token_range_given = true;
  return {};
}

}  // namespace headroom::apps
