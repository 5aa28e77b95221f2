// Checks, questions to the server, and the list of points.
#include "load/bench_prepare.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>

#include "base/clock.h"
#include "environment/environment.h"
#include "load/dataset/dataset.h"
#include "load/text_lines.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

Result<> apply_recipe(const std::map<std::string, std::string>& recipe, results::Server& server) {
  const std::map<std::string, std::string*> texts = {
      {"framework", &server.framework}, {"version", &server.framework_version},
      {"precision", &server.precision}, {"kv", &server.kv},
      {"attention", &server.attention}, {"image", &server.image},
      {"command", &server.command},     {"speculative", &server.speculative},
      {"recipe", &server.recipe},       {"checkpoint_digest", &server.checkpoint_digest}};
  const std::map<std::string, std::optional<int64_t>*> numbers = {
      {"tp", &server.layout.tp}, {"pp", &server.layout.pp}, {"ep", &server.layout.ep}};
  for (const auto& [key, value] : recipe) {
    if (const auto text = texts.find(key); text != texts.end()) {
      *text->second = value;
    } else if (const auto number = numbers.find(key); number != numbers.end()) {
      int64_t parsed = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), parsed);
      if (error != std::errc{} || end != value.data() + value.size() || parsed < 1)
        return fail(ErrorCode::kInvalidArgument, "--recipe {}={}: not a positive number", key,
                    value);
      *number->second = parsed;
    } else {
      server.flags[key] = value;
    }
  }
  return {};
}

/// The digest of everything that makes this server this server: the id of a record without figures.
std::string fingerprint(const RunFacts& facts) {
  results::Record record;
  record.server = facts.server.server;
  record.hardware = facts.server.hardware;
  return results::record_id(record);
}

/// Ids that are ordinary tokens with great likelihood: special ones sit at either end.
void fit_token_range(int64_t vocabulary, WorkloadOptions& workload) {
  workload.token_low = std::min<int64_t>(1000, vocabulary / 8);
  workload.token_high = vocabulary - vocabulary / 32;
}

/// Finds out how many tokens a random word is for this server, and how many its template adds, so
/// that text prompts come near the length that was asked for.
void fit_words(const http::Url& url, const std::vector<std::string>& headers,
               const std::atomic<bool>* stop, WorkloadOptions& workload) {
  WorkloadOptions probe = workload;
  probe.words_per_token = 1;
  probe.template_tokens = 0;
  probe.output_tokens = 1;
  probe.salt = workload.salt + "probe";
  probe.input_spread = probe.output_spread = {};
  probe.prefix_tokens = 0;
  probe.turns = 1;
  probe.stream = false;
  constexpr int64_t kFew = 64, kMany = 256;
  std::optional<int64_t> counted[2];
  for (int i = 0; i < 2; ++i) {
    probe.input_tokens = i == 0 ? kFew : kMany;
    const auto prompts = Workload::create(probe);
    if (!prompts) return;
    counted[i] = count_prompt_tokens(url, endpoint_path(workload.endpoint), headers,
                                     prompts->conversation(0)->next("")->body, stop);
    if (!counted[i]) return;
  }
  const double per_word =
      static_cast<double>(*counted[1] - *counted[0]) / static_cast<double>(kMany - kFew);
  if (per_word < 0.05) return;
  workload.words_per_token = 1 / per_word;
  workload.template_tokens =
      std::max(0.0, static_cast<double>(*counted[0]) - per_word * static_cast<double>(kFew));
}

Result<> check_range(std::string_view name, const std::optional<double>& value, double least,
                     double most, bool least_allowed, std::string_view unit) {
  if (!value || (*value <= most && (least_allowed ? *value >= least : *value > least))) return {};
  return fail(ErrorCode::kInvalidArgument, "{} {}{} is not {} {} and at most {}", name, *value,
              unit, least_allowed ? "at least" : "above", least, most);
}

Result<> check_numbers(const BenchOptions& o) {
  constexpr int64_t kMostRequests = 1'000'000'000, kMostStreams = 100'000;
  for (const int64_t c : o.concurrency)
    if (c < 1 || c > kMostStreams)
      return fail(ErrorCode::kInvalidArgument, "concurrency {} is not 1 to {}", c, kMostStreams);
  if (o.max_in_flight < 1 || o.max_in_flight > kMostStreams)
    return fail(ErrorCode::kInvalidArgument, "max-in-flight {} is not 1 to {}", o.max_in_flight,
                kMostStreams);
  constexpr double kMostSeconds = 1e6;
  HEADROOM_TRY_VOID(check_range("duration", o.duration_s, 0, kMostSeconds, false, " s"));
  HEADROOM_TRY_VOID(check_range("timeout", o.timeout_s, 0, kMostSeconds, false, " s"));
  HEADROOM_TRY_VOID(check_range("point timeout", o.point_timeout_s, 0, kMostSeconds, true, " s"));
  HEADROOM_TRY_VOID(check_range("stagger", o.stagger_s, 0, kMostSeconds, true, " s"));
  HEADROOM_TRY_VOID(check_range("pace", o.pace_ms, 0, 1e6, true, " ms"));
  if (o.threads < 0 || o.threads > 1024)
    return fail(ErrorCode::kInvalidArgument, "threads {} is not 0 to 1024", o.threads);
  HEADROOM_TRY_VOID(check_range("max-failures", o.max_failures_percent, 0, 100, true, " %"));
  for (const auto& [name, value, least] :
       {std::tuple("requests", o.requests, int64_t{1}), std::tuple("warmup", o.warmup, int64_t{0}),
        std::tuple("requests per stream", o.requests_per_stream, int64_t{1}),
        std::tuple("warmup per stream", o.warmup_per_stream, int64_t{0})})
    if (value && (*value < least || *value > kMostRequests))
      return fail(ErrorCode::kInvalidArgument, "{} {} is not {} to {}", name, *value, least,
                  kMostRequests);
  constexpr int64_t kMostDevices = 1'000'000;
  if (o.devices && (*o.devices < 1 || *o.devices > kMostDevices))
    return fail(ErrorCode::kInvalidArgument, "devices {} is not 1 to {}", *o.devices, kMostDevices);
  if (o.repeat && (*o.repeat < 0 || *o.repeat > kMostRequests))
    return fail(ErrorCode::kInvalidArgument, "repeat {} is not 0 to {}", *o.repeat, kMostRequests);
  constexpr uint64_t kMostIndex = uint64_t{1} << 62;  // counts up from there, within 64 bits
  if (o.first_index > kMostIndex)
    return fail(ErrorCode::kInvalidArgument, "first index {} is not 0 to {}", o.first_index,
                kMostIndex);
  if (o.ca_file.empty()) return {};
  return o.insecure ? fail(ErrorCode::kInvalidArgument,
                           "--ca-file {} and --insecure contradict each other", o.ca_file)
                    : Result<>();
}

/// What would make another request of ours, or none.
Result<> check_headers(const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    const std::string name = header.substr(0, header.find(':'));
    const auto ordinary = [](unsigned char c) {
      return std::isalnum(c) != 0 ||
             std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) !=
                 std::string_view::npos;
    };
    const auto control = [](unsigned char c) { return (c < ' ' && c != '\t') || c == 127; };
    if (name.empty() || name.size() == header.size() || !std::ranges::all_of(name, ordinary) ||
        std::ranges::any_of(header, control))
      return fail(ErrorCode::kInvalidArgument, "header {}: not \"Name: value\"", shortened(name));
    for (const char* ours : {"content-length", "transfer-encoding", "connection", "host"})
      if (strcasecmp(name.c_str(), ours) == 0)
        return fail(ErrorCode::kInvalidArgument, "header {}: the client sets it itself", name);
  }
  return {};
}

/// What the requests' form rests on, from the server or from a tokenizer.
void fit_workload(const BenchOptions& options, Prepared& p, const std::atomic<bool>* stop) {
  WorkloadOptions& workload = p.facts.workload;
  workload.ask_token_ids = p.facts.server.server.framework == "headroom";
  const auto& vocabulary = p.facts.server.vocabulary;
  if (!options.token_range_given && !workload.tokenizer.empty()) {
    workload.token_low = 0;  // the tokenizer tells the special ones
    workload.token_high = vocabulary.value_or(INT32_MAX);
  } else if (!options.token_range_given && vocabulary) {
    fit_token_range(*vocabulary, workload);
  }
  const auto choice = choose_dataset(workload.dataset);
  const bool words =
      choice && (choice->kind->name == "text" ||
                 (choice->kind->name == "mooncake" && workload.endpoint == Endpoint::kChat));
  const bool exact = !workload.tokenizer.empty() && workload.endpoint != Endpoint::kChat;
  if (words && !exact) fit_words(p.url, p.headers, stop, workload);
}

}  // namespace

Result<Prepared> prepare_bench(const BenchOptions& options, const std::atomic<bool>* stop) {
  Prepared p;
  HEADROOM_TRY(p.url, http::parse_server_url(options.url));
  p.url.ca_file = options.ca_file;
  p.url.insecure = options.insecure;
  HEADROOM_TRY_VOID(check_numbers(options));
  HEADROOM_TRY_VOID(check_headers(options.headers));
  for (const Load& load : loads_of(options))
    if (load.arrival) {
      HEADROOM_TRY_VOID(make_schedule(*load.arrival));
    }
  p.headers = options.headers;
  if (!options.api_key.empty()) p.headers.push_back("Authorization: Bearer " + options.api_key);
  RunFacts& facts = p.facts;
  facts.run = options.run.empty()
                  ? fmt::format("{}-{}", base::utc_text(base::unix_ns()), fresh_salt())
                  : options.run;
  facts.label = options.label;
  facts.workload = options.workload;
  facts.slo = options.slo;
  if (options.fresh_salt) facts.workload.salt = fresh_salt();
  // What is wrong with it is told before the server is asked.
  WorkloadOptions first = facts.workload;
  const auto choice = choose_dataset(first.dataset);
  const bool fitted = choice && choice->kind->fitted;
  if (fitted) first.tokenizer.clear();  // it is loaded once, below
  HEADROOM_TRY(p.workload, Workload::create(first));
  facts.workload.output_tokens = p.workload->options().output_tokens;
  facts.workload.output_spread = p.workload->options().output_spread;
  if (options.server_facts) {
    p.server = options.server_facts;
  } else {
    HEADROOM_TRY(ServerFacts told, ask_server(p.url, p.headers, options.workload.model, stop));
    p.server = std::make_shared<ServerFacts>(std::move(told));
  }
  facts.server = *p.server;
  results::Server& server = facts.server.server;
  HEADROOM_TRY_VOID(apply_recipe(options.recipe, server));
  for (const auto& [name, value] : options.server_environment) server.environment[name] = value;
  if (!options.hardware.empty()) {
    facts.server.hardware = {};
    facts.server.hardware.name = options.hardware;
  }
  if (options.devices) {
    facts.server.hardware.devices = options.devices;
    facts.server.hardware.devices_source = results::kDevicesStated;
  }
  if (server.recipe_fingerprint.empty()) server.recipe_fingerprint = fingerprint(facts);
  facts.client_environment = environment::describe();
  fit_workload(options, p, stop);
  if (fitted) {
    HEADROOM_TRY(p.workload, Workload::create(facts.workload));
  } else {
    p.workload->ask_token_ids(facts.workload.ask_token_ids);  // a large file is read once
  }
  facts.dataset = p.workload->dataset_name();
  facts.distinct_prompts = p.workload->distinct_prompts();
  facts.shares_prefixes = p.workload->shares_prefixes();
  facts.input_lengths = p.workload->input_lengths();
  facts.output_lengths = p.workload->output_lengths();
  return p;
}

std::vector<Load> loads_of(const BenchOptions& options) {
  std::vector<Load> loads;
  for (const int64_t streams : options.concurrency) loads.push_back({streams, std::nullopt});
  const auto open = [&](double rate) {
    Load load{options.max_in_flight, options.arrival};
    load.arrival->rate = rate;
    load.arrival->seed = options.workload.seed;
    loads.push_back(std::move(load));
  };
  if (options.arrival.kind == ArrivalKind::kSchedule || options.arrival.kind == ArrivalKind::kTrace)
    open(1);
  else
    for (const double rate : options.rates) open(rate);
  return loads;
}

std::string load_label(const Load& load) {
  if (!load.arrival) return fmt::format("{} stream{}", load.streams, load.streams == 1 ? "" : "s");
  const std::string name = arrival_name(*load.arrival);
  if (name == "schedule" || name == "trace" || name == "burst") return name;
  const ArrivalOptions& a = *load.arrival;
  return a.end_rate ? fmt::format("{:.4g}-{:.4g} req/s", a.rate, *a.end_rate)
                    : fmt::format("{:.4g} req/s", a.rate);
}

PointOptions point_options(const BenchOptions& options, const Prepared& prepared, const Load& load,
                           uint64_t first_index) {
  PointOptions point;
  point.url = prepared.url;
  point.headers = prepared.headers;
  point.concurrency = load.streams;
  point.arrival = load.arrival;
  point.stagger_ns = load.arrival ? 0 : static_cast<int64_t>(options.stagger_s * 1e9);
  const int64_t users = load.arrival ? 1 : load.streams;
  const bool file = load.arrival && (load.arrival->kind == ArrivalKind::kSchedule ||
                                     load.arrival->kind == ArrivalKind::kTrace);
  point.warmup = options.warmup              ? *options.warmup
                 : options.warmup_per_stream ? *options.warmup_per_stream * users
                 : file                      ? 0
                                             : users;
  constexpr int64_t kFewest = 12;
  if (options.duration_s)
    point.duration_ns = static_cast<int64_t>(*options.duration_s * 1e9);
  else if (options.requests)
    point.requests = options.requests;
  else if (options.requests_per_stream)
    point.requests = *options.requests_per_stream * users;
  else if (file)
    point.requests = std::max<int64_t>(
        1,
        static_cast<int64_t>(read_schedule(*load.arrival).value_or(std::vector<int64_t>()).size()) -
            point.warmup);
  else
    point.requests = std::max(3 * users * options.workload.turns, kFewest);
  point.timeout_ns = static_cast<int64_t>(options.timeout_s * 1e9);
  point.deadline_ns = static_cast<int64_t>(options.point_timeout_s * 1e9);
  point.first_index = first_index;
  point.threads = options.threads;
  point.sources = options.sources;
  point.retries = options.retries;
  point.keep_failed = options.keep_failed;
  point.pace_ns = static_cast<int64_t>(options.pace_ms * 1e6);
  return point;
}

Result<> apply_preset(std::string_view name, BenchOptions& o) {
  if (name != "inferencex")
    return fail(ErrorCode::kInvalidArgument, "preset {} is not inferencex", name);
  const LengthSpread spread{LengthSpread::Kind::kUniform, 0.8};
  if (o.workload.input_spread == LengthSpread{}) o.workload.input_spread = spread;
  if (o.workload.output_spread == LengthSpread{}) o.workload.output_spread = spread;
  if (!o.requests && !o.duration_s && !o.requests_per_stream) o.requests_per_stream = 10;
  if (!o.warmup && !o.warmup_per_stream) o.warmup_per_stream = 2;
  return {};
}

}  // namespace headroom::load
