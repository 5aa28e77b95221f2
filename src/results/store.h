// Store: records kept for good in a SQLite file or a PostgreSQL database, append-only and named by
// their content.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/record.h"
#include "results/selector.h"

namespace headroom::results {

struct StoredRecord {
  std::string id;  // record_id(record)
  Record record;
  std::string origin;      // where it came from, e.g. "rows.csv:7"; not part of the id
  std::string added;       // RFC 3339 UTC
  std::string quarantine;  // reason; empty: good
};

struct AddCounts {
  int64_t added = 0;
  int64_t known = 0;  // were there already: nothing changed
};

struct VerifyReport {
  int64_t records = 0;
  int64_t quarantined = 0;
  std::vector<std::string> problems;  // one line each; empty: sound
};

class Backend;
struct StoredRow;

/// One thread at a time. Any number of readers; of a SQLite file one writer, a second one waits up
/// to ten seconds and then fails with kUnavailable. Every error is one line that begins with
/// name(). A failed write leaves the store as it was.
class Store {
 public:
  enum class Mode { kRead, kWrite, kCreate };  // kCreate: write, and make the file when missing

  /// The path of a SQLite file, or postgresql://USER@HOST:PORT/DATABASE (libpq's form; a password
  /// belongs in PGPASSWORD or ~/.pgpass), where the tables stand in the schema "headroom".
  static base::Result<Store> open(const std::string& location, Mode mode = Mode::kCreate);
  static base::Result<Store> open(const std::filesystem::path& path, Mode mode = Mode::kCreate) {
    return open(path.string(), mode);
  }
  static base::Result<Store> open(const char* location, Mode mode = Mode::kCreate) {
    return open(std::string(location), mode);
  }
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  /// Durable on return (synced). True: added; false: the same record was there.
  base::Result<bool> add(const Record& record, std::string_view origin = "");
  /// All or none.
  struct Entry {
    Record record;
    std::string origin;
  };
  base::Result<AddCounts> add_all(std::span<const Entry> entries);

  /// Records that match, by date, then in the order they were added. Nothing matching is an empty
  /// vector; explain_no_match() of selector.h says why.
  base::Result<std::vector<StoredRecord>> query(const Selector& selector,
                                                bool with_quarantined = false) const;
  base::Result<std::vector<StoredRecord>> all() const { return query(Selector{}, true); }
  base::Result<std::optional<StoredRecord>> find(std::string_view id) const;

  /// Takes the record out of query() with a reason that is kept; kNotFound for an unknown id.
  base::Result<> quarantine(std::string_view id, std::string_view reason);

  /// The database's own integrity check, every payload read back and its digest computed again.
  base::Result<VerifyReport> verify() const;
  /// A consistent copy in a new SQLite file, also while others write; readable as a store.
  base::Result<> backup(const std::filesystem::path& to) const;
  /// Gives unused space back.
  base::Result<> vacuum();

  /// The path, or the URL without its password.
  const std::string& name() const;
  /// How long a writer waits for another one; ten seconds unless set.
  void set_busy_timeout_ms(int milliseconds);
  /// For tests of SQLite: a full disk, on purpose, at so many pages of 4 KiB.
  base::Result<> limit_pages(int64_t pages);

 private:
  explicit Store(std::unique_ptr<Backend> backend);
  base::Result<StoredRecord> record_of(StoredRow&& row) const;

  std::unique_ptr<Backend> backend_;
};

}  // namespace headroom::results
