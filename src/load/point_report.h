// PointReport: a measured point for people (a table row) and for programs (a JSON object).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"
#include "base/table.h"
#include "results/record.h"

namespace headroom::load {

struct ReportOptions {
  /// Shows p99 of fewer than 100 and p99.9 of fewer than 1,000 samples too.
  bool force_percentiles = false;
};

/// Why a percentile of so few samples says nothing ("42 samples, fewer than 100"); empty: it does.
std::string percentile_refusal(double percent, uint64_t samples);

/// The fields of the design's table, each absent (null) when it was not measured. Percentile p of
/// interactivity is 1000 ÷ the p-th percentile of TPOT in ms: p99 is the slowest 1 %. A refused
/// percentile is null, its reason under "refused".
void write_point(base::JsonWriter& json, const results::Record& record, std::string_view id,
                 const ReportOptions& options = {});

base::Table point_table();
void add_point_row(base::Table& table, const results::Record& record,
                   const ReportOptions& options = {});
/// Takes away the columns in which no row has a figure.
void drop_absent_columns(base::Table& table);

/// One line a doubt: "client_bound: …".
std::string doubt_lines(const results::Record& record);

/// "client_limited: no (…)", a line each point, or one for all when none was; empty: not judged.
std::string verdict_lines(const std::vector<const results::Record*>& records);

/// One line for the end of a point: "4 streams: 48 of 48 ok, TTFT 35.1 ms, …".
std::string point_line(const results::Record& record);

}  // namespace headroom::load
