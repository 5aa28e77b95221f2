// LiveView: what a running point shows on stderr: on a terminal a block of lines, elsewhere sparse
// plain ones.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/histogram.h"
#include "base/progress.h"
#include "load/runner.h"

namespace headroom::load {

class LiveView {
 public:
  LiveView(std::string label, const PointOptions& point, bool quiet);

  void update(const PointProgress& progress);
  void ended(const RequestRecord& record);
  void finish();

 private:
  std::vector<std::string> lines(const PointProgress& progress) const;
  double fraction(const PointProgress& progress) const;

  std::string label_;
  std::optional<int64_t> duration_ns_;
  int64_t wanted_;
  bool quiet_, terminal_;
  int64_t started_, rated_at_;
  int64_t rated_tokens_ = 0, rated_ended_ = 0;
  double tokens_now_ = 0, requests_now_ = 0;
  double cpu_started_;
  base::Histogram ttft_, tpot_;
  std::map<std::string, int64_t> failures_;
  base::LiveLines block_;
  std::optional<base::Progress> plain_;
};

}  // namespace headroom::load
