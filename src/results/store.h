// Store: records kept for good in one SQLite file, append-only and named by their content.
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

/// One thread at a time. Any number of readers and one writer per file; a second writer waits up to
/// ten seconds and then fails with kUnavailable. Every error is one line that begins with the path.
/// A failed write leaves the file as it was.
class Store {
 public:
  enum class Mode { kRead, kWrite, kCreate };  // kCreate: write, and make the file when missing

  static base::Result<Store> open(const std::filesystem::path& path, Mode mode = Mode::kCreate);
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

  /// Records that match, by date, run, recipe and concurrency. Nothing matching is an empty vector;
  /// explain_no_match() of selector.h says why.
  base::Result<std::vector<StoredRecord>> query(const Selector& selector,
                                                bool with_quarantined = false) const;
  base::Result<std::vector<StoredRecord>> all() const { return query(Selector{}, true); }
  base::Result<std::optional<StoredRecord>> find(std::string_view id) const;

  /// Takes the record out of query() with a reason that is kept; kNotFound for an unknown id.
  base::Result<> quarantine(std::string_view id, std::string_view reason);

  /// SQLite's own integrity check, every payload read back and its digest computed again.
  base::Result<VerifyReport> verify() const;

  const std::filesystem::path& path() const;

  /// The file may not grow beyond `pages` of 4 KiB: a full disk, on purpose.
  base::Result<> limit_pages(int64_t pages);
  /// How long a writer waits for another one; ten seconds unless set.
  void set_busy_timeout_ms(int milliseconds);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace headroom::results
