// The replay line read back by the command line's own parser gives the options it was made from.
#include "headroom/bench_options.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "load/replay.h"
#include "load/slo.h"

namespace headroom::apps {
namespace {

load::BenchOptions parsed(const std::string& line) {
  auto words = load::split_command(line);
  EXPECT_EQ(words.at(0), "headroom");
  CLI::App app;
  CLI::App* sub = app.add_subcommand("bench", "");
  BenchArguments arguments;
  define_bench_options(*sub, arguments);
  std::vector<std::string> reversed(words.rbegin(), words.rend() - 1);
  try {
    app.parse(reversed);
  } catch (const CLI::Error& error) {
    ADD_FAILURE() << error.what() << "\n" << line;
  }
  const auto finished = finish_bench_arguments(arguments);
  EXPECT_TRUE(finished) << finished.error().message << "\n" << line;
  return arguments.bench;
}

/// Options at random, each of them away from its default about half the time.
load::BenchOptions random_options(base::Rng& rng) {
  const auto coin = [&] { return rng.below(2) == 0; };
  const auto text = [&] {
    constexpr std::string_view kPieces[] = {"a", " ", "'", "\"", "$x",       "é",
                                            "=", ";", ",", "\\", "{\"k\":1}"};
    std::string result = coin() ? "t" : "-";
    for (uint64_t i = rng.below(6); i > 0; --i) result += kPieces[rng.below(std::size(kPieces))];
    return result;
  };
  load::BenchOptions o;
  load::WorkloadOptions& w = o.workload;
  o.url = coin() ? "http://[::1]:8000/x" : "unix:/tmp/a b.sock";
  w.model = text();
  if (coin()) o.headers = {"X-A: " + text(), "X-B: 1"};
  if (coin()) o.insecure = true;
  if (!o.insecure && coin()) o.ca_file = "ca " + text();
  if (coin()) {
    o.concurrency = {static_cast<int64_t>(1 + rng.below(99))};
    if (coin()) o.stagger_s = 2.25;
  } else if (coin()) {
    o.rates = {coin() ? 0.1 + rng.uniform() : std::numeric_limits<double>::infinity()};
    o.arrival.kind = coin()   ? load::ArrivalKind::kConstant
                     : coin() ? load::ArrivalKind::kPoisson
                              : load::ArrivalKind::kGamma;
    if (o.arrival.kind == load::ArrivalKind::kGamma) o.arrival.burstiness = rng.uniform();
    if (coin()) {
      o.arrival.end_rate = 7.5;
      o.arrival.ramp_s = 60;
      o.arrival.ramp_shape = coin() ? load::RampShape::kLinear : load::RampShape::kExponential;
    }
  } else {
    o.arrival.kind = coin() ? load::ArrivalKind::kSchedule : load::ArrivalKind::kTrace;
    o.arrival.file = text();
    o.arrival.time_scale = 0.25;
    if (o.arrival.kind == load::ArrivalKind::kTrace) w.dataset = "mooncake:" + o.arrival.file;
  }
  if (coin()) o.max_in_flight = o.concurrency.empty() ? 17 : o.max_in_flight;
  if (coin())
    o.requests = 1 + static_cast<int64_t>(rng.below(1000));
  else
    o.duration_s = 0.5 + rng.uniform();
  if (coin()) o.warmup = static_cast<int64_t>(rng.below(9));
  o.timeout_s = 1 + rng.uniform();
  if (coin()) o.point_timeout_s = 33.5;
  if (coin()) o.threads = 3;
  if (coin()) o.sources = {"127.0.0.1", "127.0.0.2"};
  if (coin()) o.retries = 2;
  if (coin()) o.pace_ms = 0.5;
  if (o.arrival.kind != load::ArrivalKind::kTrace && coin()) w.dataset = "jsonl:" + text();
  w.input_tokens = 1 + static_cast<int64_t>(rng.below(9000));
  w.output_tokens = 1 + static_cast<int64_t>(rng.below(900));
  if (coin()) w.input_spread = {load::LengthSpread::Kind::kUniform, 0.8};
  if (coin()) w.output_spread = {load::LengthSpread::Kind::kNormal, 0.2};
  if (coin()) w.prefix_tokens = 9, w.prefixes = 3;
  if (coin()) w.turns = 4, w.think = {1.5, coin()};
  if (coin()) w.endpoint = load::Endpoint::kChat;
  w.stream = coin();
  w.force_length = coin();
  w.temperature = coin() ? 0 : 0.7;
  if (coin()) w.extra_body = R"({"k":"it's"})";
  w.seed = rng.below(1000);
  o.fresh_salt = coin();
  if (!o.fresh_salt && coin()) w.salt = text();
  if (coin()) w.tokenizer = "dir " + text();
  if (coin()) o.token_range_given = true, w.token_low = 5, w.token_high = 77;
  if (coin()) o.first_index = 12345;
  if (coin()) o.label = text();
  if (coin()) o.repeat = 3;
  if (coin()) o.recipe = {{"tp", "8"}, {"command", text()}};
  if (coin()) o.hardware = "h200", o.devices = 8;
  if (coin()) o.slo.ttft_ms = 200.5, o.slo.e2e_ms = 4000;
  o.max_failures_percent = coin() ? 5 : 0.5;
  o.force_percentiles = coin();
  return o;
}

TEST(Replay, the_line_is_read_back_to_the_same_options) {
  base::Rng rng(17);
  for (int round = 0; round < 400; ++round) {
    const load::BenchOptions o = random_options(rng);
    const std::string line = load::replay_command(o);
    ASSERT_EQ(line.find('\n'), std::string::npos);
    const load::BenchOptions read = parsed(line);
    EXPECT_EQ(load::replay_command(read), line);
    EXPECT_EQ(read.url, o.url);
    EXPECT_EQ(read.headers, o.headers) << line;
    EXPECT_TRUE(read.workload == o.workload) << line;
    EXPECT_TRUE(read.arrival == o.arrival) << line;
    EXPECT_EQ(read.concurrency, o.concurrency);
    EXPECT_EQ(read.rates, o.rates);
    EXPECT_EQ(read.requests, o.requests);
    EXPECT_EQ(read.duration_s, o.duration_s);
    EXPECT_EQ(read.warmup, o.warmup);
    EXPECT_EQ(read.first_index, o.first_index);
    EXPECT_EQ(read.fresh_salt, o.fresh_salt);
    EXPECT_EQ(read.recipe, o.recipe) << line;
    EXPECT_EQ(read.ca_file, o.ca_file);
    EXPECT_EQ(read.insecure, o.insecure);
    EXPECT_EQ(read.sources, o.sources);
    EXPECT_EQ(read.max_in_flight, o.max_in_flight);
    EXPECT_EQ(read.timeout_s, o.timeout_s);
    EXPECT_EQ(load::slo_text(read.slo), load::slo_text(o.slo));
    EXPECT_EQ(read.max_failures_percent, o.max_failures_percent);
    EXPECT_EQ(read.devices, o.devices);
    EXPECT_EQ(read.label, o.label);
  }
}

}  // namespace
}  // namespace headroom::apps
