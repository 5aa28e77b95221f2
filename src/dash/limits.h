// limits: the hardware's bound of a record, when the record says enough to compute it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "limit/bound.h"
#include "results/record.h"

namespace headroom::dash {

/// What the caller knows better than the record; empty: as recorded.
struct LimitHints {
  std::string shape;                  // name, shape file or model directory
  std::string hardware;               // name, file, or "this"
  std::optional<limit::Basis> basis;  // absent: measured for this machine, else datasheet
};

/// A record's operating point as a question to limit::bound().
struct LimitQuestion {
  limit::Shape shape;
  limit::Hardware hardware;
  limit::Question question;
  double concurrency = 0;
};

/// Errors say which of model, hardware, precision, cache type, layout or concurrency is not known.
/// Lengths are the measured means where the record has them, else the nominal ones. A processor is
/// known only when it is this machine's.
base::Result<LimitQuestion> limit_question(const results::Record& record,
                                           const LimitHints& hints = {});

/// The bound at the record's concurrency: tpot_ms is the least TPOT a decode step allows, with
/// nothing else in the batch; the throughputs count prefill, overlapped perfectly. No measurement
/// can beat either.
base::Result<results::Limit> limit_of(const results::Record& record, const LimitHints& hints = {});

/// Points (tok/s/user, tok/s/GPU, input tokens counted) of the bound from `low` to `high` requests.
base::Result<std::vector<std::pair<double, double>>> limit_curve(const LimitQuestion& asked,
                                                                 int64_t low, int64_t high);

}  // namespace headroom::dash
