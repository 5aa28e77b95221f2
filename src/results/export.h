// Export: stored records as JSON that import reads back whole.
#pragma once

#include <span>
#include <string>

#include "results/store.h"

namespace headroom::results {

/// One object: {"records": [{"id", "origin", "added", "quarantine", "record"}]}; loses nothing.
std::string export_json(std::span<const StoredRecord> records);

}  // namespace headroom::results
