// Export: stored records as JSON that import reads back whole, and as other tools' rows.
#pragma once

#include <span>
#include <string>

#include "results/store.h"

namespace headroom::results {

/// One object: {"records": [{"id", "origin", "added", "quarantine", "record"}]}; loses nothing.
std::string export_json(std::span<const StoredRecord> records);

/// InferenceX's published rows, one JSON object a line, by its field names, units (seconds) and
/// formulas: interactivity = 1000 / TPOT(ms) of the same statistic, tok/s/GPU of input and output
/// together. What a record does not hold is left out.
std::string export_inferencex(std::span<const StoredRecord> records);

}  // namespace headroom::results
