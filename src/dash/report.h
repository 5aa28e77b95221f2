// report: one self-contained HTML page about two or more measured runs.
#pragma once

#include <string>
#include <vector>

#include "analysis/compare.h"
#include "base/result.h"
#include "dash/limits.h"
#include "results/store.h"

namespace headroom::dash {

struct ReportRun {
  std::string name;  // the selector, or what the user calls it
  std::vector<results::StoredRecord> records;
};

struct ReportOptions {
  std::string title;                 // absent: the model and the hardware
  std::string command;               // that made the page, shown for replay
  std::string date;                  // RFC 3339, of the page
  std::vector<std::string> notes;    // warnings of the caller, shown with ours
  analysis::CompareOptions compare;  // each run is compared with the one before it
  LimitHints limit;
};

/// Splits records into runs where nobody named any: by label, else by sweep, in order of time.
std::vector<ReportRun> runs_of(std::vector<results::StoredRecord> records);

/// Fills in the limit of every record that lacks one and says enough; returns why others have none,
/// each reason once.
std::vector<std::string> add_limits(std::vector<ReportRun>& runs, const LimitHints& hints);

/// The page. Everything that comes from records is escaped. Needs at least one run with a point
/// that has both throughput and interactivity: else kNotFound names the run.
base::Result<std::string> report_html(std::vector<ReportRun> runs, const ReportOptions& options);

}  // namespace headroom::dash
