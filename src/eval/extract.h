// The numbers of an answer by the two rules of lm-eval's GSM8K task, so that scores compare.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace headroom::eval {

/// The first "#### (-?[0-9.,]+)".
std::optional<std::string> strict_match(std::string_view answer);

/// The last of "(-?[$0-9.,]{2,})|(-?[0-9]+)", as a scan from left to right finds them.
std::optional<std::string> flexible_match(std::string_view answer);

/// What is compared: without commas, dollar signs and one full stop at the end.
std::string normalised(std::string_view number);

}  // namespace headroom::eval
