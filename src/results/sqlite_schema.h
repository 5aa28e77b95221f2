// The store's tables and how older files become newer ones.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace SQLite {
class Database;
}

namespace headroom::results {

/// The schema this program writes.
inline constexpr int kSchemaVersion = 2;

/// A text inside the payload, exactly as the indexes have it.
std::string sqlite_text(std::string_view path);

/// Checks that the file is ours and of a schema known here; a writer also brings it up to date, in
/// one transaction. `now`: RFC 3339. May throw SQLite::Exception.
base::Result<> prepare_schema(SQLite::Database& db, const std::filesystem::path& path, bool writer,
                              const std::string& now);

}  // namespace headroom::results
