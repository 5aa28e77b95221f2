// The store: records to rows and back, whatever database keeps them.
#include "results/store.h"

#include <fmt/chrono.h>

#include "results/store_backend.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

std::string now_text() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

StoredRow row_of(const Record& record, std::string_view origin, const std::string& now) {
  StoredRow row;
  row.id = record_id(record);
  row.run = record.run;
  row.label = record.label;
  row.date = record.date;
  row.added = now;
  row.origin = origin;
  row.payload = to_json(record);
  return row;
}

}  // namespace

Store::Store(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::string& Store::name() const {
  return backend_->name();
}

Result<Store> Store::open(const std::string& location, Mode mode) {
  const bool url = location.starts_with("postgresql://") || location.starts_with("postgres://");
  HEADROOM_TRY(auto backend, url ? open_postgres(location, mode, now_text())
                                 : open_sqlite(location, mode, now_text()));
  return Store(std::move(backend));
}

Result<bool> Store::add(const Record& record, std::string_view origin) {
  const StoredRow row = row_of(record, origin, now_text());
  HEADROOM_TRY(const AddCounts counts, backend_->insert({&row, 1}));
  return counts.added > 0;
}

Result<AddCounts> Store::add_all(std::span<const Entry> entries) {
  std::vector<StoredRow> rows;
  rows.reserve(entries.size());
  const std::string now = now_text();
  for (const Entry& entry : entries) rows.push_back(row_of(entry.record, entry.origin, now));
  return backend_->insert(rows);
}

Result<StoredRecord> Store::record_of(StoredRow&& row) const {
  auto record = record_from_json(row.payload);
  if (!record)
    return base::fail_in(fmt::format("{}: record {}", name(), row.id.substr(0, 12)),
                         record.error());
  StoredRecord stored;
  stored.id = std::move(row.id);
  stored.origin = std::move(row.origin);
  stored.added = std::move(row.added);
  stored.quarantine = std::move(row.quarantine);
  stored.record = std::move(*record);
  return stored;
}

Result<std::vector<StoredRecord>> Store::query(const Selector& selector,
                                               bool with_quarantined) const {
  std::vector<StoredRecord> found;
  const RowFilter filter{selector.conditions, {}, with_quarantined};
  HEADROOM_TRY_VOID(backend_->select(filter, [&](StoredRow&& row) -> Result<> {
    HEADROOM_TRY(StoredRecord stored, record_of(std::move(row)));
    if (selector.matches(stored.record)) found.push_back(std::move(stored));
    return {};
  }));
  return found;
}

Result<std::optional<StoredRecord>> Store::find(std::string_view id) const {
  std::optional<StoredRecord> found;
  if (id.empty()) return found;
  HEADROOM_TRY_VOID(backend_->select({{}, id, true}, [&](StoredRow&& row) -> Result<> {
    HEADROOM_TRY(found, record_of(std::move(row)));
    return {};
  }));
  return found;
}

Result<> Store::quarantine(std::string_view id, std::string_view reason) {
  if (reason.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: quarantine of {} needs a reason", name(), id);
  HEADROOM_TRY(const bool known, backend_->quarantine(id, reason, now_text()));
  if (!known) return fail(ErrorCode::kNotFound, "{}: no record {}", name(), id);
  return {};
}

Result<VerifyReport> Store::verify() const {
  VerifyReport report;
  HEADROOM_TRY(report.problems, backend_->check());
  HEADROOM_TRY_VOID(backend_->select({}, [&](StoredRow&& row) -> Result<> {
    ++report.records;
    if (!row.quarantine.empty()) ++report.quarantined;
    const std::string id = row.id;
    const auto stored = record_of(std::move(row));
    if (!stored) {
      report.problems.push_back(stored.error().message);
    } else if (const std::string digest = record_id(stored->record); digest != id) {
      report.problems.push_back(
          fmt::format("record {}: its content's digest is {}", id, digest.substr(0, 12)));
    }
    return {};
  }));
  return report;
}

Result<> Store::backup(const std::filesystem::path& to) const {
  if (std::error_code ignored; std::filesystem::exists(to, ignored))
    return fail(ErrorCode::kInvalidArgument, "{}: is there already; name a new file", to.string());
  return backend_->backup(to);
}

Result<> Store::vacuum() {
  return backend_->vacuum();
}

void Store::set_busy_timeout_ms(int milliseconds) {
  backend_->set_busy_timeout_ms(milliseconds);
}

Result<> Store::limit_pages(int64_t pages) {
  return backend_->limit_pages(pages);
}

}  // namespace headroom::results
