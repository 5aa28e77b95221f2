// SQLite's errors as one clear line.
#pragma once

#include <SQLiteCpp/Exception.h>

#include <filesystem>
#include <string_view>

#include "base/result.h"

namespace headroom::results {

/// `doing`: "opening", "reading", "writing".
base::Error sqlite_error(const std::filesystem::path& path, std::string_view doing,
                         const SQLite::Exception& exception);

}  // namespace headroom::results
