// Series: the operating points of one recipe, repeats averaged, in order of load.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/metric.h"
#include "results/store.h"

namespace headroom::analysis {

/// One recipe at one load on one pair of axes.
struct Point {
  double x = 0, y = 0;
  std::optional<double> concurrency;  // at a rate: mean requests in flight
  std::optional<double> rate;         // requests a second that were asked for; absent: closed loop
  std::optional<double> headroom;     // measured TPOT ÷ limit TPOT
  std::string recipe;                 // RecipeSeries::label
  std::string layout;                 // "tp=8"; empty where none is known
  std::string source;                 // of y: "tpot", "interactivity", "measured"; "+" joins two
  std::vector<std::string> evidence;  // ids of the records behind it
  size_t repeats = 1;
  std::vector<std::pair<double, double>> samples;  // x and y of each repeat; x, y are their means
};

struct RecipeSeries {
  std::string key;    // everything that must agree for two points to share a line
  std::string label;  // short: "tp=8", "avx512 fp8"
  std::string date;
  std::vector<Point> points;  // by concurrency, then x
};

/// Groups records by recipe and date, one series each, in order of first appearance; records that
/// lack one of the axes are left out and counted.
struct SeriesSet {
  std::vector<RecipeSeries> series;
  size_t left_out = 0;
  std::vector<Point> points() const;  // of all series
};
SeriesSet build_series(std::span<const results::StoredRecord> records, Metric x, Metric y,
                       const ReadOptions& options);

/// Everything the recipe fixes, as text: model, hardware, framework, layout, workload, flags …
std::string recipe_key(const results::Record& record);
/// "tp=8", "tp=4 ep=4 fp8 avx512"; the recipe's name where it has one.
std::string recipe_label(const results::Record& record);

/// Requests in flight: the users of a closed loop, at a rate the mean by Little's law.
std::optional<double> requests_in_flight(const results::Record& record);
/// "16", "0.31".
std::string in_flight_text(double requests);

/// The parallel layout alone: "tp=8", "tp=4 ep=4"; empty where none is known.
std::string layout_label(const results::Record& record);

/// The fields of the recipe that differ between two records, with both values.
struct Difference {
  std::string field, a, b;
};
std::vector<Difference> recipe_differences(std::span<const results::StoredRecord> a,
                                           std::span<const results::StoredRecord> b);

}  // namespace headroom::analysis
