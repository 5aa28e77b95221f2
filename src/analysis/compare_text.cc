// A comparison for people (terminal, Markdown) and for programs (CSV, JSON).
#include <set>

#include "analysis/compare_parts.h"
#include "base/json_writer.h"

namespace headroom::analysis {
namespace {

using base::JsonWriter;

std::string method_line(const Comparison& c) {
  std::string line = fmt::format("method {}, basis {}", method_name(c.options.method),
                                 basis_name(c.options.basis));
  line +=
      fmt::format(", {} of each run", c.options.span == Span::kSteady ? "steady window" : "whole");
  if (c.options.percentile != 50) line += fmt::format(", p{:g} of TPOT", c.options.percentile);
  if (c.options.extrapolate)
    line += fmt::format(", extrapolation up to {:.0f} % of the range", kExtrapolationLimit * 100);
  return line;
}

std::string side_line(const char* name, const Side& side) {
  std::vector<std::string> labels;
  size_t points = 0;
  for (const RecipeSeries& series : side.series) {
    labels.push_back(series.label);
    points += series.points.size();
  }
  return fmt::format("{}  {}  ({} point{}{}{}{}{})", name, side.name, points,
                     points == 1 ? "" : "s", side.server.empty() ? "" : "; ", side.server,
                     labels.empty() ? "" : "; ", fmt::join(labels, " | "));
}

// Breaks a line at blanks; what follows the first stands `indent` further in.
std::string wrapped(const std::string& text, size_t width, size_t indent) {
  std::string out, line;
  size_t from = 0;
  while (from < text.size()) {
    const size_t space = std::min(text.find(' ', from), text.size());
    const std::string word = text.substr(from, space - from);
    if (!line.empty() && base::display_width(line) + 1 + base::display_width(word) > width) {
      out += line + "\n";
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() || from == 0 ? "" : " ") + word;
    }
    from = space + 1;
  }
  return out + line + "\n";
}

// Which columns the cells of a side come from: "tpot", "interactivity", "measured".
std::string sources_of(const Comparison& c, bool is_b) {
  std::set<std::string> sources;
  const auto note = [&](const Reading& reading) {
    if (!reading.source.empty()) sources.insert(reading.source);
  };
  for (const auto& row : c.same_concurrency) note(is_b ? row.b : row.a);
  for (const auto* rows : {&c.iso_throughput, &c.iso_interactivity})
    for (const IsoRow& row : *rows) note(is_b ? row.b : row.a);
  return fmt::format("{}", fmt::join(sources, ", "));
}

// Title, text and table blocks in the order of reading; `table` says how a table becomes text.
template <typename Heading, typename Render>
std::string blocks(const Comparison& c, const Heading& heading, const Render& table,
                   const std::string& bullet) {
  std::string out;
  if (!c.same_concurrency.empty())
    out += heading("Same concurrency") + table(same_concurrency_table(c));
  out +=
      heading(fmt::format("Interactivity at equal throughput ({})", method_name(c.options.method)));
  out += table(iso_throughput_table(c));
  if (!c.iso_interactivity.empty())
    out += heading(fmt::format("Throughput at equal interactivity ({})",
                               method_name(c.options.method))) +
           table(iso_interactivity_table(c));
  out += fmt::format("\n{}; interactivity of A from {}, of B from {}\n", marks_legend(c),
                     sources_of(c, false), sources_of(c, true));
  if (!c.levels_note.empty()) out += c.levels_note + "\n";
  if (const std::string note = interval_note(c); !note.empty()) out += note + "\n";
  const auto notes = unreachable_notes(c);
  if (!notes.empty()) out += "\n";
  for (const std::string& note : notes) out += bullet + "— " + note + "\n";
  out += heading("Peak throughput") + table(peak_table(c));
  if (!c.differences.empty()) out += heading("What differs") + table(difference_table(c));
  if (!c.warnings.empty()) {
    out += heading("Warnings");
    for (const Warning& w : c.warnings) {
      const std::string line = fmt::format("{}{}: {}", bullet, w.code, w.text);
      out += bullet == "- " ? line + "\n" : wrapped(line, 100, 4);
    }
  }
  return out;
}

void write_range(JsonWriter& json, const char* name, const std::optional<Range>& range) {
  json.key(name);
  if (!range) {
    json.null();
    return;
  }
  json.begin_array().value(range->low).value(range->high).end_array();
}

void write_interval(JsonWriter& json, const std::optional<Interval>& interval) {
  json.key("interval");
  if (!interval) {
    json.null();
    return;
  }
  json.begin_object().field("low", interval->low).field("high", interval->high);
  json.field("confidence", 0.95).field("method", interval->method());
  json.field("repeats", static_cast<uint64_t>(interval->repeats));
  json.field("significant", interval->significant()).end_object();
}

void write_evidence(JsonWriter& json, const std::vector<std::string>& ids) {
  json.key("evidence").begin_array();
  for (const std::string& id : ids) json.value(id);
  json.end_array();
}

void write_reading(JsonWriter& json, const Reading& reading) {
  json.begin_object();
  json.field("value", reading.value);
  json.field("state", state_name(reading.state));
  json.field("concurrency", reading.concurrency);
  if (!reading.reason.empty()) json.field("reason", reading.reason);
  if (!reading.recipe.empty()) json.field("recipe", reading.recipe);
  if (!reading.source.empty()) json.field("basis", reading.source);
  write_evidence(json, reading.evidence);
  json.end_object();
}

void write_side(JsonWriter& json, const Side& side) {
  json.begin_object().field("selector", side.name);
  json.field("records", static_cast<uint64_t>(side.records));
  json.key("series").begin_array();
  for (const RecipeSeries& series : side.series) {
    json.begin_object().field("recipe", series.label).field("date", series.date);
    json.key("points").begin_array();
    for (const Point& point : series.points) {
      json.begin_object().field("concurrency", point.concurrency);
      json.field("level", point.x).field("value", point.y).field("basis", point.source);
      json.field("headroom", point.headroom).field("repeats", static_cast<uint64_t>(point.repeats));
      write_evidence(json, point.evidence);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
  write_range(json, "level_range", side.level);
  write_range(json, "value_range", side.value);
  json.key("plan").begin_array();
  for (const std::string& line : side.plan) json.value(line);
  json.end_array().end_object();
}

void write_rows(JsonWriter& json, const char* name, const std::vector<IsoRow>& rows) {
  json.key(name).begin_array();
  for (const IsoRow& row : rows) {
    json.begin_object().field("level", row.level);
    json.key("a");
    write_reading(json, row.a);
    json.key("b");
    write_reading(json, row.b);
    json.field("gain", row.gain);
    write_interval(json, row.interval);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string terminal_text(const Comparison& c) {
  std::string out = side_line("A", c.a) + "\n" + side_line("B", c.b) + "\n" + method_line(c) + "\n";
  return out + blocks(
                   c, [](std::string_view title) { return fmt::format("\n{}\n\n", title); },
                   [](const base::Table& table) { return table.terminal(); }, "  ");
}

std::string markdown_text(const Comparison& c) {
  std::string out = "# Comparison\n\n";
  for (const auto& [name, side] : {std::pair("A", &c.a), std::pair("B", &c.b)})
    out += fmt::format("- {}\n", side_line(name, *side));
  out += fmt::format("- {}\n", method_line(c));
  return out + blocks(
                   c, [](std::string_view title) { return fmt::format("\n## {}\n\n", title); },
                   [](const base::Table& table) { return table.markdown(); }, "- ");
}

std::string csv_text(const Comparison& c) {
  base::Table table;
  for (const char* title :
       {"table", "level", "level_unit", "side", "value", "value_unit", "state", "concurrency",
        "gain", "gain_low", "gain_high", "method", "basis", "recipe", "evidence"})
    table.columns.push_back({title});
  const auto number = [](const std::optional<double>& v) {
    return v ? fmt::format("{}", *v) : std::string();
  };
  const auto add = [&](const char* name, double level, const char* level_unit, const char* side,
                       const Reading& r, const char* unit, const auto& row,
                       std::string_view method) {
    const auto& bounds = row.interval;
    table.rows.push_back({name, number(level), level_unit, side, number(r.value), unit,
                          std::string(state_name(r.state)), number(r.concurrency), number(row.gain),
                          bounds ? number(bounds->low) : "", bounds ? number(bounds->high) : "",
                          std::string(method), r.source, r.recipe,
                          fmt::format("{}", fmt::join(r.evidence, " "))});
  };
  const char *level = info(c.level).title, *value = info(c.value).title;
  const auto method = method_name(c.options.method);
  for (const SameConcurrencyRow& row : c.same_concurrency) {
    add("same_concurrency", row.concurrency, "requests", "a", row.a, value, row, "measured");
    add("same_concurrency", row.concurrency, "requests", "b", row.b, value, row, "measured");
  }
  for (const IsoRow& row : c.iso_throughput) {
    add("iso_throughput", row.level, level, "a", row.a, value, row, method);
    add("iso_throughput", row.level, level, "b", row.b, value, row, method);
  }
  for (const IsoRow& row : c.iso_interactivity) {
    add("iso_interactivity", row.level, value, "a", row.a, level, row, method);
    add("iso_interactivity", row.level, value, "b", row.b, level, row, method);
  }
  return table.csv();
}

std::string json_text(const Comparison& c) {
  JsonWriter json;
  json.begin_object();
  json.field("method", method_name(c.options.method));
  json.field("basis", basis_name(c.options.basis));
  json.field("span", span_name(c.options.span.value_or(Span::kWhole)));
  json.field("percentile", c.options.percentile).field("extrapolate", c.options.extrapolate);
  json.key("units").begin_object();
  json.field("level", info(c.level).title).field("value", info(c.value).title).end_object();
  if (!c.levels_note.empty()) json.field("levels_note", c.levels_note);
  json.key("a");
  write_side(json, c.a);
  json.key("b");
  write_side(json, c.b);
  json.key("same_concurrency").begin_array();
  for (const SameConcurrencyRow& row : c.same_concurrency) {
    json.begin_object().field("concurrency", row.concurrency);
    json.field("a", row.a.value).field("b", row.b.value).field("gain", row.gain);
    write_interval(json, row.interval);
    json.field("a_level", row.a_level).field("b_level", row.b_level);
    json.field("a_headroom", row.a_headroom).field("b_headroom", row.b_headroom);
    json.key("a_cell");
    write_reading(json, row.a);
    json.key("b_cell");
    write_reading(json, row.b);
    json.end_object();
  }
  json.end_array();
  write_rows(json, "iso_throughput", c.iso_throughput);
  write_rows(json, "iso_interactivity", c.iso_interactivity);
  json.key("peak").begin_object();
  for (const auto& [name, side] : {std::pair("a", &c.a), std::pair("b", &c.b)}) {
    json.key(name).begin_object().field("level", side->peak->x).field("value", side->peak->y);
    json.field("concurrency", side->peak->concurrency).field("recipe", side->peak->recipe);
    write_evidence(json, side->peak->evidence);
    json.end_object();
  }
  json.field("gain", c.peak_gain);
  write_interval(json, c.peak_interval);
  json.end_object();
  write_range(json, "level_overlap", c.level_overlap);
  write_range(json, "value_overlap", c.value_overlap);
  json.key("differences").begin_array();
  for (const Difference& d : c.differences)
    json.begin_object().field("field", d.field).field("a", d.a).field("b", d.b).end_object();
  json.end_array();
  json.key("warnings").begin_array();
  for (const Warning& w : c.warnings)
    json.begin_object().field("code", w.code).field("text", w.text).end_object();
  json.end_array().end_object();
  return json.take();
}

}  // namespace headroom::analysis
