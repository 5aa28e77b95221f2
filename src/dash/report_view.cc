// Works out series, frontiers, comparisons, limits and hover texts.
#include "dash/report_view.h"

#include <algorithm>
#include <set>

namespace headroom::dash {
namespace {

using analysis::Metric;
using results::Record;
using results::StoredRecord;

std::string tip_of(const Record& record, const View& view) {
  std::string tip;
  const auto line = [&](std::string_view name, std::string_view value) {
    tip += fmt::format("{}{}\t{}", tip.empty() ? "" : "\n", name, value);
  };
  const auto figure = [&](std::string_view name, Metric metric, double percentile,
                          std::string_view unit) {
    analysis::ReadOptions options = view.read;
    options.percentile = percentile;
    if (const auto value = analysis::read(record, metric, options))
      line(name, fmt::format("{} {}", analysis::figure_text(value->value), unit));
  };
  if (const auto in_flight = analysis::requests_in_flight(record))
    line("requests in flight", analysis::in_flight_text(*in_flight));
  if (record.workload.rate)
    line("offered", fmt::format("{:.3g} requests/s", *record.workload.rate));
  figure("throughput, in + out", Metric::kTokSGpu, 50, "tok/s/GPU");
  figure("throughput, out", Metric::kOutputTokSGpu, 50, "tok/s/GPU");
  figure("each user", Metric::kInteractivity, 50, "tok/s");
  figure("TPOT, median", Metric::kTpotMs, 50, "ms");
  if (record.published.tpot_ms == std::nullopt) figure("TPOT, p99", Metric::kTpotMs, 99, "ms");
  figure("TTFT, median", Metric::kTtftMs, 50, "ms");
  figure("end to end, median", Metric::kE2eMs, 50, "ms");
  if (record.limit && record.limit->tpot_ms)
    line("TPOT, bound", fmt::format("{} ms ({})", analysis::figure_text(*record.limit->tpot_ms, 2),
                                    record.limit->bound));
  figure("TPOT ÷ bound", Metric::kHeadroom, 50, "");
  if (record.measures.requests_ok && record.measures.requests_sent)
    line("requests ok",
         fmt::format("{} of {}", *record.measures.requests_ok, *record.measures.requests_sent));
  return tip;
}

void add_lines(View& view) {
  for (const RunView& run : view.runs) {
    std::set<std::string> on_frontier;
    for (const analysis::Point& p : run.frontier) on_frontier.insert(p.evidence.front());
    for (const analysis::RecipeSeries& series : run.series.series) {
      ChartLine line;
      line.slot = run.slot;
      line.name = run.series.series.size() == 1
                      ? run.run->name
                      : fmt::format("{}: {}", run.run->name, series.label);
      for (const analysis::Point& p : series.points) {
        const StoredRecord* stored = record_of(*run.run, p);
        line.points.push_back({p.x, p.y,
                               p.concurrency ? analysis::in_flight_text(*p.concurrency) : "",
                               stored ? tip_of(stored->record, view) : "",
                               !on_frontier.contains(p.evidence.front())});
      }
      view.chart.lines.push_back(std::move(line));
    }
  }
}

/// One dashed curve for each different bound; runs that share one get it in grey.
void add_limit_curves(View& view, const LimitHints& hints) {
  struct Drawn {
    std::vector<std::pair<double, double>> points;
    std::vector<const RunView*> runs;
  };
  std::vector<Drawn> all;
  for (const RunView& run : view.runs) {
    int64_t fewest = INT64_MAX, most = 1;
    const Record* first = nullptr;
    for (const StoredRecord& stored : run.run->records) {
      if (!stored.record.workload.concurrency) continue;
      fewest = std::min(fewest, *stored.record.workload.concurrency);
      most = std::max(most, *stored.record.workload.concurrency);
      if (first == nullptr) first = &stored.record;
    }
    if (first == nullptr) continue;
    const auto asked = limit_question(*first, hints);
    if (!asked) continue;
    const auto curve = limit_curve(*asked, std::max(int64_t{1}, fewest), most);
    if (!curve) continue;
    const auto close = [&](const Drawn& other) {
      if (other.points.size() != curve->size()) return false;
      for (size_t i = 0; i < curve->size(); ++i)
        if (std::abs(other.points[i].first / (*curve)[i].first - 1) > 0.02 ||
            std::abs(other.points[i].second / (*curve)[i].second - 1) > 0.02)
          return false;
      return true;
    };
    const auto same = std::ranges::find_if(all, close);
    if (same == all.end())
      all.push_back({*curve, {&run}});
    else
      same->runs.push_back(&run);
  }
  for (Drawn& drawn : all) {
    const bool shared = drawn.runs.size() > 1 || all.size() == 1;
    view.chart.limits.push_back(
        {shared && all.size() == 1 ? "hardware bound" : "bound of " + drawn.runs.front()->run->name,
         shared && drawn.runs.size() > 1 ? -1 : drawn.runs.front()->slot, std::move(drawn.points)});
  }
}

std::string default_title(const std::vector<ReportRun>& runs) {
  std::set<std::string> models, hardware;
  for (const ReportRun& run : runs)
    for (const StoredRecord& stored : run.records) {
      if (!stored.record.server.model.empty()) models.insert(stored.record.server.model);
      if (!stored.record.hardware.name.empty()) hardware.insert(stored.record.hardware.name);
    }
  std::string title = models.empty() ? "Measured runs" : fmt::format("{}", fmt::join(models, ", "));
  if (!hardware.empty()) title += fmt::format(" on {}", fmt::join(hardware, ", "));
  return title;
}

/// tok/s/GPU unless more points can say tok/s alone.
Metric throughput_of(const std::vector<ReportRun>& runs, const analysis::ReadOptions& read) {
  size_t per_device = 0, plain = 0;
  for (const ReportRun& run : runs)
    for (const StoredRecord& stored : run.records) {
      per_device += analysis::read(stored.record, Metric::kTokSGpu, read).has_value();
      plain += analysis::read(stored.record, Metric::kTokS, read).has_value();
    }
  return plain > per_device ? Metric::kTokS : Metric::kTokSGpu;
}

}  // namespace

const StoredRecord* record_of(const ReportRun& run, const analysis::Point& point) {
  for (const StoredRecord& stored : run.records)
    if (!point.evidence.empty() && stored.id == point.evidence.front()) return &stored;
  return nullptr;
}

base::Result<View> build_view(const std::vector<ReportRun>& runs, const ReportOptions& options) {
  View view;
  view.title = options.title.empty() ? default_title(runs) : options.title;
  view.date = options.date;
  view.command = options.command;
  view.notes = options.notes;
  view.read = {options.compare.basis, options.compare.span.value_or(analysis::Span::kWhole),
               options.compare.percentile};

  for (size_t i = 1; i < runs.size(); ++i) {
    // The page shows every run, so a better one beside the pair is nothing that it hides.
    std::vector<StoredRecord> pair = runs[i - 1].records;
    pair.insert(pair.end(), runs[i].records.begin(), runs[i].records.end());
    HEADROOM_TRY(analysis::Comparison comparison,
                 analysis::compare({runs[i - 1].name, runs[i - 1].records},
                                   {runs[i].name, runs[i].records}, pair, options.compare));
    view.comparisons.push_back(std::move(comparison));
  }
  if (view.comparisons.empty()) {
    view.throughput = throughput_of(runs, view.read);
  } else {
    view.throughput = view.comparisons.front().level;
    view.read.span = view.comparisons.front().options.span.value_or(view.read.span);
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    RunView run;
    run.run = &runs[i];
    run.slot = static_cast<int>(i % kSlots);
    run.series =
        analysis::build_series(runs[i].records, Metric::kInteractivity, view.throughput, view.read);
    const std::vector<analysis::Point> points = run.series.points();
    if (points.empty())
      return base::fail(base::ErrorCode::kNotFound,
                        "run `{}`: none of its {} records has both throughput and interactivity",
                        runs[i].name, runs[i].records.size());
    run.frontier = analysis::frontier(points, analysis::axis(Metric::kInteractivity),
                                      analysis::axis(view.throughput));
    if (run.series.left_out > 0)
      view.notes.push_back(fmt::format("{}: {} record(s) without throughput or TPOT are left out",
                                       runs[i].name, run.series.left_out));
    view.runs.push_back(std::move(run));
  }
  view.chart.x_title = analysis::metric_title(Metric::kInteractivity, view.read.percentile);
  view.chart.y_title = analysis::info(view.throughput).title;
  add_lines(view);
  if (view.throughput == Metric::kTokSGpu) add_limit_curves(view, options.limit);
  view.chart.description =
      fmt::format("Throughput in {} over speed for each user in {}, one line for each of {} runs",
                  view.chart.y_title, view.chart.x_title, view.runs.size());
  return view;
}

}  // namespace headroom::dash
