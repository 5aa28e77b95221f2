// Schedule files: offsets in time, a line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::load {

/// Seconds in the file's order; see read_schedule. Errors (kDataLoss) name file, line and value.
base::Result<std::vector<double>> read_schedule_file(const std::string& path);
/// The same of a text; `where` starts messages.
base::Result<std::vector<double>> parse_schedule(std::string_view where, std::string_view text);

}  // namespace headroom::load
