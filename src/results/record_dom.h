// Inside results/: a record from JSON that is parsed already.
#pragma once

#include <simdjson.h>

#include "results/record.h"

namespace headroom::results {

/// `path` stands before field names in errors; empty for a record on its own.
base::Result<Record> record_from_element(const simdjson::dom::element& element,
                                         const std::string& path);

}  // namespace headroom::results
