// A comparison as tables: headings with units, marks for states.
#include <algorithm>

#include "analysis/compare_parts.h"

namespace headroom::analysis {
namespace {

using base::Table;

constexpr auto kLeft = Table::Align::kLeft;

std::string number_or_dash(const std::optional<double>& value, int decimals) {
  return value ? figure_text(*value, decimals) : "—";
}

// "4" where it was measured, "≈62" where it was read between points.
std::string concurrency_text(const Reading& reading) {
  if (!reading.concurrency) return reading.value ? "?" : "—";
  const bool exact = reading.state == State::kMeasured;
  if (*reading.concurrency < 1) return (exact ? "" : "≈") + in_flight_text(*reading.concurrency);
  return (exact ? "" : "≈") + fmt::format("{:.0f}", *reading.concurrency);
}

std::string cell_text(const Reading& reading, int decimals) {
  if (!reading.value) return "—";
  return figure_text(*reading.value, decimals) + std::string(state_mark(reading.state));
}

// Marks stand behind the numbers; unmarked cells of such a column get a blank, so that digits stay
// under digits.
void align_marks(Table& table, size_t column) {
  const auto marked = [](const std::string& text) {
    return text.ends_with("~") || text.ends_with("^");
  };
  if (std::ranges::none_of(table.rows, [&](const auto& row) { return marked(row[column]); }))
    return;
  for (auto& row : table.rows)
    if (!marked(row[column])) row[column] += " ";
}

std::string gain_or_dash(const std::optional<double>& gain) {
  return gain ? gain_text(*gain) : "—";
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "—";
  return fmt::format("{:.2f}–{:.2f}x{}", interval->low, interval->high,
                     interval->significant() ? "" : " (no significant change)");
}

bool has_interval(const auto& rows) {
  return std::ranges::any_of(rows, [](const auto& row) { return row.interval.has_value(); });
}

Table iso_table(const Comparison& c, const std::vector<IsoRow>& rows, Metric level, Metric value) {
  const double p = c.options.percentile;
  const std::string title = metric_title(value, p);
  Table table;
  table.columns = {{metric_title(level, p)}, {"A " + title}, {"at conc."},
                   {"B " + title},           {"at conc."},   {"gain"}};
  for (const IsoRow& row : rows)
    table.rows.push_back({level_text(row.level), cell_text(row.a, c.options.decimals),
                          concurrency_text(row.a), cell_text(row.b, c.options.decimals),
                          concurrency_text(row.b), gain_or_dash(row.gain)});
  if (has_interval(rows)) {
    table.columns.push_back({"95 % interval", kLeft});
    for (size_t i = 0; i < rows.size(); ++i)
      table.rows[i].push_back(interval_text(rows[i].interval));
  }
  align_marks(table, 1);
  align_marks(table, 3);
  return table;
}

void for_each_cell(const Comparison& c, const auto& visit) {
  for (const auto& [rows, metric] :
       {std::pair(&c.iso_throughput, c.level), std::pair(&c.iso_interactivity, c.value)})
    for (const IsoRow& row : *rows) {
      visit("A", row, row.a, metric);
      visit("B", row, row.b, metric);
    }
}

}  // namespace

std::string level_text(double level) {
  if (level >= 1e12) return fmt::format("{:.6g}", level);
  // Levels that a user types keep their digits; measured ones need no ten-thousandths.
  std::string text = fmt::format("{:.{}f}", level, level >= 1000 ? 1 : level >= 10 ? 2 : 4);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string gain_text(double gain) {
  return gain >= 0.95 ? fmt::format("{:.1f}x", gain) : fmt::format("{:.2f}x", gain);
}

Table same_concurrency_table(const Comparison& c) {
  const auto has = [&](std::optional<double> SameConcurrencyRow::* member) {
    return std::ranges::any_of(c.same_concurrency,
                               [&](const auto& row) { return (row.*member).has_value(); });
  };
  const std::string value = metric_title(c.value, c.options.percentile);
  const std::string level = info(c.level).title;
  const bool headroom_a = has(&SameConcurrencyRow::a_headroom);
  const bool headroom_b = has(&SameConcurrencyRow::b_headroom);
  Table table;
  table.columns = {{"concurrency"}, {"A " + value}, {"B " + value},
                   {"gain"},        {"A " + level}, {"B " + level}};
  if (headroom_a) table.columns.push_back({"A TPOT ÷ limit"});
  if (headroom_b) table.columns.push_back({"B TPOT ÷ limit"});
  const bool intervals = has_interval(c.same_concurrency);
  if (intervals) table.columns.push_back({"95 % interval", kLeft});
  for (const SameConcurrencyRow& row : c.same_concurrency) {
    const int decimals = c.options.decimals;
    table.rows.push_back({level_text(row.concurrency), cell_text(row.a, decimals),
                          cell_text(row.b, decimals), gain_or_dash(row.gain),
                          number_or_dash(row.a_level, decimals),
                          number_or_dash(row.b_level, decimals)});
    if (headroom_a) table.rows.back().push_back(number_or_dash(row.a_headroom, 1));
    if (headroom_b) table.rows.back().push_back(number_or_dash(row.b_headroom, 1));
    if (intervals) table.rows.back().push_back(interval_text(row.interval));
  }
  return table;
}

Table iso_throughput_table(const Comparison& c) {
  return iso_table(c, c.iso_throughput, c.level, c.value);
}

Table iso_interactivity_table(const Comparison& c) {
  return iso_table(c, c.iso_interactivity, c.value, c.level);
}

Table peak_table(const Comparison& c) {
  Table table;
  table.columns = {{"", kLeft},
                   {std::string("peak ") + info(c.level).title},
                   {std::string("at ") + info(c.value).title},
                   {"at conc."},
                   {"layout", kLeft}};
  for (const auto& [name, side] : {std::pair("A", &c.a), std::pair("B", &c.b)})
    table.rows.push_back({name, figure_text(side->peak->x, c.options.decimals),
                          figure_text(side->peak->y, c.options.decimals),
                          side->peak->concurrency ? level_text(*side->peak->concurrency) : "—",
                          side->peak->recipe});
  if (c.peak_gain) table.rows.push_back({"gain", gain_text(*c.peak_gain), "", "", ""});
  if (c.peak_interval)
    table.rows.push_back({"95 % interval", interval_text(c.peak_interval), "", "", ""});
  return table;
}

Table difference_table(const Comparison& c) {
  Table table;
  table.columns = {{"differs", kLeft}, {"A", kLeft}, {"B", kLeft}};
  for (const Difference& d : c.differences) table.rows.push_back({d.field, d.a, d.b});
  return table;
}

std::string interval_note(const Comparison& c) {
  if (!c.peak_interval && !has_interval(c.same_concurrency) && !has_interval(c.iso_throughput) &&
      !has_interval(c.iso_interactivity))
    return "";
  return fmt::format(
      "95 % intervals of the gains: expanded percentile bootstrap over repeats, {} "
      "draws (below {} repeats Student's t of them); — where a point behind the gain was measured "
      "once",
      kBootstrapDraws, kFewestForPercentiles);
}

std::string marks_legend(const Comparison& c) {
  bool used[4] = {};
  for_each_cell(c, [&](const char*, const IsoRow&, const Reading& reading, Metric) {
    used[static_cast<size_t>(reading.state)] = true;
  });
  std::string legend;
  const auto add = [&](State state, const char* text) {
    if (used[static_cast<size_t>(state)])
      legend += (legend.empty() ? "" : ", ") + std::string(text);
  };
  add(State::kMeasured, "plain measured");
  add(State::kInterpolated, "~ interpolated");
  add(State::kExtrapolated, "^ extrapolated");
  add(State::kUnreachable, "— unreachable");
  return legend;
}

std::vector<std::string> unreachable_notes(const Comparison& c) {
  std::vector<std::string> notes;
  for_each_cell(c, [&](const char* side, const IsoRow& row, const Reading& reading, Metric metric) {
    if (reading.state == State::kUnreachable)
      notes.push_back(fmt::format("{} at {} {}: {}", side, level_text(row.level),
                                  info(metric).title, reading.reason));
  });
  return notes;
}

}  // namespace headroom::analysis
