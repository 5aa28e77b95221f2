// Clock readings through clock_gettime.
#include "base/clock.h"

#include <ctime>

#include <fmt/format.h>

namespace headroom::base {
namespace {

int64_t read(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

int64_t now_ns() {
  return read(CLOCK_MONOTONIC);
}
int64_t unix_ns() {
  return read(CLOCK_REALTIME);
}
int64_t process_cpu_ns() {
  return read(CLOCK_PROCESS_CPUTIME_ID);
}

std::string utc_text(int64_t unix_nanoseconds) {
  const time_t seconds = static_cast<time_t>(unix_nanoseconds / 1'000'000'000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace headroom::base
