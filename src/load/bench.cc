// Running a list of concurrencies.
#include "load/bench.h"

#include <algorithm>
#include <charconv>

#include "base/clock.h"
#include "base/progress.h"

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

/// Finds out how many tokens a random word is for this server, so that text prompts come near the
/// length that was asked for.
void fit_words(const http::Url& url, const std::vector<std::string>& headers,
               WorkloadOptions& workload) {
  constexpr int64_t kWords = 256;
  WorkloadOptions probe = workload;
  probe.input_tokens = kWords;
  probe.words_per_token = 1;
  probe.output_tokens = 1;
  probe.salt = workload.salt + "probe";
  probe.input_spread = {};
  probe.prefix_tokens = 0;
  probe.turns = 1;
  probe.stream = false;
  const auto prompts = Workload::create(probe);
  if (!prompts) return;
  const std::string body = prompts->conversation(0)->next("")->body;
  const auto per_word =
      measure_tokens_per_word(url, endpoint_path(workload.endpoint), headers, body, kWords);
  if (per_word) workload.words_per_token = 1 / *per_word;
}

struct Prepared {
  http::Url url;
  RunFacts facts;
  std::optional<Workload> workload;
};

Result<Prepared> prepare(const BenchOptions& options) {
  Prepared p;
  HEADROOM_TRY(p.url, http::parse_server_url(options.url));
  for (const int64_t c : options.concurrency)
    if (c < 1 || c > 100'000)
      return fail(ErrorCode::kInvalidArgument, "concurrency {} is not 1 to 100000", c);
  for (const double rate : options.rates)
    if (!(rate >= 1e-4 && rate <= 1e6))
      return fail(ErrorCode::kInvalidArgument, "rate {} is not 0.0001 to 1000000 requests/s", rate);
  constexpr double kMostSeconds = 1e6;
  for (const auto& [name, seconds] : {std::pair("duration", options.duration_s),
                                      std::pair("timeout", std::optional(options.timeout_s))})
    if (seconds && !(*seconds > 0 && *seconds <= kMostSeconds))
      return fail(ErrorCode::kInvalidArgument, "{} {} s is not above 0 and at most {}", name,
                  *seconds, kMostSeconds);
  constexpr int64_t kMostRequests = 1'000'000'000;
  if (options.requests && (*options.requests < 1 || *options.requests > kMostRequests))
    return fail(ErrorCode::kInvalidArgument, "requests {} is not 1 to {}", *options.requests,
                kMostRequests);
  if (options.warmup && (*options.warmup < 0 || *options.warmup > kMostRequests))
    return fail(ErrorCode::kInvalidArgument, "warmup {} is not 0 to {}", *options.warmup,
                kMostRequests);
  if (options.devices && *options.devices < 1)
    return fail(ErrorCode::kInvalidArgument, "devices {} must be at least 1", *options.devices);
  p.facts.run = fmt::format("{}-{}", base::utc_text(base::unix_ns()), fresh_salt());
  p.facts.label = options.label;
  p.facts.workload = options.workload;
  HEADROOM_TRY(p.workload, Workload::create(options.workload));  // before any word to the server
  HEADROOM_TRY(p.facts.server, ask_server(p.url, options.headers, options.workload.model));
  HEADROOM_TRY_VOID(apply_recipe(options.recipe, p.facts.server.server));
  if (!options.hardware.empty()) {
    p.facts.server.hardware = {};
    p.facts.server.hardware.name = options.hardware;
  }
  if (options.devices) {
    p.facts.server.hardware.devices = options.devices;
    p.facts.server.hardware.devices_source = results::kDevicesStated;
  }
  if (p.facts.server.server.recipe_fingerprint.empty())
    p.facts.server.server.recipe_fingerprint = fingerprint(p.facts);
  WorkloadOptions& workload = p.facts.workload;
  workload.ask_token_ids = p.facts.server.server.framework == "headroom";
  if (p.facts.server.vocabulary && !options.token_range_given)
    fit_token_range(*p.facts.server.vocabulary, workload);
  if (workload.dataset == "text") fit_words(p.url, options.headers, workload);
  HEADROOM_TRY(p.workload, Workload::create(workload));
  p.facts.dataset = p.workload->dataset_name();
  p.facts.distinct_prompts = p.workload->distinct_prompts();
  p.facts.input_lengths = p.workload->input_lengths();
  p.facts.output_lengths = p.workload->output_lengths();
  return p;
}

/// A bar over tokens (or over time, with a duration), with what the server delivers right now.
class PointBar {
 public:
  PointBar(const PointOptions& point, int64_t output_tokens, bool quiet)
      : duration_ns_(point.duration_ns),
        wanted_(point.warmup + point.requests.value_or(0)),
        bar_(point.arrival ? fmt::format("{:>6.3g} req/s", point.arrival->rate)
                           : fmt::format("{:>4} streams", point.concurrency),
             duration_ns_ ? *duration_ns_ / 1'000'000 : wanted_ * output_tokens,
             duration_ns_ ? "ms" : "tokens", quiet) {}

  void update(const PointProgress& progress) {
    const int64_t now = base::now_ns();
    if (now - rated_at_ > 500'000'000) {
      rate_ = static_cast<double>(progress.tokens - rated_tokens_) * 1e9 /
              static_cast<double>(now - rated_at_);
      rated_at_ = now;
      rated_tokens_ = progress.tokens;
    }
    std::string note = duration_ns_ ? fmt::format("{} requests", progress.ended)
                                    : fmt::format("{}/{} requests", progress.ended, wanted_);
    if (progress.failed > 0) note += fmt::format(", {} failed", progress.failed);
    if (rate_ > 0) note += fmt::format(", {:.0f} tok/s now", rate_);
    bar_.note(std::move(note));
    bar_.update(duration_ns_ ? (now - started_) / 1'000'000 : progress.tokens);
  }
  void finish() { bar_.finish(); }

 private:
  std::optional<int64_t> duration_ns_;
  int64_t wanted_;
  int64_t started_ = base::now_ns(), rated_at_ = started_, rated_tokens_ = 0;
  double rate_ = 0;
  base::Progress bar_;
};

// Connections of a constant-rate point: as many requests may be in flight before they have to wait.
constexpr int64_t kRateStreams = 64;

/// One entry of the two lists: users of a closed loop, or a rate.
struct Load {
  int64_t streams = 1;
  std::optional<double> rate;
};

std::vector<Load> loads_of(const BenchOptions& options) {
  std::vector<Load> loads;
  for (const int64_t streams : options.concurrency) loads.push_back({streams, std::nullopt});
  for (const double rate : options.rates) loads.push_back({kRateStreams, rate});
  return loads;
}

PointOptions point_options(const BenchOptions& options, const Prepared& prepared, const Load& load,
                           uint64_t first_index) {
  PointOptions point;
  point.url = prepared.url;
  point.headers = options.headers;
  point.concurrency = load.streams;
  if (load.rate) {
    point.arrival = options.arrival;
    point.arrival->rate = *load.rate;
  }
  const int64_t users = load.rate ? 1 : load.streams;
  if (options.duration_s)
    point.duration_ns = static_cast<int64_t>(*options.duration_s * 1e9);
  else
    point.requests = options.requests.value_or(std::max<int64_t>(3 * users, 12));
  point.warmup = options.warmup.value_or(users);
  point.timeout_ns = static_cast<int64_t>(options.timeout_s * 1e9);
  point.first_index = first_index;
  return point;
}

}  // namespace

BenchOutcome run_bench(const BenchOptions& options, results::Store* store,
                       const std::function<void(const BenchPoint&)>& on_point,
                       const std::atomic<bool>* stop) {
  BenchOutcome outcome;
  auto prepared = prepare(options);
  if (!prepared) {
    outcome.error = prepared.error();
    return outcome;
  }
  outcome.run = prepared->facts.run;
  uint64_t next_index = 0;
  for (const Load& load : loads_of(options)) {
    const PointOptions point = point_options(options, *prepared, load, next_index);
    PointBar bar(point, options.workload.output_tokens, options.quiet);
    PointControl control;
    control.stop = stop;
    control.progress = [&](const PointProgress& progress) { bar.update(progress); };
    const auto run = run_point(point, *prepared->workload, control);
    bar.finish();
    if (!run) {
      outcome.error = run.error();
      return outcome;
    }
    next_index = run->next_index;
    BenchPoint result;
    result.record = summarize(*run, prepared->facts);
    result.record.repeat = options.repeat;
    result.id = results::record_id(result.record);
    // Measured is measured: a store that refuses the point must not make it vanish.
    if (store != nullptr)
      if (const auto added = store->add(result.record, "headroom bench"); !added)
        outcome.error = added.error();
    if (store != nullptr && !outcome.error) ++outcome.stored;
    outcome.points.push_back(std::move(result));
    if (on_point) on_point(outcome.points.back());
    if (outcome.error) return outcome;
  }
  return outcome;
}

}  // namespace headroom::load
