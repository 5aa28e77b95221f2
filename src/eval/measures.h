// The two measures behind run_eval, and what they share.
#pragma once

#include "eval/asker.h"
#include "eval/eval.h"

namespace headroom::eval {

struct Run {
  const EvalOptions& options;
  const std::function<void(int64_t, int64_t, const std::string&)>& progress;
  const std::atomic<bool>* stop;
  Asker asker;                         // without path
  std::string model;                   // as the server knows it
  std::optional<int64_t> max_context;  // where the server tells

  Asker to(std::string path) const {
    Asker out = asker;
    out.path = std::move(path);
    return out;
  }
};

base::Result<EvalOutcome> exact_match(const Run& run);
base::Result<EvalOutcome> perplexity(const Run& run);

/// Mean and standard error of n values with this sum and sum of squares; no error below two.
struct MeanError {
  double mean = 0;
  std::optional<double> error;
};
MeanError mean_error(double sum, double squares, int64_t n);

}  // namespace headroom::eval
