// PointTable: stored points as one wide table, for CSV and Markdown.
#pragma once

#include <span>

#include "analysis/metric.h"
#include "base/table.h"
#include "results/store.h"

namespace headroom::analysis {

/// Columns under the names that import reads; those that no record fills are left out. Imported
/// figures keep their printed text, so that importing the CSV again changes nothing; measured ones
/// are medians in full precision.
base::Table point_table(std::span<const results::StoredRecord> records, const ReadOptions& options);

/// The same points for eyes: few columns, rounded.
base::Table point_list(std::span<const results::StoredRecord> records, const ReadOptions& options);

}  // namespace headroom::analysis
