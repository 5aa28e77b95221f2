// Opening and selecting, the same for every subcommand that reads a store.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "dash/limits.h"
#include "results/selector.h"
#include "results/store.h"

namespace headroom::apps {

/// Where records are kept unless --db says otherwise.
inline constexpr const char* kDefaultStore = "headroom.db";

/// The records that `selector` names; none is an error that says which values exist.
inline base::Result<std::vector<results::StoredRecord>> select_records(
    const results::Store& store, const std::string& selector, bool with_quarantined = false) {
  HEADROOM_TRY(const results::Selector parsed, results::parse_selector(selector));
  HEADROOM_TRY(auto records, store.query(parsed, with_quarantined));
  if (records.empty()) {
    HEADROOM_TRY(const auto all, store.all());
    return tl::unexpected(results::explain_no_match(parsed, all));
  }
  return records;
}

/// Gives records that were stored without the hardware's bound theirs, where they say enough for
/// one.
inline void add_limits(std::vector<results::StoredRecord>& records) {
  for (results::StoredRecord& stored : records)
    if (!stored.record.limit)
      if (auto limit = dash::limit_of(stored.record)) stored.record.limit = std::move(*limit);
}

}  // namespace headroom::apps
