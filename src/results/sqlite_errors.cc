// The words for each kind of SQLite failure.
#include "results/sqlite_errors.h"

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace headroom::results {
namespace {

// SQLite only says that it could not open; the file or its folder knows why.
std::string_view why_not_writable(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (const auto& at : {path, folder}) {
    if (access(at.c_str(), W_OK) == 0 || errno == ENOENT) continue;
    return errno == EROFS ? "read-only file system" : std::strerror(errno);
  }
  return "the file or its folder does not allow it";
}

}  // namespace

base::Error sqlite_error(const std::filesystem::path& path, std::string_view doing,
                         const SQLite::Exception& exception) {
  using base::ErrorCode;
  const auto say = [&](ErrorCode code, std::string_view text) {
    return base::Error{code, fmt::format("{}: {} the store: {}", path.string(), doing, text)};
  };
  switch (exception.getErrorCode()) {
    case SQLITE_FULL:
      return say(ErrorCode::kResourceExhausted,
                 "no space left; nothing of this write was kept, everything before it was");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(ErrorCode::kUnavailable, "another program holds it; try again when it is done");
    case SQLITE_READONLY:
      return say(ErrorCode::kIo, "the file or its file system is read-only");
    case SQLITE_NOTADB:
      return say(ErrorCode::kDataLoss, "not a SQLite database");
    case SQLITE_CORRUPT:
      return say(ErrorCode::kDataLoss,
                 fmt::format("the database is damaged ({})", exception.what()));
    case SQLITE_CANTOPEN:
      return say(ErrorCode::kIo, fmt::format("cannot be opened ({})", why_not_writable(path)));
    case SQLITE_IOERR:
      return say(ErrorCode::kIo,
                 fmt::format("the disk refused ({}); nothing of this write was kept, everything "
                             "before it was",
                             sqlite3_errstr(exception.getExtendedErrorCode())));
    default:
      return say(ErrorCode::kIo, exception.what());
  }
}

}  // namespace headroom::results
