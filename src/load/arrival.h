// Arrival: when requests of an open loop are due: deadlines that follow from a seed or a file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::load {

enum class ArrivalKind {
  kConstant,  // equal gaps
  kPoisson,   // exponential gaps
  kGamma,     // gaps ~ Gamma(shape = burstiness, scale = 1 / (rate × burstiness)), as vLLM has it
  kSchedule,  // offsets of a file
  kTrace,     // time stamps of a Mooncake trace
};
enum class RampShape { kLinear, kExponential };

struct ArrivalOptions {
  ArrivalKind kind = ArrivalKind::kConstant;
  double rate = 1;        // requests/s; infinite: all at once. Not for files
  double burstiness = 1;  // kGamma: 1 is Poisson, below 1 burstier, above 1 more even
  /// The rate goes from `rate` to `end_rate` in the first `ramp_s` seconds and stays there.
  std::optional<double> end_rate{};
  double ramp_s = 0;
  RampShape ramp_shape = RampShape::kLinear;
  std::string file{};     // kSchedule, kTrace
  double time_scale = 1;  // multiplies the offsets of a file: 0.5 is twice as fast
  uint64_t seed = 0;
  bool operator==(const ArrivalOptions&) const = default;
};

/// "constant", "poisson", "gamma", "schedule", "trace"; kInvalidArgument else.
base::Result<ArrivalKind> parse_arrival_kind(std::string_view text);
/// The name in records; "burst" for an infinite rate.
std::string arrival_name(const ArrivalOptions& options);
/// "burstiness 0.5, rate 1 to 20 in 60 s (linear)"; empty when the name says it all.
std::string arrival_detail(const ArrivalOptions& options);

/// Deadlines: nanoseconds from the run's start, never decreasing, whatever the server does.
class Schedule {
 public:
  virtual ~Schedule() = default;
  /// Asked once a request. Nothing after the end of a file, then and ever after.
  virtual std::optional<int64_t> next() = 0;
};

/// Errors: kInvalidArgument naming the option; those of read_schedule.
base::Result<std::unique_ptr<Schedule>> make_schedule(const ArrivalOptions& options);

/// Offsets of a file in nanoseconds, scaled, sorted, the earliest at 0: a number of seconds a line,
/// or a JSON object a line with "timestamp" in milliseconds or "offset" in seconds. Errors name
/// file and line (kDataLoss).
base::Result<std::vector<int64_t>> read_schedule(const ArrivalOptions& options);

}  // namespace headroom::load
