// Session: one server configuration started, and the points measured on it.
#pragma once

#include <memory>
#include <span>

#include "load/bench.h"
#include "sweep/estimate.h"
#include "sweep/launcher.h"
#include "sweep/sweep.h"
#include "sweep/sweep_view.h"

namespace headroom::sweep {

/// What the sessions of a sweep share.
struct SweepState {
  const Recipe& recipe;
  const SweepOptions& options;
  results::Store& store;
  RunChoice choice;
  std::vector<results::StoredRecord> stored;  // of the recipe's name, for estimates
  SweepOutcome outcome;
  SweepView* view = nullptr;
  int64_t started_ns = 0;
  size_t sessions = 0, number = 0, total = 0;  // servers started; points begun and expected
  bool stopped = false;                        // by a limit, an error or the user

  double charged_device_s = 0, charged_until_s = 0;  // of configurations that are done

  double elapsed_s() const;
  /// What passed since the last call was on `devices`.
  void charge(std::optional<int64_t> devices);
  std::optional<double> dollars_after(double seconds, std::optional<int64_t> devices) const;
};

class Session {
 public:
  Session(SweepState& state, const Configuration& configuration)
      : state_(state), configuration_(configuration) {}
  ~Session();
  /// Measures one point, or says in the result why not; the server is started when it is needed.
  /// Nothing when a limit or the user ends the sweep here.
  std::optional<PointResult> measure(const Load& load, int64_t repeat);

 private:
  bool start();
  void warm_up();
  void evaluate();
  bool within_limits(const Load& load, double expected_s);
  PointResult failed(PointResult result, std::string reason) const;
  PointResult keep(PointResult result, load::BenchOutcome outcome, double seconds);

  SweepState& state_;
  const Configuration& configuration_;
  std::optional<Server> server_;
  std::string failure_;  // why no point of this configuration can be measured any more
  std::shared_ptr<const load::ServerFacts> facts_;
  std::optional<results::Eval> eval_;
};

}  // namespace headroom::sweep
