// Tickets and the judgement of failures.
#include "load/run_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"

namespace headroom::load {

namespace {
// So many connects refused in a row, with no answer begun in between, mean that the server is gone.
constexpr int64_t kRefusedInARow = 3;
}  // namespace

bool RunState::more_wanted() const {
  if (halt.load(std::memory_order_relaxed)) return false;
  if (released.load(std::memory_order_relaxed) < options.warmup) return true;
  if (options.requests && measured.load(std::memory_order_relaxed) >= *options.requests)
    return false;
  const int64_t from = measured_from.load(std::memory_order_relaxed);
  return !options.duration_ns || from == 0 || base::now_ns() - from < *options.duration_ns;
}

std::optional<bool> RunState::take() {
  if (!more_wanted()) return std::nullopt;
  if (released.fetch_add(1) < options.warmup) return true;
  if (const int64_t number = measured.fetch_add(1); number == 0) {
    measured_from = base::now_ns();
  } else if (options.requests && number >= *options.requests) {  // another loop took the last one
    --measured;
    --released;
    return std::nullopt;
  }
  return false;
}

void RunState::flown(int64_t change) {
  const int64_t now = in_flight.fetch_add(change) + change;
  int64_t most = most_in_flight.load();
  while (now > most && !most_in_flight.compare_exchange_weak(most, now)) {
  }
}

void RunState::used(uint64_t index) {
  uint64_t until = used_until.load();
  while (until <= index && !used_until.compare_exchange_weak(until, index + 1)) {
  }
}

void RunState::fail(base::Error error) {
  const std::lock_guard lock(mutex);
  if (!fatal) fatal = std::move(error);
  halt = true;
}

void RunState::judge(const RequestRecord& record, const std::string& why) {
  ++failed;
  if (record.failure == Failure::kConnect || record.failure == Failure::kReset ||
      record.failure == Failure::kCut)
    ++lost;
  const std::string kind = failure_name(record.failure, record.http_status);
  {
    const std::lock_guard lock(mutex);
    first_failures.try_emplace(kind, why);
  }
  if (record.failure == Failure::kConnect && ++refused >= kRefusedInARow)
    fail({base::ErrorCode::kUnavailable,
          fmt::format("{} no longer accepts connections ({}) after {} good and {} failed requests",
                      options.url.address(), why, succeeded.load(), failed.load())});
  const int64_t enough = std::max<int64_t>(options.concurrency, 4);
  const bool all_over = ended >= enough || (in_flight == 0 && !more_wanted());
  if (succeeded == 0 && all_over && !halt)
    fail({base::ErrorCode::kUnavailable,
          fmt::format("{}: all {} requests failed ({}): {}", options.url.address(), ended.load(),
                      kind, why)});
}

}  // namespace headroom::load
