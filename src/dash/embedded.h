// The style sheet and script of reports, compiled into the program.
#pragma once

#include <span>
#include <string_view>

#include "base/embedded.h"

namespace headroom::dash {

std::span<const base::EmbeddedFile> embedded_files();
/// The text of one of them; asking for one that is not there is a broken invariant.
std::string_view asset(std::string_view name);

}  // namespace headroom::dash
