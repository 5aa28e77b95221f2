// Time: monotonic nanoseconds for intervals, UTC text for records.
#pragma once

#include <cstdint>
#include <string>

namespace headroom::base {

/// Nanoseconds of CLOCK_MONOTONIC. Differences are meaningful, absolute values are not.
int64_t now_ns();

/// Nanoseconds since 1970 of CLOCK_REALTIME.
int64_t unix_ns();

/// "2026-03-26T12:00:05Z" for nanoseconds since 1970.
std::string utc_text(int64_t unix_nanoseconds);

/// CPU time used by this process so far (user + system), nanoseconds.
int64_t process_cpu_ns();

}  // namespace headroom::base
