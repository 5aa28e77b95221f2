// The program's version.
#pragma once

#include <string>

namespace headroom::base {

inline constexpr const char* kVersion = "0.1.0";

/// "headroom 0.1.0 (clang 19.1.7)"
std::string version_line();

}  // namespace headroom::base
