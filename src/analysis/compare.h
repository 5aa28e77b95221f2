// Compare: two selections of records side by side, each cell with its method, state and evidence.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/bootstrap.h"
#include "analysis/curve.h"
#include "base/table.h"

namespace headroom::analysis {

struct CompareOptions {
  std::vector<double> levels = {};                // of throughput; empty: chosen, see levels_note
  std::vector<double> interactivity_levels = {};  // empty: chosen inside the overlap
  Method method = Method::kLinear;
  Basis basis = Basis::kPrecise;
  std::optional<Span> span = {};  // absent: steady where every record has one, else the whole run
  double percentile = 50;
  bool extrapolate = false;
  std::optional<Metric> level = {};  // absent: tok/s/GPU, or tok/s where no device count is known
  int decimals = 1;                  // of the tables
};

struct CompareInput {
  std::string name;  // the selector, or what the user calls it
  std::vector<results::StoredRecord> records;
};

struct Range {
  double low = 0, high = 0;
};

struct Side {
  std::string name;
  std::string server;  // frameworks and versions, "vllm 0.16.0"
  std::vector<RecipeSeries> series;
  std::vector<Point> frontier;
  size_t records = 0, left_out = 0;
  std::optional<Range> level, value;  // measured ranges of throughput and interactivity
  std::optional<Point> peak;          // highest throughput
  std::vector<std::string> plan;      // "mla_decode: avx512", one line per op
};

struct SameConcurrencyRow {
  double concurrency = 0;
  Reading a, b;
  std::optional<double> gain;
  std::optional<Interval> interval;              // of the gain; absent without repeats
  std::optional<double> a_level, b_level;        // throughput there
  std::optional<double> a_headroom, b_headroom;  // measured TPOT ÷ limit TPOT
};

/// One level; `a` and `b` are the other axis there.
struct IsoRow {
  double level = 0;
  Reading a, b;
  std::optional<double> gain;
  std::optional<Interval> interval;
};

struct Warning {
  std::string code, text;
};

struct Comparison {
  CompareOptions options;  // with everything that was absent chosen
  Metric level = Metric::kTokSGpu, value = Metric::kInteractivity;
  std::string levels_note;  // how levels were chosen, when they were
  Side a, b;
  std::vector<SameConcurrencyRow> same_concurrency;
  std::vector<IsoRow> iso_throughput;     // interactivity at equal throughput
  std::vector<IsoRow> iso_interactivity;  // throughput at equal interactivity
  std::optional<double> peak_gain;
  std::optional<Interval> peak_interval;
  std::optional<Range> level_overlap, value_overlap;
  std::vector<Difference> differences;  // recipes, and plans as "plan.<op>"
  std::vector<Warning> warnings;
};

/// `stored`: everything in the store, for the check whether something outside the selection is
/// better. kNotFound when a side has no point with both axes.
base::Result<Comparison> compare(const CompareInput& a, const CompareInput& b,
                                 std::span<const results::StoredRecord> stored,
                                 const CompareOptions& options);

/// b over a (a over b where less is better); absent when either is.
std::optional<double> gain_of(const Reading& a, const Reading& b, bool higher_is_better);

base::Table same_concurrency_table(const Comparison& comparison);
base::Table iso_throughput_table(const Comparison& comparison);
base::Table iso_interactivity_table(const Comparison& comparison);
base::Table peak_table(const Comparison& comparison);
base::Table difference_table(const Comparison& comparison);
/// "intervals: 95 %, bootstrap over …": how they were made; empty when there are none.
std::string interval_note(const Comparison& comparison);
/// "measured plain, ~ interpolated, ^ extrapolated, — unreachable": only the marks in use.
std::string marks_legend(const Comparison& comparison);
/// One line per unreachable cell, with its reason.
std::vector<std::string> unreachable_notes(const Comparison& comparison);

std::string terminal_text(const Comparison& comparison);
std::string markdown_text(const Comparison& comparison);
std::string csv_text(const Comparison& comparison);   // long form: one line per cell
std::string json_text(const Comparison& comparison);  // one object, full precision

}  // namespace headroom::analysis
