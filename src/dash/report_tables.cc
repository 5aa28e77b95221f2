// The report's tables: comparisons, every point, plans, machine.
#include <algorithm>
#include <map>
#include <set>

#include "dash/html.h"
#include "dash/report_view.h"

namespace headroom::dash {
namespace {

using analysis::figure_text;
using analysis::Metric;
using analysis::Reading;
using analysis::State;
using results::Record;

constexpr const char* kNone = "–";

Cell figure(const std::optional<double>& value, int decimals = 1, const std::string& css = "") {
  return Cell::number(value ? figure_text(*value, decimals) : kNone, css);
}

Cell times(const std::optional<double>& ratio, const std::string& css = "") {
  return Cell::number(ratio ? figure_text(*ratio, 1) + "×" : kNone, css);
}

Cell reading(const Reading& r, int decimals) {
  const std::string mark(analysis::state_mark(r.state));
  Cell cell = Cell::number(r.value ? mark + figure_text(*r.value, decimals) : mark,
                           std::string(analysis::state_name(r.state)));
  cell.title =
      r.state == State::kUnreachable ? r.reason : std::string(analysis::state_name(r.state));
  if (r.concurrency && r.state != State::kUnreachable)
    cell.title += fmt::format(", at {} requests", figure_text(*r.concurrency));
  return cell;
}

Cell run_head(const std::string& name, int slot, const std::string& unit) {
  return Cell::markup(
      fmt::format("{}{}<small>{}</small>", marker_svg(slot), escape(name), escape(unit)), "n");
}

int slot_of(const View& view, const analysis::Comparison& c, bool second) {
  const auto at = static_cast<size_t>(&c - view.comparisons.data()) + (second ? 1 : 0);
  return view.runs.at(at).slot;
}

std::string same_concurrency(const analysis::Comparison& c, const View& view) {
  const int a = slot_of(view, c, false), b = slot_of(view, c, true);
  const std::string value = analysis::metric_title(c.value, c.options.percentile);
  const std::string level = analysis::info(c.level).title;
  const auto any = [&](auto member) {
    return std::ranges::any_of(c.same_concurrency,
                               [&](const auto& row) { return (row.*member).has_value(); });
  };
  using Row = analysis::SameConcurrencyRow;
  const bool headroom = any(&Row::a_headroom) || any(&Row::b_headroom);
  HtmlTable table;
  table.caption = "At the same concurrency";
  table.head = {Cell::number("requests"),     run_head(c.a.name, a, value),
                run_head(c.b.name, b, value), Cell::number("gain"),
                run_head("", a, level),       run_head("", b, level)};
  if (headroom) {
    table.head.push_back(run_head("", a, "TPOT ÷ bound"));
    table.head.push_back(run_head("", b, "TPOT ÷ bound"));
  }
  for (const Row& row : c.same_concurrency) {
    std::vector<Cell> cells = {Cell::number(figure_text(row.concurrency, 0)),
                               reading(row.a, c.options.decimals),
                               reading(row.b, c.options.decimals),
                               times(row.gain, "gain"),
                               figure(row.a_level),
                               figure(row.b_level)};
    if (headroom) {
      cells.push_back(times(row.a_headroom));
      cells.push_back(times(row.b_headroom));
    }
    table.rows.push_back(std::move(cells));
  }
  return table.html();
}

std::string iso(const std::vector<analysis::IsoRow>& rows, const analysis::Comparison& c,
                const View& view, const std::string& caption, const std::string& level,
                const std::string& value) {
  const int a = slot_of(view, c, false), b = slot_of(view, c, true);
  HtmlTable table;
  table.caption = caption;
  table.head = {Cell::number(level),      run_head(c.a.name, a, value),
                Cell::number("requests"), run_head(c.b.name, b, value),
                Cell::number("requests"), Cell::number("gain")};
  for (const analysis::IsoRow& row : rows)
    table.rows.push_back({Cell::number(figure_text(row.level)), reading(row.a, c.options.decimals),
                          figure(row.a.concurrency, 1, "soft"), reading(row.b, c.options.decimals),
                          figure(row.b.concurrency, 1, "soft"), times(row.gain, "gain")});
  return table.html();
}

std::string differences(const analysis::Comparison& c) {
  HtmlTable table;
  table.caption = "What differs between the two";
  table.head = {Cell::text(""), Cell::text(c.a.name), Cell::text(c.b.name)};
  const auto shown = [](const analysis::Difference& d, const std::string& value) {
    return Cell::text(d.field == "fingerprint" ? value.substr(0, 12) : value, "any");
  };
  for (const analysis::Difference& d : c.differences)
    table.rows.push_back({Cell::text(d.field, "key"), shown(d, d.a), shown(d, d.b)});
  return table.rows.empty()
             ? "<p class=\"soft\">The records state no difference between the two recipes.</p>\n"
             : table.html();
}

std::string plan_table(const RunView& run) {
  const Record* planned = nullptr;
  for (const auto& stored : run.run->records)
    if (!stored.record.plan.empty() && planned == nullptr) planned = &stored.record;
  if (planned == nullptr) return "";
  HtmlTable table;
  table.head = {Cell::text("op"), Cell::text("kernel"), Cell::number("heads → rows"),
                Cell::number("in a step"), Cell::text("not taken, and why")};
  for (const results::PlanLine& line : planned->plan) {
    std::string refused;
    for (const auto& r : line.refused)
      refused += fmt::format("{}<b>{}</b> {}", refused.empty() ? "" : "; ", escape(r.kernel),
                             escape(r.reason));
    std::string rows = kNone;
    if (line.logical_rows.value_or(0) > 0 && line.kernel_rows)
      rows = fmt::format("{} → {}", *line.logical_rows, *line.kernel_rows);
    Cell op = Cell::text(line.op, "key");
    op.title = line.descriptor;
    table.rows.push_back({op, Cell::text(line.chosen, line.chosen == "reference" ? "warn" : ""),
                          Cell::number(rows),
                          Cell::number(line.count ? fmt::format("{}", *line.count) : kNone),
                          Cell::markup(refused.empty() ? kNone : refused, "soft wide")});
  }
  return table.html();
}

}  // namespace

std::string comparison_html(const analysis::Comparison& c, const View& view) {
  std::string out = fmt::format("<section>\n<h2>{} <span class=\"soft\">→</span> {}</h2>\n",
                                escape(c.a.name), escape(c.b.name));
  const std::string value = analysis::metric_title(c.value, c.options.percentile);
  const std::string level = analysis::info(c.level).title;
  out += same_concurrency(c, view);
  out += iso(c.iso_throughput, c, view, "At the same throughput", level, value);
  out += iso(c.iso_interactivity, c, view, "At the same speed for each user", value, level);
  const std::string legend = analysis::marks_legend(c);
  if (!legend.empty())
    out += fmt::format(
        "<p class=\"foot\">{}. Read {}.</p>\n", escape(legend),
        c.options.method == analysis::Method::kLinear
            ? "along straight lines between one recipe’s points, in order of concurrency"
            : "along a monotone cubic (Steffen) through the frontier");
  for (const std::string& note : analysis::unreachable_notes(c))
    out += fmt::format("<p class=\"foot\">{}</p>\n", escape(note));
  out += differences(c);
  if (!c.warnings.empty()) {
    out += fmt::format("<p class=\"foot\">To be read with these remarks; A is {}, B is {}.</p>\n",
                       escape(c.a.name), escape(c.b.name));
    out += "<ul class=\"notes\">\n";
    for (const analysis::Warning& warning : c.warnings)
      out += fmt::format("<li>{}</li>\n", escape(warning.text));
    out += "</ul>\n";
  }
  return out + "</section>\n";
}

std::string points_html(const RunView& run, const View& view) {
  HtmlTable table;
  const bool per_device = view.throughput == Metric::kTokSGpu;
  const char* unit = per_device ? "/GPU" : "";
  table.head = {Cell::number("requests"),
                Cell::markup(fmt::format("in + out<small>tok/s{}</small>", unit), "n"),
                Cell::markup(fmt::format("out<small>tok/s{}</small>", unit), "n"),
                Cell::markup("each user<small>tok/s</small>", "n"),
                Cell::markup("TPOT<small>median, ms</small>", "n"),
                Cell::markup("TPOT<small>p99, ms</small>", "n"),
                Cell::markup("TTFT<small>median, ms</small>", "n"),
                Cell::markup("bound<small>TPOT, ms</small>", "n"),
                Cell::markup("TPOT<small>÷ bound</small>", "n"),
                Cell::markup("bound<small>÷ throughput</small>", "n"),
                Cell::text("what binds"),
                Cell::markup("ok<small>of sent</small>", "n")};
  const bool several = run.series.series.size() > 1;
  if (several) table.head.insert(table.head.begin(), Cell::text("recipe"));
  for (const analysis::RecipeSeries& series : run.series.series)
    for (const analysis::Point& point : series.points) {
      const results::StoredRecord* stored = record_of(*run.run, point);
      if (stored == nullptr) continue;
      const Record& r = stored->record;
      const auto at = [&](Metric metric, double percentile) -> std::optional<double> {
        analysis::ReadOptions options = view.read;
        options.percentile = percentile;
        const auto found = analysis::read(r, metric, options);
        return found ? std::optional(found->value) : std::nullopt;
      };
      const bool published = r.published.tpot_ms || r.published.interactivity;
      const auto limit_tpot = r.limit ? r.limit->tpot_ms : std::nullopt;
      std::optional<double> room;
      if (r.limit && r.limit->tok_s_gpu)
        if (const auto measured = at(Metric::kTokSGpu, 50); measured && *measured > 0)
          room = *r.limit->tok_s_gpu / *measured;
      std::vector<Cell> cells = {
          Cell::number(point.concurrency ? analysis::in_flight_text(*point.concurrency) : "—"),
          figure(point.y),
          figure(at(per_device ? Metric::kOutputTokSGpu : Metric::kOutputTokS, 50)),
          figure(point.x),
          figure(at(Metric::kTpotMs, 50), 2),
          figure(published ? std::nullopt : at(Metric::kTpotMs, 99), 2),
          figure(at(Metric::kTtftMs, 50)),
          figure(limit_tpot, 2),
          times(point.headroom, "gain"),
          times(room, "gain"),
          Cell::text(r.limit ? r.limit->bound : kNone),
          Cell::number(
              r.measures.requests_ok && r.measures.requests_sent
                  ? fmt::format("{}/{}", *r.measures.requests_ok, *r.measures.requests_sent)
                  : kNone,
              r.measures.requests_ok != r.measures.requests_sent ? "warn" : "")};
      if (several) cells.insert(cells.begin(), Cell::text(series.label));
      table.rows.push_back(std::move(cells));
    }
  return fmt::format("<h3>{}{}</h3>\n{}", marker_svg(run.slot), escape(run.run->name),
                     table.html());
}

std::string plans_html(const View& view) {
  std::string out;
  for (const RunView& run : view.runs)
    if (const std::string table = plan_table(run); !table.empty())
      out += fmt::format("<h3>{}{}</h3>\n{}", marker_svg(run.slot), escape(run.run->name), table);
  if (out.empty()) return "";
  return "<section>\n<h2>The plan of each server</h2>\n<p>Which kernel serves each op, decided "
         "before "
         "the first request, and why every other one was passed over.</p>\n" +
         out + "</section>\n";
}

std::string machine_html(const View& view) {
  // One row for each field, one column for each run; a row that is the same everywhere is said
  // once.
  std::vector<std::pair<std::string, std::vector<std::set<std::string>>>> rows;
  const auto put = [&](const std::string& name, size_t run, const std::string& value) {
    if (value.empty()) return;
    auto row = std::ranges::find(rows, name, &decltype(rows)::value_type::first);
    if (row == rows.end())
      row = rows.insert(rows.end(), {name, std::vector<std::set<std::string>>(view.runs.size())});
    row->second[run].insert(value);
  };
  for (size_t i = 0; i < view.runs.size(); ++i)
    for (const auto& stored : view.runs[i].run->records) {
      const Record& r = stored.record;
      put("hardware", i, r.hardware.name);
      if (r.hardware.devices)
        put("devices", i,
            fmt::format(
                "{}{}", *r.hardware.devices,
                r.hardware.devices_source.empty() ? "" : " (" + r.hardware.devices_source + ")"));
      put("model", i, r.server.model);
      put("weights", i, r.server.precision);
      put("cache rows", i, r.server.kv);
      put("attention", i, r.server.attention);
      put("server", i,
          r.server.framework + (r.server.framework_version.empty() ? "" : " ") +
              r.server.framework_version);
      put("command", i, r.server.command);
      if (r.workload.input_tokens && r.workload.output_tokens)
        put("tokens", i,
            fmt::format("{} in, {} out", *r.workload.input_tokens, *r.workload.output_tokens));
      put("prompts", i, r.workload.dataset);
      put("arrivals", i, r.workload.arrivals);
      put("client", i, r.client);
      put("measured", i, r.time.empty() ? r.date : r.time.substr(0, 16));
      if (r.limit) put("bound from", i, fmt::format("{} ({})", r.limit->hardware, r.limit->basis));
      for (const auto& [name, value] : r.server.environment) put(name, i, value);
    }
  // Of many values the first and the last say enough.
  const auto text_of = [](const std::set<std::string>& values) {
    if (values.empty()) return std::string(kNone);
    if (values.size() > 3) return *values.begin() + " … " + *values.rbegin();
    return fmt::format("{}", fmt::join(values, ", "));
  };
  std::string common;
  HtmlTable table;
  table.caption = "Where the runs differ";
  table.head.push_back(Cell::text(""));
  for (const RunView& run : view.runs)
    table.head.push_back(Cell::markup(marker_svg(run.slot) + escape(run.run->name)));
  for (const auto& [name, values] : rows) {
    if (std::ranges::all_of(values, [&](const auto& of_run) { return of_run == values.front(); })) {
      common +=
          fmt::format("<dt>{}</dt><dd{}>{}</dd>\n", escape(name),
                      name == "command" ? " class=\"code\"" : "", escape(text_of(values.front())));
      continue;
    }
    std::vector<Cell> cells = {Cell::text(name, "key")};
    for (const auto& of_run : values)
      cells.push_back(Cell::text(text_of(of_run), name == "command" ? "code" : ""));
    table.rows.push_back(std::move(cells));
  }
  if (!common.empty()) common = "<dl>\n" + common + "</dl>\n";
  return "<section>\n<h2>Machine, servers, workload</h2>\n" + common + table.html() +
         "</section>\n";
}

}  // namespace headroom::dash
