// keep_record: a measured point into the store, or where nobody has to measure it again.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>

#include "results/store.h"

namespace headroom::sweep {

/// A store that is busy or away (kUnavailable) is asked again for up to `patience_s`: records are
/// known by their digest, so that a second time changes nothing. What it refuses in the end is put
/// into a file of `folder` that `headroom import` reads; the error names it.
base::Result<> keep_record(results::Store& store, const results::Record& record,
                           const std::filesystem::path& folder, const std::atomic<bool>* stop,
                           const std::function<void(const std::string&)>& say,
                           double patience_s = 60);

}  // namespace headroom::sweep
