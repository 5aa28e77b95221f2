// Dates as text.
#pragma once

#include <string_view>

namespace headroom::results {

/// True for a day that exists, as YYYY-MM-DD.
bool is_date(std::string_view text);

}  // namespace headroom::results
