// Backend: the database under a Store: rows in and out, each database with its own SQL and errors.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/store.h"

namespace headroom::results {

/// A record as the database keeps it.
struct StoredRow {
  std::string id, run, label, date, added, origin, payload;
  std::string quarantine;  // read only
};

/// What the database can leave out before any payload is read. It may let more through: the rules
/// of matching live in selector.cc.
struct RowFilter {
  std::span<const Selector::Condition> conditions;
  std::string_view id;  // empty: any
  bool with_quarantined = true;
};

/// One thread at a time. Errors are whole lines that begin with name().
class Backend {
 public:
  using Visit = std::function<base::Result<>(StoredRow&&)>;

  virtual ~Backend() = default;
  /// The path, or the URL without its password.
  virtual const std::string& name() const = 0;
  /// All rows in one durable transaction; ids that are there already change nothing.
  virtual base::Result<AddCounts> insert(std::span<const StoredRow> rows) = 0;
  /// In order of date, then of adding. An error of `visit` ends it.
  virtual base::Result<> select(const RowFilter& filter, const Visit& visit) = 0;
  /// Adds the reason to those that the record has; false for an unknown id.
  virtual base::Result<bool> quarantine(std::string_view id, std::string_view reason,
                                        std::string_view since) = 0;
  /// The database's own check of itself: one line a problem.
  virtual base::Result<std::vector<std::string>> check() = 0;
  virtual base::Result<> vacuum() = 0;
  /// A consistent copy while others write. kUnsupported where the database has its own tool.
  virtual base::Result<> backup(const std::filesystem::path& to) = 0;
  /// How long a writer waits for another one.
  virtual void set_busy_timeout_ms(int milliseconds) = 0;
  /// For tests: the store may not grow beyond so many pages of 4 KiB, as on a full disk.
  virtual base::Result<> limit_pages(int64_t pages) = 0;
};

/// `now`: RFC 3339, for the note of a migration.
base::Result<std::unique_ptr<Backend>> open_sqlite(const std::filesystem::path& path,
                                                   Store::Mode mode, const std::string& now);
base::Result<std::unique_ptr<Backend>> open_postgres(const std::string& url, Store::Mode mode,
                                                     const std::string& now);

}  // namespace headroom::results
