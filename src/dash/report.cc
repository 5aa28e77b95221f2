// Puts the page together: head, chart, comparisons, tables, method.
#include "dash/report.h"

#include <algorithm>
#include <map>

#include "analysis/validity.h"
#include "base/check.h"
#include "base/version.h"
#include "dash/embedded.h"
#include "dash/html.h"
#include "dash/report_view.h"

namespace headroom::dash {
namespace {

using results::StoredRecord;

/// "4.7 to 12.0 times", "2.1 times".
std::string span_text(double low, double high) {
  const std::string a = analysis::figure_text(low), b = analysis::figure_text(high);
  return a == b ? a + " times" : fmt::format("{} to {} times", a, b);
}

std::string legend_html(const View& view) {
  std::string out = "<ul class=\"legend\">\n";
  for (const RunView& run : view.runs) {
    std::vector<std::string> facts;
    const results::Record& r = run.run->records.front().record;
    if (!r.server.attention.empty()) facts.push_back(r.server.attention + " attention");
    if (!r.server.kv.empty()) facts.push_back(r.server.kv + " cache");
    if (!r.server.framework.empty())
      facts.push_back(r.server.framework + (r.server.framework_version.empty() ? "" : " ") +
                      r.server.framework_version);
    out +=
        fmt::format("<li>{}<b>{}</b> <span class=\"soft\">{}</span></li>\n", marker_svg(run.slot),
                    escape(run.run->name), escape(fmt::format("{}", fmt::join(facts, ", "))));
  }
  return out + "</ul>\n";
}

std::string chart_html(const View& view) {
  std::string caption =
      "Up and to the right is better. The number beside a point is the count of requests in flight";
  if (!view.chart.limits.empty())
    caption += "; dashed is what the hardware’s memory, arithmetic and links allow at best";
  const bool hollow = std::ranges::any_of(view.chart.lines, [](const ChartLine& line) {
    return std::ranges::any_of(line.points, &ChartPoint::hollow);
  });
  if (hollow) caption += "; hollow points are beaten by another point of their run";
  return fmt::format(
      "<figure>\n<div class=\"wide\">{}</div>\n<div class=\"narrow\">{}</div>\n{}"
      "<figcaption>{}.</figcaption>\n</figure>\n",
      chart_svg(view.chart, 920, 520), chart_svg(view.chart, 420, 440), legend_html(view), caption);
}

std::string load_text(const results::Record& record) {
  const auto in_flight = analysis::requests_in_flight(record);
  return in_flight ? analysis::in_flight_text(*in_flight) : "?";
}

std::string notes_html(const View& view) {
  std::vector<std::string> notes = view.notes;
  for (const RunView& run : view.runs)
    for (const StoredRecord& stored : run.run->records)
      for (const analysis::Flag& flag : analysis::validity_flags(stored.record))
        notes.push_back(
            fmt::format("{}, {} requests: {}", run.run->name, load_text(stored.record), flag.text));
  if (notes.empty()) return "";
  std::string out = "<section>\n<h2>To be read with</h2>\n<ul class=\"notes\">\n";
  for (const std::string& note : notes) out += fmt::format("<li>{}</li>\n", escape(note));
  return out + "</ul>\n</section>\n";
}

}  // namespace

std::string_view asset(std::string_view name) {
  for (const base::EmbeddedFile& file : embedded_files())
    if (file.name == name) return file.text;
  HEADROOM_CHECK(false, "no asset {}", name);
  return {};
}

std::string headline_html(const analysis::Comparison& c) {
  std::vector<std::string> parts;
  double low = 0, high = 0;
  for (const auto& row : c.same_concurrency) {
    if (!row.gain) continue;
    low = low == 0 ? *row.gain : std::min(low, *row.gain);
    high = std::max(high, *row.gain);
  }
  const std::string b = fmt::format("<b>{}</b>", escape(c.b.name));
  const std::string a = fmt::format("<b>{}</b>", escape(c.a.name));
  if (high > 0)
    parts.push_back(
        fmt::format("At equal concurrency {} gives each user {} the tokens per second of {}", b,
                    span_text(low, high), a));
  // The smallest: where a line runs flat, a reading falls far below the run's own best point.
  const analysis::IsoRow* best = nullptr;
  for (const auto& row : c.iso_throughput)
    if (row.gain && (best == nullptr || *row.gain < *best->gain)) best = &row;
  if (best != nullptr)
    parts.push_back(fmt::format("at {} {} the gain is {} times", analysis::figure_text(best->level),
                                escape(analysis::info(c.level).title),
                                analysis::figure_text(*best->gain)));
  const std::string unit = escape(analysis::info(c.level).title);
  if (best == nullptr && c.a.level && c.b.level && c.b.level->low > c.a.level->high)
    parts.push_back(fmt::format(
        "no throughput is within reach of both: its lowest, {} {}, is {} times the other’s highest",
        analysis::figure_text(c.b.level->low), unit,
        analysis::figure_text(c.b.level->low / c.a.level->high)));
  else if (c.peak_gain)
    parts.push_back(fmt::format("the highest throughput measured is {} times as high",
                                analysis::figure_text(*c.peak_gain, 2)));
  if (parts.empty()) return fmt::format("{} and {} share no operating point to compare.", a, b);
  return fmt::format("{}.", fmt::join(parts, "; "));
}

std::string method_html(const View& view) {
  std::string out =
      "<section>\n<h2>How to read the figures</h2>\n<dl>\n"
      "<dt>each user, tok/s</dt><dd>1000 ÷ TPOT in milliseconds, TPOT being (E2E − TTFT) ÷ (output "
      "tokens − 1) of a request; the median over requests unless a percentile is named.</dd>\n"
      "<dt>tok/s/GPU</dt><dd>input and output tokens ÷ time ÷ all devices that served. A processor "
      "with all its cores counts as one device.</dd>\n"
      "<dt>TTFT, E2E</dt><dd>from the last byte of the request to the first, and to the last, "
      "chunk "
      "that carries text.</dd>\n"
      "<dt>bound</dt><dd>the least time of a decode step with this batch: every weight that the "
      "batch "
      "needs and every cache row read once at the hardware’s rate, every multiply-add done once at "
      "its "
      "peak, traffic at the link’s rate, all three overlapped. The bound on throughput counts the "
      "prompts’ arithmetic too. Routing is taken as uniform.</dd>\n"
      "<dt>÷ bound</dt><dd>headroom, the distance to that bound: 1 is at it.</dd>\n</dl>\n";
  out += fmt::format(
      "<p class=\"foot\">Latencies and rates are of {}.</p>\n",
      view.read.span == analysis::Span::kSteady
          ? "the steady window, the longest span at 95 % or more of the target concurrency"
          : "the whole run");
  if (!view.command.empty())
    out += fmt::format("<p class=\"foot\">This page again: <code>{}</code></p>\n",
                       escape(view.command));
  return out + "</section>\n";
}

std::vector<ReportRun> runs_of(std::vector<StoredRecord> records) {
  std::ranges::sort(records, [](const StoredRecord& a, const StoredRecord& b) {
    return std::tie(a.record.date, a.record.time, a.id) <
           std::tie(b.record.date, b.record.time, b.id);
  });
  std::vector<ReportRun> runs;
  for (StoredRecord& stored : records) {
    const results::Record& r = stored.record;
    std::string name = !r.label.empty() ? r.label : !r.run.empty() ? r.run : r.date;
    auto run = std::ranges::find(runs, name, &ReportRun::name);
    if (run == runs.end()) run = runs.insert(runs.end(), ReportRun{std::move(name), {}});
    run->records.push_back(std::move(stored));
  }
  return runs;
}

std::vector<std::string> add_limits(std::vector<ReportRun>& runs, const LimitHints& hints) {
  std::map<std::string, std::vector<std::string>> without;  // reason: runs
  for (ReportRun& run : runs)
    for (StoredRecord& stored : run.records) {
      if (stored.record.limit) continue;
      auto found = limit_of(stored.record, hints);
      if (found) {
        stored.record.limit = std::move(*found);
        continue;
      }
      auto& names = without[found.error().message];
      if (std::ranges::find(names, run.name) == names.end()) names.push_back(run.name);
    }
  std::vector<std::string> notes;
  for (const auto& [reason, names] : without)
    notes.push_back(fmt::format("no bound for {}: {}", fmt::join(names, ", "), reason));
  return notes;
}

base::Result<std::string> report_html(std::vector<ReportRun> runs, const ReportOptions& options) {
  if (runs.empty()) return base::fail(base::ErrorCode::kNotFound, "there is no run to report on");
  const std::vector<std::string> without = add_limits(runs, options.limit);
  HEADROOM_TRY(View view, build_view(runs, options));
  view.notes.insert(view.notes.end(), without.begin(), without.end());
  std::string body =
      fmt::format("<header>\n<p class=\"kicker\">Headroom report · {}</p>\n<h1>{}</h1>\n",
                  escape(view.date.substr(0, 10)), escape(view.title));
  for (const analysis::Comparison& c : view.comparisons)
    body += fmt::format("<p class=\"lede\">{}</p>\n", headline_html(c));
  body += "</header>\n" + chart_html(view);
  for (const analysis::Comparison& c : view.comparisons) body += comparison_html(c, view);
  body += "<section>\n<h2>Every point</h2>\n";
  for (const RunView& run : view.runs) body += points_html(run, view);
  body +=
      "</section>\n" + plans_html(view) + machine_html(view) + notes_html(view) + method_html(view);
  body +=
      fmt::format("<footer>{} · {}</footer>\n", escape(base::version_line()), escape(view.date));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n<main>\n{}</main>\n"
      "<div id=\"tip\" role=\"tooltip\" hidden></div>\n<script>\n{}</script>\n</body>\n</html>\n",
      escape(view.title), asset("report.css"), body, asset("report.js"));
}

}  // namespace headroom::dash
