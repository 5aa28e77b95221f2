// Runner: drives one operating point against a server and collects what happened.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/url.h"
#include "load/arrival.h"
#include "load/recorder.h"
#include "load/workload.h"

namespace headroom::load {

struct PointOptions {
  http::Url url;
  std::vector<std::string> headers;  // "Name: value", sent with every request
  /// Users of the closed loop; with an arrival, the most requests that may be in flight.
  int64_t concurrency = 1;
  /// An open loop; absent: the closed loop.
  std::optional<ArrivalOptions> arrival;
  /// Closed loop: the users start one after the other over that time.
  int64_t stagger_ns = 0;
  /// The point ends after that many measured requests, or releases none after `duration_ns`.
  std::optional<int64_t> requests;
  std::optional<int64_t> duration_ns;
  /// Requests that come first and are not measured; their slots are handed over without draining.
  int64_t warmup = 0;
  /// A stream fails after so long without content.
  int64_t timeout_ns = 300'000'000'000;
  /// Index of the first prompt: points of one run do not share prompts.
  uint64_t first_index = 0;
  bool kernel_stamps = true;
  /// Threads, each with its own connections; 0: one, and more where the load needs it.
  int64_t threads = 0;
  /// Local addresses to connect from, in turn; each has its own ports.
  std::vector<std::string> sources{};
  /// How often a request may be sent again when nothing of its answer came; counted.
  uint32_t retries = 0;
  /// Least time between two releases: slots that become free together release no burst.
  int64_t pace_ns = 0;
  /// The point ends so long after its start with what it has; 0: no limit.
  int64_t deadline_ns = 0;
  /// A point that ends because the server fails is given back with what it has (PointRun::gone)
  /// instead of an error.
  bool keep_failed = false;
};

/// The state of a running point, for progress and for tests.
struct PointProgress {
  int64_t released = 0, ended = 0, failed = 0, in_flight = 0;
  int64_t tokens = 0;  // chunks with content so far
};

struct PointControl {
  /// Set: the point ends at once with what it has.
  const std::atomic<bool>* stop = nullptr;
  /// On the caller's thread, some times a second.
  std::function<void(const PointProgress&)> progress{};
  /// Hears of every request that ended, warm-up included; `why` is empty for a success. Times are
  /// CLOCK_MONOTONIC; PointRun::start_ns (and `start_ns` here) is the run's start.
  /// Called on the loops' threads, one at a time.
  std::function<void(const RequestRecord&, const std::string& why, int64_t start_ns)> ended{};
  /// The same with the request's chunks, for those who need every gap.
  std::function<void(const RequestRecord&, const std::vector<ChunkMark>&)> chunks{};
};

/// How the client itself fared.
struct ClientState {
  double cpu_cores = 0;       // of all its threads
  double busiest_thread = 0;  // CPU share of one thread
  int64_t threads = 1;
  uint64_t kernel_reads = 0, user_reads = 0;
  uint64_t clock_steps = 0;      // of the wall clock, seen and corrected
  int64_t resent = 0;            // requests that went out again on a fresh connection
  int64_t retries = 0;           // attempts beyond the first, because they were asked for
  std::string priority;          // what the kernel granted the threads
  base::Histogram loop_lag;      // how much later than wanted a loop woke, ns
  base::Histogram read_lag;      // kernel stamp to our read, ns
  base::Histogram connect_time;  // ns
};

struct PointRun {
  int64_t concurrency = 0;  // as in the options
  std::optional<ArrivalOptions> arrival;
  int64_t warmup = 0;
  int64_t start_ns = 0;       // CLOCK_MONOTONIC: schedules count from here
  int64_t unix_start_ns = 0;  // the same moment
  bool interrupted = false;   // stopped before its end: what had ended by then
  std::string interrupted_why{};
  std::optional<base::Error> gone;  // why the server is not to be asked further
  int64_t most_in_flight = 0;
  uint64_t next_index = 0;  // the first prompt that was not used
  Recorder recorder;
  ClientState client;
  std::map<std::string, std::string> first_failures;  // by kind, what the first one said
};

/// Runs a point to its end. Errors name the address: kUnavailable when the server
/// refuses, goes away or answers nothing but failures (with `keep_failed` only where nothing was
/// sent); kResourceExhausted before the start when
/// descriptors or ports do not suffice; kCancelled when `control.stop` was set or the deadline came
/// before a measured request had ended. Afterwards such a point is `interrupted`.
base::Result<PointRun> run_point(const PointOptions& options, const Workload& workload,
                                 const PointControl& control = {});

}  // namespace headroom::load
