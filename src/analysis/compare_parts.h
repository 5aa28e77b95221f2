// Inside compare/: what the computation hands to the warnings.
#pragma once

#include "analysis/compare.h"

namespace headroom::analysis {

/// The curves of one side: one a series (linear) or one over its frontier (steffen).
std::vector<Curve> curves_of(const SeriesSet& set, const CompareOptions& options, Axis x, Axis y);

/// Everything but the warnings. `options` complete but for levels.
base::Result<Comparison> compute(const CompareInput& a, const CompareInput& b,
                                 const CompareOptions& options);

/// The rows at the levels of c.options, and the gain of the peaks.
void add_rows(Comparison& c, const SeriesSet& a, const SeriesSet& b);
/// The intervals of all gains, from the repeats in the two sets.
void add_intervals(Comparison& c, const SeriesSet& a, const SeriesSet& b);

ReadOptions read_options(const CompareOptions& options);

std::vector<Warning> warnings_of(const Comparison& comparison, const CompareInput& a,
                                 const CompareInput& b,
                                 std::span<const results::StoredRecord> stored);

/// A level as people write it: "337", "348.5".
std::string level_text(double level);
std::string gain_text(double gain);

}  // namespace headroom::analysis
