// The recipe's `workload` section: prompts, arrivals, service levels, and presets of others'
// habits.
#include <cstdlib>

#include "sweep/recipe_parts.h"

namespace headroom::sweep {

using base::Result;

namespace {

struct Preset {
  const char* name;
  int64_t input, output;
};
// InferenceX's fixed lengths: lengths uniform in [0.8 L, L], 10 × concurrency requests, 2 ×
// warm-ups.
constexpr Preset kPresets[] = {{"inferencex-1k1k", 1024, 1024},
                               {"inferencex-1k8k", 1024, 8192},
                               {"inferencex-8k1k", 8192, 1024}};

/// Passes a library's error on with the line of the value it is about.
template <typename T>
Result<T> located(const YamlNode& node, Result<T> result) {
  if (result) return result;
  return tl::unexpected(node.error(result.error().message));
}

Result<> read_preset(const YamlNode& node, Recipe& recipe) {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  HEADROOM_TRY(const std::string name, node.one_of(names));
  for (const Preset& preset : kPresets) {
    if (name != preset.name) continue;
    load::WorkloadOptions& w = recipe.bench.workload;
    w.input_tokens = preset.input;
    w.output_tokens = preset.output;
    w.input_spread = w.output_spread = {load::LengthSpread::Kind::kUniform, 0.8};
    recipe.counts = {10, 2};
  }
  return {};
}

Result<> read_lengths(const YamlMap& map, Recipe& recipe) {
  load::WorkloadOptions& w = recipe.bench.workload;
  HEADROOM_TRY(w.input_tokens, map.integer_or("input", w.input_tokens, 1, 100'000'000));
  HEADROOM_TRY(w.output_tokens, map.integer_or("output", w.output_tokens, 1, 100'000'000));
  for (const auto& [key, spread] :
       {std::pair("input_lengths", &w.input_spread), std::pair("output_lengths", &w.output_spread)})
    if (const auto node = map.find(key)) {
      HEADROOM_TRY(const std::string text, node->text());
      HEADROOM_TRY(*spread, located(*node, load::parse_length_spread(text)));
    }
  HEADROOM_TRY(w.prefix_tokens, map.integer_or("prefix", 0, 0, 100'000'000));
  HEADROOM_TRY(w.prefixes, map.integer_or("prefixes", 1, 1, 1'000'000));
  HEADROOM_TRY(w.turns, map.integer_or("turns", 1, 1, 10'000));
  HEADROOM_TRY(w.think.seconds, map.number_or("think", 0, 0, 1e6));
  return {};
}

Result<> read_arrivals(const YamlNode& node, Recipe& recipe) {
  load::ArrivalOptions& arrival = recipe.bench.arrival;
  if (node.is_scalar()) {
    HEADROOM_TRY(const std::string text, node.text());
    HEADROOM_TRY(arrival.kind, located(node, load::parse_arrival_kind(text)));
    return {};
  }
  HEADROOM_TRY(const YamlMap map,
               node.map({"kind", "burstiness", "end_rate", "ramp", "file", "time_scale"}));
  HEADROOM_TRY(const YamlNode kind, map.need("kind"));
  HEADROOM_TRY(const std::string text, kind.text());
  HEADROOM_TRY(arrival.kind, located(kind, load::parse_arrival_kind(text)));
  HEADROOM_TRY(arrival.burstiness, map.number_or("burstiness", 1, 1e-6, 1e6));
  HEADROOM_TRY(arrival.end_rate, map.maybe_number("end_rate", 0, 1e6));
  if (const auto ramp = map.find("ramp")) {
    HEADROOM_TRY(arrival.ramp_s, parse_duration(*ramp));
  }
  HEADROOM_TRY(const std::string file, map.text_or("file", ""));
  arrival.file = beside(recipe, file);
  HEADROOM_TRY(arrival.time_scale, map.number_or("time_scale", 1, 1e-6, 1e6));
  return {};
}

Result<> read_counts(const YamlMap& map, Recipe& recipe) {
  HEADROOM_TRY(recipe.bench.requests, map.maybe_integer("requests", 1, 1'000'000'000));
  HEADROOM_TRY(recipe.bench.warmup, map.maybe_integer("warmup", 0, 1'000'000'000));
  HEADROOM_TRY(const auto per, map.maybe_number("requests_per_stream", 0.01, 1e6));
  HEADROOM_TRY(const auto warm, map.maybe_number("warmup_per_stream", 0, 1e6));
  if (per) recipe.counts.per_stream = per;
  if (warm) recipe.counts.warmup_per_stream = warm;
  if (const auto duration = map.find("duration")) {
    HEADROOM_TRY(recipe.bench.duration_s, parse_duration(*duration));
  }
  const int ways =
      (recipe.bench.requests ? 1 : 0) + (per ? 1 : 0) + (recipe.bench.duration_s ? 1 : 0);
  if (ways > 1)
    return tl::unexpected(
        map.node().error("requests, requests_per_stream and duration exclude each other"));
  if (recipe.bench.requests || recipe.bench.duration_s) recipe.counts.per_stream.reset();
  if (recipe.bench.warmup) recipe.counts.warmup_per_stream.reset();
  return {};
}

Result<> read_slo(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"ttft_ms", "tpot_ms", "e2e_ms"}));
  HEADROOM_TRY(recipe.bench.slo.ttft_ms, map.maybe_number("ttft_ms", 0));
  HEADROOM_TRY(recipe.bench.slo.tpot_ms, map.maybe_number("tpot_ms", 0));
  HEADROOM_TRY(recipe.bench.slo.e2e_ms, map.maybe_number("e2e_ms", 0));
  return {};
}

}  // namespace

Result<> read_workload(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map, node.map({"preset",
                                            "dataset",
                                            "input",
                                            "output",
                                            "input_lengths",
                                            "output_lengths",
                                            "prefix",
                                            "prefixes",
                                            "turns",
                                            "think",
                                            "endpoint",
                                            "stream",
                                            "force_length",
                                            "temperature",
                                            "body",
                                            "tokenizer",
                                            "seed",
                                            "salt",
                                            "token_range",
                                            "arrivals",
                                            "max_in_flight",
                                            "stagger",
                                            "requests",
                                            "requests_per_stream",
                                            "duration",
                                            "warmup",
                                            "warmup_per_stream",
                                            "slo",
                                            "max_failures_percent",
                                            "headers",
                                            "api_key_env"}));
  load::WorkloadOptions& w = recipe.bench.workload;
  if (const auto preset = map.find("preset")) HEADROOM_TRY_VOID(read_preset(*preset, recipe));
  HEADROOM_TRY(w.dataset, map.text_or("dataset", w.dataset));
  if (w.dataset.find(':') == std::string::npos) w.dataset = beside(recipe, w.dataset);
  HEADROOM_TRY_VOID(read_lengths(map, recipe));
  if (const auto endpoint = map.find("endpoint")) {
    HEADROOM_TRY(const std::string text, endpoint->text());
    HEADROOM_TRY(w.endpoint, located(*endpoint, load::parse_endpoint(text)));
  }
  HEADROOM_TRY(w.stream, map.boolean_or("stream", true));
  HEADROOM_TRY(w.force_length, map.boolean_or("force_length", true));
  HEADROOM_TRY(w.temperature, map.number_or("temperature", 0, 0, 100));
  HEADROOM_TRY(w.extra_body, map.text_or("body", ""));
  HEADROOM_TRY(const std::string tokenizer, map.text_or("tokenizer", ""));
  w.tokenizer = beside(recipe, tokenizer);
  HEADROOM_TRY(const int64_t seed, map.integer_or("seed", 0, 0));
  w.seed = static_cast<uint64_t>(seed);
  HEADROOM_TRY(recipe.salted, map.boolean_or("salt", true));
  if (const auto range = map.find("token_range")) {
    HEADROOM_TRY(const auto ends, range->list());
    if (ends.size() != 2) return tl::unexpected(range->error("[LOW, HIGH] of token ids is due"));
    HEADROOM_TRY(w.token_low, ends[0].integer(0));
    HEADROOM_TRY(w.token_high, ends[1].integer(w.token_low + 1));
    recipe.bench.token_range_given = true;
  }
  if (const auto arrivals = map.find("arrivals")) {
    HEADROOM_TRY_VOID(read_arrivals(*arrivals, recipe));
  }
  HEADROOM_TRY(recipe.bench.max_in_flight,
               map.integer_or("max_in_flight", recipe.bench.max_in_flight, 1, 100'000));
  if (const auto stagger = map.find("stagger")) {
    HEADROOM_TRY(recipe.bench.stagger_s, parse_duration(*stagger));
  }
  HEADROOM_TRY_VOID(read_counts(map, recipe));
  if (const auto slo = map.find("slo")) HEADROOM_TRY_VOID(read_slo(*slo, recipe));
  HEADROOM_TRY(recipe.bench.max_failures_percent, map.number_or("max_failures_percent", 5, 0, 100));
  HEADROOM_TRY(recipe.bench.headers, map.texts("headers"));
  HEADROOM_TRY(recipe.bench.api_key_env, map.text_or("api_key_env", ""));
  if (!recipe.bench.api_key_env.empty())
    if (const char* key = std::getenv(recipe.bench.api_key_env.c_str())) recipe.bench.api_key = key;
  recipe.workload_text = node.canonical();
  return {};
}

}  // namespace headroom::sweep
