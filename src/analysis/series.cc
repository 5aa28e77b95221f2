// Grouping of records into recipes.
#include "analysis/series.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace headroom::analysis {
namespace {

using results::Record;
using results::StoredRecord;

struct RecipeField {
  std::string name, value;
};

template <typename T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

/// "2 x tp=8 ep=8 dp-attention"; empty without such a side.
std::string role_label(const std::optional<results::Role>& role) {
  if (!role) return {};
  std::vector<std::string> parts;
  if (role->workers) parts.push_back(fmt::format("{} x", *role->workers));
  const auto add = [&](const char* name, const std::optional<int64_t>& value, int64_t above) {
    if (value && *value > above) parts.push_back(fmt::format("{}={}", name, *value));
  };
  add("tp", role->tp, 0);
  add("pp", role->pp, 1);
  add("ep", role->ep, 1);
  add("dcp", role->dcp, 1);
  add("pcp", role->pcp, 1);
  if (role->dp_attention.value_or(false)) parts.emplace_back("dp-attention");
  if (!role->hardware.empty()) parts.push_back(role->hardware);
  return fmt::format("{}", fmt::join(parts, " "));
}

// What must agree for points to share a line. The command is left out: it repeats the flags, and
// ports and paths differ without meaning.
std::vector<RecipeField> recipe_fields(const Record& r) {
  const auto& s = r.server;
  const auto& l = s.layout;
  const auto& w = r.workload;
  std::vector<RecipeField> fields = {
      {"model", s.model},
      {"checkpoint", s.checkpoint_digest},
      {"precision", s.precision},
      {"kv", s.kv},
      {"attention", s.attention},
      {"framework", s.framework},
      {"version", s.framework_version},
      {"image", s.image},
      {"speculative", s.speculative},
      {"recipe", s.recipe},
      {"fingerprint", s.recipe_fingerprint},
      {"tp", text_of(l.tp)},
      {"pp", text_of(l.pp)},
      {"ep", text_of(l.ep)},
      {"dp_attention", text_of(l.dp_attention)},
      {"dcp", text_of(l.dcp)},
      {"pcp", text_of(l.pcp)},
      {"prefill", role_label(l.prefill)},
      {"decode", role_label(l.decode)},
      {"hardware", r.hardware.name},
      {"devices", text_of(r.hardware.devices)},
      {"input", text_of(w.input_tokens)},
      {"output", text_of(w.output_tokens)},
      {"input_lengths", w.input_lengths},
      {"output_lengths", w.output_lengths},
      {"dataset", w.dataset},
      // Users of a closed loop and a constant rate are two dials for one thing, the load that a
      // series sweeps; bursts make another workload.
      {"arrivals", w.arrivals == "closed" || w.arrivals == "constant" ? "" : w.arrivals},
  };
  for (const auto& [name, value] : s.flags) fields.push_back({"flag." + name, value});
  return fields;
}

std::string joined_sources(const std::string& a, const std::string& b) {
  if (a.empty() || a == b) return b;
  return a.find(b) != std::string::npos ? a : a + "+" + b;
}

// The mean of points of one recipe at one load; the first keeps its place.
void add_repeat(Point& point, const Point& repeat) {
  const double n = static_cast<double>(point.repeats);
  const auto mean = [n](double have, double more) { return have + (more - have) / (n + 1); };
  point.x = mean(point.x, repeat.x);
  point.y = mean(point.y, repeat.y);
  if (point.concurrency && repeat.concurrency)  // differs between repeats of a rate only
    point.concurrency = mean(*point.concurrency, *repeat.concurrency);
  if (point.headroom && repeat.headroom) {
    point.headroom = mean(*point.headroom, *repeat.headroom);
  } else {
    point.headroom.reset();
  }
  point.source = joined_sources(point.source, repeat.source);
  point.evidence.insert(point.evidence.end(), repeat.evidence.begin(), repeat.evidence.end());
  ++point.repeats;
  point.samples.insert(point.samples.end(), repeat.samples.begin(), repeat.samples.end());
}

// Every value that the records hold of each field, the plan's choices and the environment included.
std::map<std::string, std::set<std::string>> values_of(std::span<const StoredRecord> records) {
  std::map<std::string, std::set<std::string>> values;
  for (const StoredRecord& stored : records) {
    for (const RecipeField& field : recipe_fields(stored.record))
      if (!field.value.empty()) values[field.name].insert(field.value);
    for (const auto& [name, value] : stored.record.server.environment)
      values["env." + name].insert(value);
    for (const results::PlanLine& line : stored.record.plan)
      values["plan." + line.op].insert(line.chosen);
  }
  return values;
}

std::string listed(const std::set<std::string>& values) {
  return values.empty() ? "—" : fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

std::string recipe_key(const Record& record) {
  std::string key;
  for (const RecipeField& field : recipe_fields(record))
    if (!field.value.empty()) key += fmt::format("{}={};", field.name, field.value);
  return key;
}

std::optional<double> requests_in_flight(const Record& record) {
  if (record.workload.concurrency) return static_cast<double>(*record.workload.concurrency);
  const results::Window& w = record.measures.whole;
  if (!w.e2e || w.e2e->empty() || !w.requests || !w.duration_s || *w.duration_s <= 0)
    return std::nullopt;
  return w.e2e->mean() * 1e-9 * static_cast<double>(*w.requests) / *w.duration_s;
}

std::string in_flight_text(double requests) {
  return requests == std::round(requests) ? fmt::format("{:.0f}", requests)
                                          : fmt::format("{:.2g}", requests);
}

std::string layout_label(const Record& record) {
  const auto& layout = record.server.layout;
  std::vector<std::string> parts;
  const auto add = [&](const char* name, const std::optional<int64_t>& value, int64_t above) {
    if (value && *value > above) parts.push_back(fmt::format("{}={}", name, *value));
  };
  add("tp", layout.tp, 0);
  add("pp", layout.pp, 1);
  add("ep", layout.ep, 1);
  if (layout.dp_attention.value_or(false)) parts.emplace_back("dp-attention");
  add("dcp", layout.dcp, 1);
  add("pcp", layout.pcp, 1);
  for (const auto& [name, role] : {std::pair("prefill", &layout.prefill),
                                   std::pair("decode", &layout.decode)})
    if (*role) parts.push_back(fmt::format("{} {}", name, role_label(*role)));
  return fmt::format("{}", fmt::join(parts, " "));
}

std::string recipe_label(const Record& record) {
  const auto& s = record.server;
  if (!s.recipe.empty()) return s.recipe;
  std::vector<std::string> parts;
  for (const std::string& text : {layout_label(record), s.attention, s.kv, s.speculative})
    if (!text.empty()) parts.push_back(text);
  if (parts.empty()) {
    for (const std::string* name : {&record.label, &record.run, &s.framework})
      if (!name->empty()) return *name;
    return "unnamed";
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

std::vector<Point> SeriesSet::points() const {
  std::vector<Point> all;
  for (const RecipeSeries& one : series)
    all.insert(all.end(), one.points.begin(), one.points.end());
  return all;
}

SeriesSet build_series(std::span<const StoredRecord> records, Metric x, Metric y,
                       const ReadOptions& options) {
  SeriesSet set;
  for (const StoredRecord& stored : records) {
    const Record& record = stored.record;
    const auto at_x = read(record, x, options), at_y = read(record, y, options);
    if (!at_x || !at_y) {
      ++set.left_out;
      continue;
    }
    const std::string key = recipe_key(record);
    auto series = std::ranges::find_if(set.series, [&](const RecipeSeries& candidate) {
      return candidate.key == key && candidate.date == record.date;
    });
    if (series == set.series.end())
      series = set.series.insert(series, {key, recipe_label(record), record.date, {}});
    Point point;
    point.x = at_x->value;
    point.y = at_y->value;
    point.samples = {{point.x, point.y}};
    point.recipe = series->label;
    point.layout = layout_label(record);
    point.source = at_y->source;
    point.evidence = {stored.id};
    point.concurrency = requests_in_flight(record);
    if (!record.workload.concurrency) point.rate = record.workload.rate;
    if (const auto headroom = read(record, Metric::kHeadroom, options))
      point.headroom = headroom->value;
    // Only points at a known load can be repeats of each other.
    const auto same_load = std::ranges::find_if(series->points, [&](const Point& other) {
      if (point.rate || other.rate) return point.rate == other.rate;
      return point.concurrency && other.concurrency == point.concurrency;
    });
    if (same_load != series->points.end()) {
      add_repeat(*same_load, point);
    } else {
      series->points.push_back(std::move(point));
    }
  }
  for (RecipeSeries& series : set.series)
    std::ranges::sort(series.points, [](const Point& a, const Point& b) {
      if (a.concurrency != b.concurrency) return a.concurrency < b.concurrency;
      if (a.x != b.x) return a.x < b.x;
      return a.evidence < b.evidence;
    });
  return set;
}

std::vector<Difference> recipe_differences(std::span<const StoredRecord> a,
                                           std::span<const StoredRecord> b) {
  auto of_a = values_of(a), of_b = values_of(b);
  for (const auto& [name, values] : of_b) of_a[name];
  std::vector<Difference> differences;
  for (const auto& [name, values] : of_a) {
    const auto& others = of_b[name];
    if (values != others) differences.push_back({name, listed(values), listed(others)});
  }
  return differences;
}

}  // namespace headroom::analysis
