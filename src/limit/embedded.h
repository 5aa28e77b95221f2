// The hardware and shape files that are compiled into the program.
#pragma once

#include <span>

#include "base/embedded.h"

namespace headroom::limit {

std::span<const base::EmbeddedFile> embedded_files();

}  // namespace headroom::limit
