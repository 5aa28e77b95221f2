// Adding with patience, and the file for the worst case.
#include "sweep/keep_record.h"

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "results/export.h"

namespace headroom::sweep {

using base::ErrorCode;

base::Result<> keep_record(results::Store& store, const results::Record& record,
                           const std::filesystem::path& folder, const std::atomic<bool>* stop,
                           const std::function<void(const std::string&)>& say, double patience_s) {
  const int64_t start = base::now_ns();
  const auto passed_s = [&] { return static_cast<double>(base::now_ns() - start) * 1e-9; };
  auto added = store.add(record, "headroom sweep");
  for (bool told = false; !added && added.error().code == ErrorCode::kUnavailable &&
                          passed_s() < patience_s && (stop == nullptr || !*stop);) {
    if (!told) say(fmt::format("{}; it is asked again", added.error().message));
    told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    added = store.add(record, "headroom sweep");
  }
  if (added) return {};
  results::StoredRecord stored;
  stored.id = results::record_id(record);
  stored.origin = "headroom sweep";
  stored.added = base::utc_text(base::unix_ns());
  stored.record = record;
  const auto file = folder / fmt::format("unstored-{}.json", stored.id.substr(0, 12));
  const auto written = base::write_file_atomic(file, results::export_json({&stored, 1}));
  base::Error error = added.error();
  error.message += written ? fmt::format("; the point is in {}: headroom import", file.string())
                           : fmt::format("; {}", written.error().message);
  return tl::unexpected(std::move(error));
}

}  // namespace headroom::sweep
