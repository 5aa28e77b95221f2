// View: what a report shows, worked out from the records before any HTML is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/compare.h"
#include "dash/chart.h"
#include "dash/report.h"

namespace headroom::dash {

struct RunView {
  const ReportRun* run = nullptr;
  int slot = 0;                // colour and marker
  analysis::SeriesSet series;  // x: interactivity, y: throughput
  std::vector<analysis::Point> frontier;
};

struct View {
  std::string title, date, command;
  analysis::ReadOptions read;
  analysis::Metric throughput = analysis::Metric::kTokSGpu;
  std::vector<RunView> runs;
  std::vector<analysis::Comparison> comparisons;  // run i and run i + 1
  Chart chart;
  std::vector<std::string> notes;
};

base::Result<View> build_view(const std::vector<ReportRun>& runs, const ReportOptions& options);

/// The record behind a point, its first repeat.
const results::StoredRecord* record_of(const ReportRun& run, const analysis::Point& point);

/// "At equal concurrency B gives each user 4.7 to 12.0 times A's tokens per second; …" in HTML.
std::string headline_html(const analysis::Comparison& comparison);

// The sections of the page, each "" when it has nothing to say.
std::string comparison_html(const analysis::Comparison& comparison, const View& view);
std::string points_html(const RunView& run, const View& view);
std::string plans_html(const View& view);
std::string machine_html(const View& view);
std::string method_html(const View& view);

}  // namespace headroom::dash
