// Lines of a text file, for the readers of datasets and schedules.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace headroom::load {

/// Calls `take(line, number)` for every line with something in it, without its end and the blanks
/// around it, until it returns false. Numbers count from 1.
void for_each_line(std::string_view text,
                   const std::function<bool(std::string_view, size_t)>& take);

/// At most 60 bytes of a value from outside, clean enough for an error message.
std::string shortened(std::string_view text);

}  // namespace headroom::load
