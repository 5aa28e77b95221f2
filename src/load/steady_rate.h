// Steady window of an open loop: where the server completes what comes.
#pragma once

#include <optional>
#include <vector>

#include "load/request_record.h"
#include "load/timeline.h"

namespace headroom::load {

/// The longest span between two ends of measured requests in which requests ended at `rate` a
/// second, within 1 %, and at least ten of them; nothing when there is none. Ends before `from`
/// (the end of a ramp, CLOCK_MONOTONIC) do not count.
std::optional<Span> steady_rate_window(const std::vector<RequestRecord>& records, double rate,
                                       int64_t from);

}  // namespace headroom::load
