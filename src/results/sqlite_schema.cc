// Migrations of the store; each runs once, in order, and is never edited after a release.
#include "results/sqlite_schema.h"

#include <SQLiteCpp/SQLiteCpp.h>

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// "HdRm": tells a store from any other SQLite file.
constexpr int kApplicationId = 0x4864526D;

constexpr const char* kMigrations[kSchemaVersion] = {
    R"sql(
CREATE TABLE records(
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  run TEXT NOT NULL,
  label TEXT NOT NULL,
  date TEXT NOT NULL,
  added TEXT NOT NULL,
  origin TEXT NOT NULL,
  payload TEXT NOT NULL
) STRICT;
CREATE INDEX records_by_date ON records(date);
CREATE INDEX records_by_run ON records(run);
CREATE TRIGGER records_stay BEFORE DELETE ON records
  BEGIN SELECT raise(ABORT, 'records are never deleted'); END;
CREATE TRIGGER records_do_not_change BEFORE UPDATE ON records
  BEGIN SELECT raise(ABORT, 'records never change'); END;
CREATE TABLE quarantine(
  record_id TEXT PRIMARY KEY REFERENCES records(id),
  reason TEXT NOT NULL,
  since TEXT NOT NULL
) STRICT;
)sql",
    // 2: views are read by model, hardware and lengths; the expressions are those of the queries.
    R"sql(
CREATE INDEX records_by_view ON records(
  lower(coalesce(json_extract(payload, '$.server.model'), '')),
  lower(coalesce(json_extract(payload, '$.hardware.name'), '')),
  lower(coalesce(json_extract(payload, '$.workload.input_tokens'), '')),
  lower(coalesce(json_extract(payload, '$.workload.output_tokens'), '')), date);
CREATE INDEX records_by_fingerprint ON records(
  lower(coalesce(json_extract(payload, '$.server.recipe_fingerprint'), '')));
CREATE INDEX records_by_run_folded ON records(lower(run));
CREATE INDEX records_by_label_folded ON records(lower(label));
)sql",
};

}  // namespace

std::string sqlite_text(std::string_view path) {
  return fmt::format("lower(coalesce(json_extract(payload, '$.{}'), ''))", path);
}

Result<> prepare_schema(SQLite::Database& db, const std::filesystem::path& path, bool writer,
                        const std::string& now) {
  const auto pragma = [&](const char* name) {
    return db.execAndGet(fmt::format("PRAGMA {}", name)).getInt();
  };
  const auto state = [&]() -> Result<int> {
    const int version = pragma("user_version");
    const bool ours = pragma("application_id") == kApplicationId;
    const bool empty = db.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
    if (!ours && !(empty && version == 0))
      return fail(ErrorCode::kDataLoss, "{}: a SQLite database, but not a Headroom store",
                  path.string());
    if (version > kSchemaVersion)
      return fail(ErrorCode::kUnsupported,
                  "{}: written by a newer Headroom (schema {}; this one knows up to {}); "
                  "upgrade to read it",
                  path.string(), version, kSchemaVersion);
    return version;
  };
  HEADROOM_TRY(int version, state());
  if (!writer) {
    if (version == 0)
      return fail(ErrorCode::kDataLoss, "{}: an empty file, not a Headroom store", path.string());
    return {};
  }
  db.exec("PRAGMA foreign_keys = ON");
  db.exec("PRAGMA journal_mode = WAL");  // stays with another mode where WAL cannot be
  db.exec("PRAGMA synchronous = FULL");
  if (version == kSchemaVersion) return {};
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  HEADROOM_TRY(version, state());  // another writer may have been faster
  if (version == 0) {
    db.exec(fmt::format("PRAGMA application_id = {}", kApplicationId));
    db.exec("CREATE TABLE schema_migrations(version INTEGER PRIMARY KEY, applied TEXT NOT NULL)");
  }
  for (; version < kSchemaVersion; ++version) {
    db.exec(kMigrations[version]);
    SQLite::Statement note(db, "INSERT INTO schema_migrations(version, applied) VALUES (?, ?)");
    note.bind(1, version + 1);
    note.bind(2, now);
    note.exec();
  }
  db.exec(fmt::format("PRAGMA user_version = {}", kSchemaVersion));
  transaction.commit();
  return {};
}

}  // namespace headroom::results
