// Deadlines of an open loop: a unit-rate process, stretched by the rate over time.
#include "load/arrival.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"
#include "load/schedule_file.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr double kMostRate = 1e6;

/// Gamma(shape, 1) by Marsaglia and Tsang's squeeze; a shape below 1 is lifted by one.
double gamma(base::Rng& rng, double shape) {
  if (shape < 1) return gamma(rng, shape + 1) * std::pow(1 - rng.uniform(), 1 / shape);
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = rng.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - rng.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

class Generated final : public Schedule {
 public:
  explicit Generated(const ArrivalOptions& options) : o_(options), rng_(options.seed) {}

  std::optional<int64_t> next() override {
    if (std::isinf(o_.rate)) return 0;
    if (o_.kind == ArrivalKind::kPoisson)
      events_ += rng_.exponential();
    else if (o_.kind == ArrivalKind::kGamma)
      events_ += gamma(rng_, o_.burstiness) / o_.burstiness;
    else if (begun_)
      events_ += 1;  // equal gaps begin at once
    begun_ = true;
    const double seconds = time_of(events_);
    constexpr double kEnd = 9e9;  // seconds: beyond any run, within 64 bits
    last_ = std::max(last_, static_cast<int64_t>(std::min(seconds, kEnd) * 1e9));
    return last_;
  }

 private:
  /// When so many requests are expected to have come: the inverse of the rate's integral.
  double time_of(double events) const {
    if (!o_.end_rate || o_.ramp_s <= 0) return events / o_.end_rate.value_or(o_.rate);
    const double from = o_.rate, to = *o_.end_rate, length = o_.ramp_s;
    if (o_.ramp_shape == RampShape::kExponential && from != to) {
      const double log_ratio = std::log(to / from);
      const double in_ramp = (to - from) * length / log_ratio;
      if (events < in_ramp)
        return length / log_ratio * std::log1p(events * log_ratio / (from * length));
      return length + (events - in_ramp) / to;
    }
    const double in_ramp = (from + to) / 2 * length, slope = (to - from) / length;
    if (events < in_ramp)
      return events == 0
                 ? 0
                 : 2 * events / (from + std::sqrt(std::max(0.0, from * from + 2 * slope * events)));
    return length + (events - in_ramp) / to;
  }

  ArrivalOptions o_;
  base::Rng rng_;
  double events_ = 0;
  bool begun_ = false;
  int64_t last_ = 0;
};

class Listed final : public Schedule {
 public:
  explicit Listed(std::vector<int64_t> offsets) : offsets_(std::move(offsets)) {}
  std::optional<int64_t> next() override {
    return next_ < offsets_.size() ? std::optional(offsets_[next_++]) : std::nullopt;
  }

 private:
  std::vector<int64_t> offsets_;
  size_t next_ = 0;
};

Result<> check(const ArrivalOptions& o) {
  if (!(o.rate >= 1e-4 && (o.rate <= kMostRate || std::isinf(o.rate))) &&
      !(o.rate == 0 && o.end_rate && o.ramp_shape == RampShape::kLinear))
    return fail(ErrorCode::kInvalidArgument,
                "rate {} is not 0.0001 to 1000000 requests/s, nor inf (all at once)", o.rate);
  if (!(o.burstiness >= 1e-3 && o.burstiness <= 1e6))
    return fail(ErrorCode::kInvalidArgument, "burstiness {} is not 0.001 to 1000000", o.burstiness);
  if (o.end_rate && !(*o.end_rate >= 1e-4 && *o.end_rate <= kMostRate))
    return fail(ErrorCode::kInvalidArgument, "end rate {} is not 0.0001 to 1000000 requests/s",
                *o.end_rate);
  if (o.end_rate && std::isinf(o.rate))
    return fail(ErrorCode::kInvalidArgument, "a ramp cannot begin at an infinite rate");
  if (o.end_rate ? !(o.ramp_s > 0 && o.ramp_s <= 1e6) : o.ramp_s != 0)
    return fail(ErrorCode::kInvalidArgument,
                "ramp {} s: a ramp needs an end rate and takes above 0 to 1000000 s", o.ramp_s);
  return {};
}

}  // namespace

Result<ArrivalKind> parse_arrival_kind(std::string_view text) {
  if (text == "constant") return ArrivalKind::kConstant;
  if (text == "poisson") return ArrivalKind::kPoisson;
  if (text == "gamma") return ArrivalKind::kGamma;
  if (text == "schedule") return ArrivalKind::kSchedule;
  if (text == "trace") return ArrivalKind::kTrace;
  return fail(ErrorCode::kInvalidArgument,
              "arrival {} is not constant, poisson, gamma, schedule or trace", text);
}

std::string arrival_name(const ArrivalOptions& options) {
  switch (options.kind) {
    case ArrivalKind::kSchedule:
      return "schedule";
    case ArrivalKind::kTrace:
      return "trace";
    default:
      break;
  }
  if (std::isinf(options.rate)) return "burst";
  return options.kind == ArrivalKind::kConstant  ? "constant"
         : options.kind == ArrivalKind::kPoisson ? "poisson"
                                                 : "gamma";
}

std::string arrival_detail(const ArrivalOptions& o) {
  if (o.kind == ArrivalKind::kSchedule || o.kind == ArrivalKind::kTrace)
    return o.time_scale == 1 ? "" : fmt::format("time scale {}", o.time_scale);
  std::string text;
  if (o.kind == ArrivalKind::kGamma) text = fmt::format("burstiness {}", o.burstiness);
  if (o.end_rate)
    text +=
        fmt::format("{}rate {} to {} in {} s ({})", text.empty() ? "" : ", ", o.rate, *o.end_rate,
                    o.ramp_s, o.ramp_shape == RampShape::kLinear ? "linear" : "exponential");
  return text;
}

Result<std::unique_ptr<Schedule>> make_schedule(const ArrivalOptions& options) {
  if (options.kind == ArrivalKind::kSchedule || options.kind == ArrivalKind::kTrace) {
    HEADROOM_TRY(std::vector<int64_t> offsets, read_schedule(options));
    return std::make_unique<Listed>(std::move(offsets));
  }
  HEADROOM_TRY_VOID(check(options));
  return std::make_unique<Generated>(options);
}

Result<std::vector<int64_t>> read_schedule(const ArrivalOptions& options) {
  if (!(options.time_scale > 0 && options.time_scale <= 1e6))
    return fail(ErrorCode::kInvalidArgument, "time scale {} is not above 0 and at most 1000000",
                options.time_scale);
  HEADROOM_TRY(std::vector<double> seconds, read_schedule_file(options.file));
  std::sort(seconds.begin(), seconds.end());
  std::vector<int64_t> offsets;
  offsets.reserve(seconds.size());
  for (const double at : seconds) {
    const double scaled = (at - seconds.front()) * options.time_scale;
    if (scaled > 9e9)
      return fail(ErrorCode::kDataLoss, "{}: the schedule is {:.3g} s long", options.file, scaled);
    offsets.push_back(std::llround(scaled * 1e9));
  }
  return offsets;
}

}  // namespace headroom::load
