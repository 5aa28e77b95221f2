// Arrival: when the next request is due: a closed loop of users, or a constant rate.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom::load {

class Arrival {
 public:
  virtual ~Arrival() = default;
  /// The name in records: "closed", "poisson", …
  virtual std::string_view name() const = 0;
  /// The next request's due time, CLOCK_MONOTONIC nanoseconds, perhaps in the future, or nothing
  /// while none is due before another completes. Asked once a request. `freed` is when the slot
  /// became free (the run's start for the first wave).
  virtual std::optional<int64_t> next_due(int64_t freed, int64_t in_flight) = 0;
};

/// A fixed number of users, each of which sends its next request when the last one is answered.
class ClosedLoop final : public Arrival {
 public:
  explicit ClosedLoop(int64_t concurrency) : concurrency_(concurrency) {}
  std::string_view name() const override { return "closed"; }
  std::optional<int64_t> next_due(int64_t freed, int64_t in_flight) override {
    return in_flight < concurrency_ ? std::optional(freed) : std::nullopt;
  }

 private:
  int64_t concurrency_;
};

/// A request every `period` nanoseconds from the first asking on, whatever the server does: a late
/// one keeps its due time, and the ones behind it keep theirs.
class ConstantRate final : public Arrival {
 public:
  explicit ConstantRate(int64_t period) : period_(period) {}
  std::string_view name() const override { return "constant"; }
  std::optional<int64_t> next_due(int64_t freed, int64_t in_flight) override {
    next_ = next_ ? *next_ + period_ : freed;
    return next_;
  }

 private:
  int64_t period_;
  std::optional<int64_t> next_;
};

}  // namespace headroom::load
