// PointReport: a measured point for people (a table row) and for programs (a JSON object).
#pragma once

#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "base/table.h"
#include "results/record.h"

namespace headroom::load {

/// The fields of the design's table, each absent (null) when it was not measured. Percentile p of
/// interactivity is 1000 ÷ the p-th percentile of TPOT in ms: p99 is the slowest 1 %.
void write_point(base::JsonWriter& json, const results::Record& record, std::string_view id);

base::Table point_table();
void add_point_row(base::Table& table, const results::Record& record);
/// Takes the last columns away while no row has a figure in them (steady out, tok/s/GPU).
void drop_absent_columns(base::Table& table);

/// One line a doubt: "client_bound: …".
std::string doubt_lines(const results::Record& record);

/// One line for the end of a point: "4 streams: 48 of 48 ok, TTFT 35.1 ms, …".
std::string point_line(const results::Record& record);

}  // namespace headroom::load
