// RunState: what the loops of one point share: tickets, counts, first failures, the end.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "load/runner.h"
#include "load/stream_reader.h"

namespace headroom::load {

/// Touched once or twice a request, never for a token; any thread.
struct RunState {
  RunState(const PointOptions& o, const Workload& w, const PointControl& c)
      : options(o), workload(w), control(c), next_index(o.first_index) {}

  const PointOptions& options;
  const Workload& workload;
  const PointControl& control;
  int64_t start_ns = 0;  // set before the loops begin

  std::atomic<int64_t> released{0}, measured{0}, measured_from{0};
  std::atomic<int64_t> ended{0}, measured_ended{0}, failed{0}, succeeded{0};
  std::atomic<int64_t> in_flight{0}, most_in_flight{0}, tokens{0};
  std::atomic<int64_t> lost{0};      // requests whose connection broke or never came
  std::atomic<int64_t> refused{0};   // connects refused in a row, with no answer begun in between
  std::atomic<uint64_t> next_index;  // the first prompt that was not prepared
  std::atomic<uint64_t> used_until{0};  // and that was not sent
  std::atomic<bool> halt{false};        // every loop ends at once

  /// Are more requests to be released?
  bool more_wanted() const;
  /// The right to release one: true for a warm-up request. Nothing when no more are wanted.
  std::optional<bool> take();
  void flown(int64_t change);
  /// A prompt goes out.
  void used(uint64_t index);

  /// Takes note of a failed request and decides whether going on is pointless.
  void judge(const RequestRecord& record, const std::string& why);
  void fail(base::Error error);

  std::mutex mutex;  // guards what follows, and the callbacks of `control`
  std::map<std::string, std::string> first_failures;
  std::optional<base::Error> fatal;
};

}  // namespace headroom::load
