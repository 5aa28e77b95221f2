// The store on SQLite: opening, writing and reading.
#include "results/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/chrono.h>
#include <sqlite3.h>

#include "results/sqlite_errors.h"
#include "results/store_schema.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

constexpr int kBusyTimeoutMs = 10'000;

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

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

}  // namespace

struct Store::Impl {
  std::filesystem::path path;
  std::unique_ptr<SQLite::Database> db;

  /// Runs `work`, with SQLite's exceptions as errors.
  template <typename Work>
  auto guarded(std::string_view doing, Work&& work) const -> decltype(work()) {
    try {
      return work();
    } catch (const SQLite::Exception& e) {
      return tl::unexpected<base::Error>(sqlite_error(path, doing, e));
    }
  }

  bool insert(const Record& record, std::string_view origin, const std::string& now) {
    SQLite::Statement statement(*db,
                                "INSERT INTO records(id, run, label, date, added, origin, payload) "
                                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING");
    statement.bind(1, record_id(record));
    statement.bind(2, record.run);
    statement.bind(3, record.label);
    statement.bind(4, record.date);
    statement.bind(5, now);
    statement.bind(6, std::string(origin));
    statement.bind(7, to_json(record));
    return statement.exec() > 0;
  }

  Result<StoredRecord> row(SQLite::Statement& statement) const {
    StoredRecord stored;
    stored.id = statement.getColumn(0).getString();
    stored.origin = statement.getColumn(1).getString();
    stored.added = statement.getColumn(2).getString();
    stored.quarantine = statement.getColumn(3).getString();
    auto record = record_from_json(statement.getColumn(4).getString());
    if (!record)
      return base::fail_in(fmt::format("{}: record {}", path.string(), stored.id.substr(0, 12)),
                           record.error());
    stored.record = std::move(*record);
    return stored;
  }
};

namespace {

constexpr const char* kSelect =
    "SELECT r.id, r.origin, r.added, coalesce(q.reason, ''), r.payload FROM records r "
    "LEFT JOIN quarantine q ON q.record_id = r.id";

}  // namespace

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::path() const {
  return impl_->path;
}

Result<Store> Store::open(const std::filesystem::path& path, Mode mode) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status))
    return fail(ErrorCode::kInvalidArgument, "{}: is a directory, not a store", path.string());
  if (!std::filesystem::exists(status) && mode != Mode::kCreate)
    return fail(ErrorCode::kNotFound, "{}: no such store", path.string());
  const auto parent = path.parent_path();
  if (!parent.empty() && !std::filesystem::is_directory(parent, ignored))
    return fail(ErrorCode::kNotFound, "{}: the folder {} does not exist", path.string(),
                parent.string());
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  return impl->guarded("opening", [&]() -> Result<Store> {
    impl->db = open_database(path, mode);
    HEADROOM_TRY_VOID(prepare_schema(*impl->db, path, mode != Mode::kRead, now_text()));
    return Store(std::move(impl));
  });
}

Result<bool> Store::add(const Record& record, std::string_view origin) {
  return impl_->guarded("writing", [&]() -> Result<bool> {
    SQLite::Transaction transaction(*impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    const bool added = impl_->insert(record, origin, now_text());
    transaction.commit();
    return added;
  });
}

Result<AddCounts> Store::add_all(std::span<const Entry> entries) {
  return impl_->guarded("writing", [&]() -> Result<AddCounts> {
    SQLite::Transaction transaction(*impl_->db, SQLite::TransactionBehavior::IMMEDIATE);
    AddCounts counts;
    const std::string now = now_text();
    for (const Entry& entry : entries) {
      const bool added = impl_->insert(entry.record, entry.origin, now);
      ++(added ? counts.added : counts.known);
    }
    transaction.commit();
    return counts;
  });
}

Result<std::vector<StoredRecord>> Store::query(const Selector& selector,
                                               bool with_quarantined) const {
  return impl_->guarded("reading", [&]() -> Result<std::vector<StoredRecord>> {
    // Dates have an index; what it leaves is matched here, where the rules of matching live.
    std::string sql = std::string(kSelect) + " WHERE 1";
    std::vector<std::string> bound;
    for (const Selector::Condition& condition : selector.conditions) {
      if (condition.field != "date") continue;
      sql +=
          fmt::format(" AND r.date IN ({})",
                      fmt::join(std::vector<std::string_view>(condition.values.size(), "?"), ", "));
      bound.insert(bound.end(), condition.values.begin(), condition.values.end());
    }
    if (!with_quarantined) sql += " AND q.reason IS NULL";
    SQLite::Statement statement(*impl_->db, sql + " ORDER BY r.date, r.seq");
    for (size_t i = 0; i < bound.size(); ++i) statement.bind(static_cast<int>(i + 1), bound[i]);
    std::vector<StoredRecord> found;
    while (statement.executeStep()) {
      HEADROOM_TRY(StoredRecord stored, impl_->row(statement));
      if (selector.matches(stored.record)) found.push_back(std::move(stored));
    }
    return found;
  });
}

Result<std::optional<StoredRecord>> Store::find(std::string_view id) const {
  return impl_->guarded("reading", [&]() -> Result<std::optional<StoredRecord>> {
    SQLite::Statement statement(*impl_->db, std::string(kSelect) + " WHERE r.id = ?");
    statement.bind(1, std::string(id));
    if (!statement.executeStep()) return std::optional<StoredRecord>();
    HEADROOM_TRY(StoredRecord stored, impl_->row(statement));
    return std::optional<StoredRecord>(std::move(stored));
  });
}

Result<> Store::quarantine(std::string_view id, std::string_view reason) {
  if (reason.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: quarantine of {} needs a reason", path().string(),
                id);
  return impl_->guarded("writing", [&]() -> Result<> {
    SQLite::Statement statement(
        *impl_->db,
        "INSERT INTO quarantine(record_id, reason, since) "
        "SELECT id, ?2, ?3 FROM records WHERE id = ?1 "
        "ON CONFLICT(record_id) DO UPDATE SET reason = reason || '; ' || excluded.reason "
        "WHERE instr(reason, excluded.reason) = 0");
    statement.bind(1, std::string(id));
    statement.bind(2, std::string(reason));
    statement.bind(3, now_text());
    statement.exec();
    SQLite::Statement known(*impl_->db, "SELECT 1 FROM records WHERE id = ?");
    known.bind(1, std::string(id));
    if (!known.executeStep())
      return fail(ErrorCode::kNotFound, "{}: no record {}", path().string(), id);
    return {};
  });
}

Result<VerifyReport> Store::verify() const {
  return impl_->guarded("reading", [&]() -> Result<VerifyReport> {
    VerifyReport report;
    SQLite::Statement integrity(*impl_->db, "PRAGMA integrity_check(20)");
    while (integrity.executeStep()) {
      const std::string line = integrity.getColumn(0).getString();
      if (line != "ok") report.problems.push_back("SQLite: " + line);
    }
    SQLite::Statement statement(*impl_->db, std::string(kSelect) + " ORDER BY r.seq");
    while (statement.executeStep()) {
      ++report.records;
      const std::string id = statement.getColumn(0).getString();
      if (!statement.getColumn(3).getString().empty()) ++report.quarantined;
      const auto stored = impl_->row(statement);
      if (!stored) {
        report.problems.push_back(stored.error().message);
      } else if (const std::string found = record_id(stored->record); found != id) {
        report.problems.push_back(
            fmt::format("record {}: its content's digest is {}", id, found.substr(0, 12)));
      }
    }
    return report;
  });
}

Result<> Store::limit_pages(int64_t pages) {
  return impl_->guarded("limiting", [&]() -> Result<> {
    impl_->db->execAndGet(fmt::format("PRAGMA max_page_count = {}", pages));
    return {};
  });
}

void Store::set_busy_timeout_ms(int milliseconds) {
  impl_->db->setBusyTimeout(milliseconds);
}

}  // namespace headroom::results
