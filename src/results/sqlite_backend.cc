// The store's SQLite file.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "results/sqlite_errors.h"
#include "results/sqlite_schema.h"
#include "results/store_sql.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr int kBusyTimeoutMs = 10'000;

constexpr Dialect kDialect = {
    [](std::string_view path) { return sqlite_text(path); },
    [](size_t number) { return fmt::format("?{}", number); },
};

// A path as SQLite's URI form; used for files on read-only media.
std::string immutable_uri(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    if (c == '?' || c == '#' || c == '%') {
      fmt::format_to(std::back_inserter(uri), "%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

std::unique_ptr<SQLite::Database> open_database(const std::filesystem::path& path,
                                                Store::Mode mode) {
  if (mode != Store::Mode::kRead)
    return std::make_unique<SQLite::Database>(
        path.string(),
        SQLite::OPEN_READWRITE | (mode == Store::Mode::kCreate ? SQLite::OPEN_CREATE : 0),
        kBusyTimeoutMs);
  try {
    auto db =
        std::make_unique<SQLite::Database>(path.string(), SQLite::OPEN_READONLY, kBusyTimeoutMs);
    SQLite::Statement(*db, "SELECT count(*) FROM sqlite_master").executeStep();
    return db;
  } catch (const SQLite::Exception& e) {
    // A reader of a WAL file needs to write beside it. Where that cannot be (read-only media) and
    // no log waits to be read, the file itself is the whole truth.
    const bool media = e.getErrorCode() == SQLITE_CANTOPEN || e.getErrorCode() == SQLITE_READONLY;
    std::error_code ignored;
    const auto log_size = std::filesystem::file_size(path.string() + "-wal", ignored);
    if (!media || (!ignored && log_size > 0)) throw;
    return std::make_unique<SQLite::Database>(
        immutable_uri(path), SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyTimeoutMs);
  }
}

class SqliteBackend final : public Backend {
 public:
  SqliteBackend(const std::filesystem::path& path, Store::Mode mode)
      : path_(path), name_(path.string()), db_(open_database(path, mode)) {}

  SQLite::Database& database() { return *db_; }
  /// Once it is there: SQLite makes it with the first table.
  void remember_file() { file_ = file_at(path_); }
  const std::string& name() const override { return name_; }

  Result<AddCounts> insert(std::span<const StoredRow> rows) override {
    return guarded("writing", [&]() -> Result<AddCounts> {
      SQLite::Transaction transaction(*db_, SQLite::TransactionBehavior::IMMEDIATE);
      SQLite::Statement statement(
          *db_,
          "INSERT INTO records(id, run, label, date, added, origin, payload) "
          "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING");
      AddCounts counts;
      for (const StoredRow& row : rows) {
        int column = 0;
        for (const std::string* text :
             {&row.id, &row.run, &row.label, &row.date, &row.added, &row.origin, &row.payload})
          statement.bind(++column, *text);
        ++(statement.exec() > 0 ? counts.added : counts.known);
        statement.reset();
      }
      transaction.commit();
      // SQLite goes on writing into a file that nobody can open any more.
      if (!file_ || file_at(path_) != file_)
        return fail(ErrorCode::kDataLoss,
                    "{}: the file was deleted or replaced while it was open; nothing more is kept "
                    "in it",
                    name_);
      return counts;
    });
  }

  Result<> select(const RowFilter& filter, const Visit& visit) override {
    return guarded("reading", [&]() -> Result<> {
      const BoundQuery query = select_query(filter, kDialect);
      SQLite::Statement statement(*db_, query.sql);
      for (size_t i = 0; i < query.values.size(); ++i)
        statement.bind(static_cast<int>(i + 1), query.values[i]);
      while (statement.executeStep()) {
        StoredRow row;
        int column = 0;
        for (std::string* text : {&row.id, &row.run, &row.label, &row.date, &row.added, &row.origin,
                                  &row.payload, &row.quarantine})
          *text = statement.getColumn(column++).getString();
        HEADROOM_TRY_VOID(visit(std::move(row)));
      }
      return {};
    });
  }

  Result<bool> quarantine(std::string_view id, std::string_view reason,
                          std::string_view since) override {
    return guarded("writing", [&]() -> Result<bool> {
      SQLite::Statement statement(
          *db_,
          "INSERT INTO quarantine(record_id, reason, since) "
          "SELECT id, ?2, ?3 FROM records WHERE id = ?1 "
          "ON CONFLICT(record_id) DO UPDATE SET reason = reason || '; ' || excluded.reason "
          "WHERE instr(reason, excluded.reason) = 0");
      statement.bind(1, std::string(id));
      statement.bind(2, std::string(reason));
      statement.bind(3, std::string(since));
      statement.exec();
      SQLite::Statement known(*db_, "SELECT 1 FROM records WHERE id = ?");
      known.bind(1, std::string(id));
      return known.executeStep();
    });
  }

  Result<std::vector<std::string>> check() override {
    return guarded("reading", [&]() -> Result<std::vector<std::string>> {
      std::vector<std::string> problems;
      SQLite::Statement integrity(*db_, "PRAGMA integrity_check(20)");
      while (integrity.executeStep())
        if (const std::string line = integrity.getColumn(0).getString(); line != "ok")
          problems.push_back("SQLite: " + line);
      return problems;
    });
  }

  Result<> vacuum() override {
    return guarded("packing", [&]() -> Result<> {
      db_->exec("VACUUM");
      db_->exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return {};
    });
  }

  Result<> backup(const std::filesystem::path& to) override {
    return guarded("copying", [&]() -> Result<> {
      SQLite::Statement copy(*db_, "VACUUM INTO ?");  // one read transaction: a consistent copy
      copy.bind(1, to.string());
      copy.exec();
      return {};
    });
  }

  void set_busy_timeout_ms(int milliseconds) override { db_->setBusyTimeout(milliseconds); }

  Result<> limit_pages(int64_t pages) override {
    return guarded("limiting", [&]() -> Result<> {
      db_->execAndGet(fmt::format("PRAGMA max_page_count = {}", pages));
      return {};
    });
  }

 private:
  using FileId = std::pair<dev_t, ino_t>;
  static std::optional<FileId> file_at(const std::filesystem::path& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0) return std::nullopt;
    return FileId{status.st_dev, status.st_ino};
  }

  /// Runs `work`, with SQLite's exceptions as errors.
  template <typename Work>
  auto guarded(std::string_view doing, Work&& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const SQLite::Exception& e) {
      return tl::unexpected<base::Error>(sqlite_error(path_, doing, e));
    }
  }

  std::filesystem::path path_;
  std::string name_;
  std::unique_ptr<SQLite::Database> db_;
  std::optional<FileId> file_;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_sqlite(const std::filesystem::path& path, Store::Mode mode,
                                             const std::string& now) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status))
    return fail(ErrorCode::kInvalidArgument, "{}: is a directory, not a store", path.string());
  if (!std::filesystem::exists(status) && mode != Store::Mode::kCreate)
    return fail(ErrorCode::kNotFound, "{}: no such store", path.string());
  const auto parent = path.parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent, ignored))
    return fail(ErrorCode::kNotFound, "{}: the folder {} does not exist", path.string(),
                parent.string());
  try {
    auto backend = std::make_unique<SqliteBackend>(path, mode);
    HEADROOM_TRY_VOID(prepare_schema(backend->database(), path, mode != Store::Mode::kRead, now));
    backend->remember_file();
    return backend;
  } catch (const SQLite::Exception& e) {
    return tl::unexpected<base::Error>(sqlite_error(path, "opening", e));
  }
}

}  // namespace headroom::results
