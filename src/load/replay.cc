// Spelling options out.
#include "load/replay.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "environment/environment.h"
#include "load/slo.h"

namespace headroom::load {

namespace {

/// As a POSIX shell reads it back.
std::string shell_word(std::string_view text) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./:=,+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

/// Commas part the entries of a recipe.
std::string escaped(const std::string& value) {
  std::string result;
  for (const char c : value) {
    if (c == ',' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

class Line {
 public:
  void flag(std::string_view name, bool on) {
    if (on) text_ += fmt::format(" {}", name);
  }
  void text(std::string_view name, const std::string& value) {
    // A value that begins like an option must not be taken for one.
    const char between = value.starts_with('-') ? '=' : ' ';
    if (!value.empty()) text_ += fmt::format(" {}{}{}", name, between, shell_word(value));
  }
  template <typename T>
  void number(std::string_view name, const T& value) {
    text_ += fmt::format(" {} {}", name, value);
  }
  template <typename T>
  void maybe(std::string_view name, const std::optional<T>& value) {
    if (value) number(name, *value);
  }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "headroom bench";
};

/// A header whose value must not lie about in a store.
void add_header(Line& line, const std::string& header) {
  const size_t colon = std::min(header.find(':'), header.size());
  const std::string name = header.substr(0, colon);
  if (!environment::is_secret(name, "")) return line.text("--header", header);
  std::string variable;
  for (const char c : name)
    variable += std::isalnum(static_cast<unsigned char>(c)) != 0
                    ? static_cast<char>(std::toupper(static_cast<unsigned char>(c)))
                    : '_';
  line.raw(fmt::format(" --header \"{}: ${}\"", name, variable));
}

void add_requests(Line& line, const BenchOptions& o) {
  const WorkloadOptions& w = o.workload;
  line.text("--dataset", w.dataset);
  line.number("--input", w.input_tokens);
  line.number("--output", w.output_tokens);
  line.text("--input-lengths", length_spread_text(w.input_spread));
  line.text("--output-lengths", length_spread_text(w.output_spread));
  if (w.prefix_tokens > 0) {
    line.number("--prefix-tokens", w.prefix_tokens);
    line.number("--prefixes", w.prefixes);
  }
  if (w.turns > 1) {
    line.number("--turns", w.turns);
    line.number("--think", w.think.seconds);
    line.flag("--think-exponential", w.think.exponential);
  }
  line.text("--endpoint", w.endpoint == Endpoint::kChat ? "chat" : "completions");
  line.flag("--no-stream", !w.stream);
  line.flag("--natural-length", !w.force_length);
  line.number("--temperature", w.temperature);
  line.text("--extra-body", w.extra_body);
  line.number("--seed", w.seed);
  if (!o.fresh_salt) {
    line.text("--salt", w.salt);
    line.flag("--no-salt", w.salt.empty());
  }
  line.text("--tokenizer", w.tokenizer);
  if (o.token_range_given)
    line.text("--token-range", fmt::format("{}:{}", w.token_low, w.token_high));
  if (o.first_index > 0) line.number("--first-index", o.first_index);
}

template <typename T>
std::string joined(const std::vector<T>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

void add_points(Line& line, const BenchOptions& o) {
  const ArrivalOptions& a = o.arrival;
  const bool file = a.kind == ArrivalKind::kSchedule || a.kind == ArrivalKind::kTrace;
  line.text("--concurrency", joined(o.concurrency));
  if (!o.concurrency.empty() && o.stagger_s > 0) line.number("--stagger", o.stagger_s);
  if (!file) line.text("--rate", joined(o.rates));
  if (file || !o.rates.empty()) {
    if (file) {
      line.text(a.kind == ArrivalKind::kSchedule ? "--schedule" : "--trace", a.file);
      line.number("--time-scale", a.time_scale);
    } else {
      line.text("--arrival", a.kind == ArrivalKind::kConstant  ? "constant"
                             : a.kind == ArrivalKind::kPoisson ? "poisson"
                                                               : "gamma");
      if (a.kind == ArrivalKind::kGamma) line.number("--burstiness", a.burstiness);
      if (a.end_rate) {
        line.number("--end-rate", *a.end_rate);
        line.number("--ramp", a.ramp_s);
        line.text("--ramp-shape", a.ramp_shape == RampShape::kLinear ? "linear" : "exponential");
      }
    }
    line.number("--max-in-flight", o.max_in_flight);
  }
  line.maybe("--requests", o.requests);
  line.maybe("--duration", o.duration_s);
  line.maybe("--requests-per-stream", o.requests_per_stream);
  line.maybe("--warmup", o.warmup);
  line.maybe("--warmup-per-stream", o.warmup_per_stream);
  line.number("--timeout", o.timeout_s);
  if (o.point_timeout_s > 0) line.number("--point-timeout", o.point_timeout_s);
  if (o.threads > 0) line.number("--threads", o.threads);
  line.text("--source", joined(o.sources));
  if (o.retries > 0) line.number("--retries", o.retries);
  if (o.pace_ms > 0) line.number("--pace", o.pace_ms);
}

}  // namespace

std::string replay_command(const BenchOptions& o) {
  Line line;
  line.text("--url", o.url);
  line.text("--model", o.workload.model);
  for (const std::string& header : o.headers) add_header(line, header);
  if (!o.api_key.empty())
    line.text("--api-key-env", o.api_key_env.empty() ? "HEADROOM_API_KEY" : o.api_key_env);
  line.text("--ca-file", o.ca_file);
  line.flag("--insecure", o.insecure);
  add_points(line, o);
  add_requests(line, o);
  line.text("--label", o.label);
  line.maybe("--repeat", o.repeat);
  for (const auto& [key, value] : o.recipe)
    line.raw(fmt::format(" --recipe {}", shell_word(key + "=" + escaped(value))));
  line.text("--hardware", o.hardware);
  line.maybe("--devices", o.devices);
  line.text("--slo", slo_text(o.slo));
  line.number("--max-failures", o.max_failures_percent);
  line.flag("--force-percentiles", o.force_percentiles);
  return line.take();
}

std::vector<std::string> split_command(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && c == ' ') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
      continue;
    }
    inside = true;
    if (quote != 0 && c == quote)
      quote = 0;
    else if (quote == 0 && (c == '\'' || c == '"'))
      quote = c;
    else if (quote == 0 && c == '\\' && i + 1 < line.size())
      word += line[++i];
    else
      word += c;
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace headroom::load
