// The warnings an honest reader wants beside a comparison.
#include <algorithm>
#include <set>

#include "analysis/compare_parts.h"
#include "analysis/validity.h"

namespace headroom::analysis {
namespace {

using results::Record;
using results::StoredRecord;

// What must agree before a point outside the selection can be called a better choice.
std::string setting_of(const Record& r) {
  const auto number = [](const auto& v) { return v ? fmt::format("{}", *v) : std::string("-"); };
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", r.server.model, r.hardware.name, r.date,
                     number(r.workload.input_tokens), number(r.workload.output_tokens),
                     r.workload.input_lengths, r.workload.output_lengths, r.workload.dataset);
}

struct Peers {
  std::vector<StoredRecord> all;  // the side's own records and its peers
  std::vector<Point> outside;     // of the peers alone
  std::vector<Point> frontier;    // of all
};

Peers peers_of(const Comparison& c, const CompareInput& side, const CompareInput& other,
               std::span<const StoredRecord> stored) {
  std::set<std::string> settings, selected;
  for (const StoredRecord& record : side.records) {
    settings.insert(setting_of(record.record));
    selected.insert(record.id);
  }
  // The other side is what this one is compared with, not an alternative to it.
  for (const StoredRecord& record : other.records) selected.insert(record.id);
  Peers peers;
  std::vector<StoredRecord> outside;
  for (const StoredRecord& record : stored)
    if (record.quarantine.empty() && !selected.contains(record.id) &&
        settings.contains(setting_of(record.record)))
      outside.push_back(record);
  peers.all = side.records;
  peers.all.insert(peers.all.end(), outside.begin(), outside.end());
  const ReadOptions options = read_options(c.options);
  peers.outside = build_series(outside, c.level, c.value, options).points();
  peers.frontier = frontier(build_series(peers.all, c.level, c.value, options).points(),
                            axis(c.level), axis(c.value));
  return peers;
}

std::string at_concurrency(const std::optional<double>& concurrency) {
  return concurrency ? fmt::format(" at concurrency {}", figure_text(*concurrency, 0)) : "";
}

std::string value_text(const Comparison& c, double value) {
  return figure_text(value, c.options.decimals);
}

struct Context {
  const Comparison& c;
  const Peers& peers_a;
  const Peers& peers_b;
  std::vector<Warning>& out;
  const char* level_title;
  const char* value_title;

  void warn(const char* code, std::string text) const { out.push_back({code, std::move(text)}); }
};

// Levels at which a stored point that nobody selected is at least as fast on both axes.
void better_layout(const Context& x, const char* name, const Peers& peers, bool is_b) {
  const Axis on_x = axis(x.c.level), on_y = axis(x.c.value);
  if (peers.outside.empty()) return;
  const Curve whole = Curve::linear(peers.frontier, on_x, on_y);
  std::string first;  // the first beaten level in full, the others by name
  std::vector<std::string> more;
  for (const IsoRow& row : x.c.iso_throughput) {
    const Reading& reading = is_b ? row.b : row.a;
    Point wanted;
    wanted.x = row.level;
    wanted.y = reading.value.value_or(0);
    const auto better = std::ranges::find_if(
        peers.outside, [&](const Point& p) { return dominates(p, wanted, on_x, on_y); });
    if (better == peers.outside.end()) continue;
    if (!first.empty()) {
      more.push_back(level_text(row.level));
      continue;
    }
    std::string part = fmt::format(
        "at {} {}, {}{} ({} {} at {} {}) beats {}", level_text(row.level), x.level_title,
        better->recipe, at_concurrency(better->concurrency), figure_text(better->x), x.level_title,
        value_text(x.c, better->y), x.value_title,
        reading.value ? fmt::format("the {} shown", value_text(x.c, *reading.value))
                      : "an unreachable cell");
    const Reading on_frontier = whole.at(row.level, false);
    if (on_frontier.value) {
      part += fmt::format("; the frontier of all stored layouts reads {} there",
                          value_text(x.c, *on_frontier.value));
      const auto gain = is_b ? gain_of(row.a, on_frontier, on_y.higher_is_better)
                             : gain_of(on_frontier, row.b, on_y.higher_is_better);
      if (gain) part += fmt::format(" and the gain is {}", gain_text(*gain));
    }
    first = std::move(part);
  }
  if (first.empty()) return;
  if (!more.empty()) first += fmt::format("; stored points also beat {}", fmt::join(more, ", "));
  x.warn("better_layout_outside_selection", fmt::format("{}: {}", name, first));
}

// Readings between points where a side's own measured point is better on both axes: its line runs
// flat or turns back there, and the gain says more about the line than about the servers.
void own_point_better(const Context& x, const char* name, const Side& side, bool is_b) {
  const Axis on_x = axis(x.c.level), on_y = axis(x.c.value);
  std::string first;
  std::vector<std::string> more;
  for (const IsoRow& row : x.c.iso_throughput) {
    const Reading& reading = is_b ? row.b : row.a;
    if (!reading.value || reading.state == State::kMeasured) continue;
    Point wanted;
    wanted.x = row.level;
    wanted.y = on_y.higher_is_better ? *reading.value * 1.02 : *reading.value / 1.02;
    const auto better = std::ranges::find_if(
        side.frontier, [&](const Point& p) { return dominates(p, wanted, on_x, on_y); });
    if (better == side.frontier.end()) continue;
    if (!first.empty()) {
      more.push_back(level_text(row.level));
      continue;
    }
    first = fmt::format(
        "{} at {} {}: its own point{} ({} {} at {} {}) beats the {} read between points", name,
        level_text(row.level), x.level_title, at_concurrency(better->concurrency),
        figure_text(better->x), x.level_title, value_text(x.c, better->y), x.value_title,
        value_text(x.c, *reading.value));
    Reading there;
    there.value = better->y;
    const auto gain = is_b ? gain_of(row.a, there, on_y.higher_is_better)
                           : gain_of(there, row.b, on_y.higher_is_better);
    if (gain) first += fmt::format("; with it the gain is {}", gain_text(*gain));
  }
  if (first.empty()) return;
  if (!more.empty()) first += fmt::format("; the same holds at {}", fmt::join(more, ", "));
  x.warn("own_point_better", std::move(first));
}

void ranges(const Context& x) {
  const Comparison& c = x.c;
  std::vector<std::string> outside;
  for (const double level : c.options.levels)
    if (!c.level_overlap || level < c.level_overlap->low || level > c.level_overlap->high)
      outside.push_back(level_text(level));
  const auto range = [](const Range& r) {
    return fmt::format("[{}, {}]", level_text(r.low), level_text(r.high));
  };
  const std::string both = fmt::format("A {}, B {}", range(*c.a.level), range(*c.b.level));
  if (!c.level_overlap) {
    x.warn("range_overlap", fmt::format("the measured throughputs do not overlap at all: {} {}",
                                        both, x.level_title));
    return;
  }
  const double whole =
      std::max(c.a.level->high, c.b.level->high) - std::min(c.a.level->low, c.b.level->low);
  const double shared = c.level_overlap->high - c.level_overlap->low;
  if (outside.empty() && shared >= whole / 2) return;
  std::string text = fmt::format("both sides were measured only on {} {} ({})",
                                 range(*c.level_overlap), x.level_title, both);
  if (!outside.empty())
    text += fmt::format("; {} {} outside", fmt::join(outside, ", "),
                        outside.size() == 1 ? "lies" : "lie");
  x.warn("range_overlap", std::move(text));
}

void disjoint_interactivity(const Context& x) {
  const Comparison& c = x.c;
  if (c.value_overlap) return;
  const bool a_below = c.a.value->high < c.b.value->low;
  const Side& low = a_below ? c.a : c.b;
  const Side& high = a_below ? c.b : c.a;
  std::string text = fmt::format(
      "no comparison at equal interactivity is possible: {} ends at {}, {} starts at {} {}",
      a_below ? "A" : "B", value_text(c, low.value->high), a_below ? "B" : "A",
      value_text(c, high.value->low), x.value_title);
  const Peers& peers = a_below ? x.peers_b : x.peers_a;
  if (!peers.outside.empty()) {
    const double lowest = std::ranges::min_element(peers.outside, {}, &Point::y)->y;
    if (lowest < high.value->low && lowest > low.value->high)
      text += fmt::format(" ({} over all its stored layouts)", value_text(c, lowest));
  }
  x.warn("iso_interactivity_disjoint", std::move(text));
}

std::set<std::string> layouts_of(const Side& side) {
  std::set<std::string> layouts;
  for (const RecipeSeries& series : side.series)
    for (const Point& point : series.points) layouts.insert(point.layout);
  return layouts;
}

// The highest throughput among points of one layout.
std::optional<double> peak_of(const Side& side, const std::string& layout) {
  std::optional<double> peak;
  for (const RecipeSeries& series : side.series)
    for (const Point& point : series.points)
      if (point.layout == layout) peak = std::max(peak.value_or(point.x), point.x);
  return peak;
}

void mixed_layouts(const Context& x) {
  const Comparison& c = x.c;
  for (const auto& [name, side] : {std::pair("A", &c.a), std::pair("B", &c.b)}) {
    const auto layouts = layouts_of(*side);
    if (layouts.size() > 1)
      x.warn("mixed_layouts",
             fmt::format("{} holds several layouts ({}); each cell takes the best of them", name,
                         fmt::join(layouts, ", ")));
  }
  const Point& a = *c.a.peak;
  Point b = *c.b.peak;
  bool stored_only = false;  // the higher peak is not in the selection
  for (const Point& point : x.peers_b.outside)
    if (point.x > b.x) {
      b = point;
      stored_only = true;
    }
  if (a.layout == b.layout || a.x <= 0) return;
  const auto layout = [](const Point& p) {
    return p.layout.empty() ? "no known layout" : p.layout;
  };
  std::string text =
      fmt::format("{} is {} {}{} with {}; over A's {} that is {}, {} against {}",
                  stored_only ? "the highest stored throughput in B's setting" : "B's peak",
                  figure_text(b.x), x.level_title, at_concurrency(b.concurrency), layout(b),
                  figure_text(a.x), gain_text(b.x / a.x), layout(b), layout(a));
  if (const auto same = peak_of(c.b, a.layout); same && a.x > 0)
    text += fmt::format("; like with like ({}) it is {}", layout(a), gain_text(*same / a.x));
  x.warn("mixed_layouts", std::move(text));
}

// What a reader would get from the other published column.
void rounded_inputs(const Context& x, const CompareInput& a, const CompareInput& b) {
  const auto both = [](const StoredRecord& r) {
    return r.record.published.tpot_ms && r.record.published.interactivity;
  };
  if (std::ranges::none_of(a.records, both) && std::ranges::none_of(b.records, both)) return;
  CompareOptions options = x.c.options;
  const bool printed = options.basis == Basis::kPrinted;
  options.basis = printed ? Basis::kPrecise : Basis::kPrinted;
  const auto other = compute(a, b, options);
  if (!other) return;
  std::vector<std::string> parts;
  const auto differ = [&](const std::string& here, const std::string& there,
                          const std::string& where) {
    if (here != there) parts.push_back(fmt::format("{} (not {}) {}", there, here, where));
  };
  const auto cell = [&](const Reading& r) {
    return r.value ? value_text(x.c, *r.value) : std::string("—");
  };
  const auto gain = [](const std::optional<double>& g) { return g ? gain_text(*g) : "—"; };
  for (size_t i = 0; i < x.c.iso_throughput.size() && i < other->iso_throughput.size(); ++i) {
    const IsoRow &here = x.c.iso_throughput[i], &there = other->iso_throughput[i];
    if (here.level != there.level) continue;
    const std::string at = "at " + level_text(here.level);
    differ(cell(here.a), cell(there.a), "for A " + at);
    differ(cell(here.b), cell(there.b), "for B " + at);
    differ(gain(here.gain), gain(there.gain), at);
  }
  for (size_t i = 0; i < x.c.same_concurrency.size() && i < other->same_concurrency.size(); ++i) {
    const auto &here = x.c.same_concurrency[i], &there = other->same_concurrency[i];
    differ(gain(here.gain), gain(there.gain),
           fmt::format("at concurrency {}", level_text(here.concurrency)));
  }
  if (parts.empty()) return;
  x.warn("rounded_inputs",
         fmt::format("the inputs are rounded; from the {} would follow {}",
                     printed ? "more precise column of each point" : "printed tok/s/user column",
                     fmt::join(parts, ", ")));
}

void shared_records(const Context& x, const CompareInput& a, const CompareInput& b) {
  std::set<std::string> of_a;
  for (const StoredRecord& stored : a.records) of_a.insert(stored.id);
  const auto shared = std::ranges::count_if(
      b.records, [&](const auto& stored) { return of_a.contains(stored.id); });
  if (shared > 0)
    x.warn("shared_records",
           fmt::format("{} of the {} records of B are also in A: they are compared with themselves",
                       shared, b.records.size()));
}

void different_models(const Context& x, const CompareInput& a, const CompareInput& b) {
  for (const auto& [name, side] : {std::pair("A", &a), std::pair("B", &b)}) {
    std::set<std::string> models;
    for (const StoredRecord& stored : side->records) models.insert(stored.record.server.model);
    if (models.size() > 1)
      x.warn("mixed_models", fmt::format("{} holds several models ({}); each cell takes the best",
                                         name, fmt::join(models, ", ")));
  }
  for (const Difference& d : x.c.differences)
    if (d.field == "model")
      x.warn("model_differs",
             fmt::format("the two sides served different models: A {}, B {}", d.a, d.b));
}

void different_settings(const Context& x) {
  std::vector<std::string> parts;
  for (const Difference& d : x.c.differences)
    for (const char* field :
         {"input", "output", "input_lengths", "output_lengths", "dataset", "arrivals"})
      if (d.field == field) parts.push_back(fmt::format("{}: A {}, B {}", d.field, d.a, d.b));
  if (!parts.empty())
    x.warn("workload_differs",
           fmt::format("the two sides ran different workloads ({})", fmt::join(parts, "; ")));
  for (const auto& [name, side] : {std::pair("A", &x.c.a), std::pair("B", &x.c.b)}) {
    std::set<std::string> dates;
    for (const RecipeSeries& series : side->series) dates.insert(series.date);
    if (dates.size() > 1)
      x.warn("mixed_dates", fmt::format("{} holds several dates ({}); each cell takes the best",
                                        name, fmt::join(dates, ", ")));
    if (side->left_out > 0)
      x.warn("points_left_out",
             fmt::format("{}: {} of {} records lack {} or {}", name, side->left_out, side->records,
                         x.level_title, x.value_title));
  }
  if (x.c.level == Metric::kTokS)
    x.warn(
        "no_device_count",
        "the number of devices is not known on both sides, so throughput is of the whole server");
}

void flagged_records(const Context& x, const char* name, const CompareInput& side) {
  for (const StoredRecord& stored : side.records)
    for (const Flag& flag : validity_flags(stored.record)) {
      const auto& concurrency = stored.record.workload.concurrency;
      x.warn(flag.code.c_str(),
             fmt::format("{}{}: {}", name,
                         concurrency ? fmt::format(" at concurrency {}", *concurrency) : "",
                         flag.text));
    }
}

}  // namespace

std::vector<Warning> warnings_of(const Comparison& c, const CompareInput& a, const CompareInput& b,
                                 std::span<const StoredRecord> stored) {
  std::vector<Warning> warnings;
  const Peers peers_a = peers_of(c, a, b, stored), peers_b = peers_of(c, b, a, stored);
  const Context context{c, peers_a, peers_b, warnings, info(c.level).title, info(c.value).title};
  shared_records(context, a, b);
  different_models(context, a, b);
  better_layout(context, "A", peers_a, false);
  better_layout(context, "B", peers_b, true);
  own_point_better(context, "A", c.a, false);
  own_point_better(context, "B", c.b, true);
  ranges(context);
  disjoint_interactivity(context);
  mixed_layouts(context);
  rounded_inputs(context, a, b);
  different_settings(context);
  flagged_records(context, "A", a);
  flagged_records(context, "B", b);
  return warnings;
}

}  // namespace headroom::analysis
