// One operating point: its threads, its end, and what they recorded put together.
#include "load/runner.h"

#include <sched.h>

#include <algorithm>
#include <condition_variable>
#include <thread>

#include "base/clock.h"
#include "http/client.h"
#include "http/socket.h"
#include "load/load_loop.h"

namespace headroom::load {

using base::ErrorCode;

namespace {

constexpr auto kTick = std::chrono::milliseconds(50);
// What one thread carries with room to spare; beyond it the load is spread.
constexpr double kStreamsOfAThread = 8192, kRateOfAThread = 10'000;

size_t threads_of(const PointOptions& options) {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, options.concurrency));
  if (options.threads > 0) return std::min(static_cast<size_t>(options.threads), most);
  cpu_set_t mine;
  const int cores = sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 1;
  double wanted = static_cast<double>(options.concurrency) / kStreamsOfAThread;
  if (options.arrival && options.arrival->rate < 1e9)
    wanted = std::max(wanted, options.arrival->rate / kRateOfAThread);
  return std::min({static_cast<size_t>(std::max(1.0, std::ceil(wanted))),
                   static_cast<size_t>(std::max(1, cores)), most});
}

/// Where the threads wait for each other and the caller for them.
class Gate {
 public:
  explicit Gate(size_t threads) : running_(threads) {}
  /// A loop is ready; waits for the start. False: there will be none.
  bool ready(base::Result<> outcome) {
    std::unique_lock lock(mutex_);
    if (!outcome && !error_) error_ = outcome.error();
    ++ready_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return begun_; });
    return !error_;
  }
  /// The caller: all are ready, or one failed.
  std::optional<base::Error> begin(RunState& state, PointRun& run) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_ == running_; });
    run.unix_start_ns = base::unix_ns();
    run.start_ns = state.start_ns = base::now_ns();
    begun_ = true;
    changed_.notify_all();
    return error_;
  }
  void done() {
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }
  /// False once all are done; else after a tick.
  bool wait_tick() {
    std::unique_lock lock(mutex_);
    return !changed_.wait_for(lock, kTick, [&] { return running_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ready_ = 0, running_;
  bool begun_ = false;
  std::optional<base::Error> error_;
};

PointProgress progress_of(const RunState& state) {
  PointProgress progress;
  progress.released = state.released;
  progress.ended = state.ended;
  progress.failed = state.failed;
  progress.in_flight = state.in_flight;
  progress.tokens = state.tokens;
  return progress;
}

/// Ends the point early where it is asked to.
void supervise(RunState& state, Gate& gate, PointRun& run) {
  const PointControl& control = state.control;
  while (gate.wait_tick()) {
    if (control.progress) control.progress(progress_of(state));
    if (run.interrupted || state.halt) continue;
    const int64_t limit = state.options.deadline_ns;
    if (control.stop && control.stop->load(std::memory_order_relaxed)) {
      run.interrupted_why = "interrupted";
    } else if (limit > 0 && base::now_ns() - run.start_ns >= limit) {
      run.interrupted_why =
          fmt::format("the point's limit of {:.6g} s passed", static_cast<double>(limit) * 1e-9);
    } else {
      continue;
    }
    run.interrupted = true;
    state.halt = true;
  }
}

/// Connections broke: a server that died near the point's end must not pass for one that failed a
/// few requests.
std::optional<base::Error> check_alive(const RunState& state) {
  http::ClientOptions options;
  options.headers = state.options.headers;
  const auto answer = http::get(state.options.url, "/v1/models", options);
  if (answer) return std::nullopt;
  return base::Error{
      ErrorCode::kUnavailable,
      fmt::format("the server went away after {} good and {} failed requests: {}",
                  state.succeeded.load(), state.failed.load(), answer.error().message)};
}

void merge(LoadLoop& loop, bool first, PointRun& run) {
  if (first) {
    run.recorder = std::move(loop.recorder);
    run.client = std::move(loop.client);
    return;
  }
  run.recorder.merge(std::move(loop.recorder));
  ClientState& all = run.client;
  const ClientState& one = loop.client;
  all.cpu_cores += one.cpu_cores;
  all.busiest_thread = std::max(all.busiest_thread, one.busiest_thread);
  all.kernel_reads += one.kernel_reads;
  all.user_reads += one.user_reads;
  all.clock_steps = std::max(all.clock_steps, one.clock_steps);
  all.resent += one.resent;
  all.retries += one.retries;
  all.read_lag.merge(one.read_lag);
  all.loop_lag.merge(one.loop_lag);
  all.connect_time.merge(one.connect_time);
}

}  // namespace

base::Result<PointRun> run_point(const PointOptions& options, const Workload& workload,
                                 const PointControl& control) {
  RunState state(options, workload, control);
  PointRun run;
  run.concurrency = options.concurrency;
  run.arrival = options.arrival;
  run.warmup = options.warmup;
  const size_t count = threads_of(options);
  const auto slots = static_cast<size_t>(options.concurrency);
  // Of all threads together: each client would see to its own share alone.
  HEADROOM_TRY_VOID(http::reserve_connections(options.url, options.sources.size(), slots));
  std::vector<std::unique_ptr<LoadLoop>> loops;
  for (size_t i = 0; i < count; ++i) {
    const size_t from = slots * i / count, to = slots * (i + 1) / count;
    loops.push_back(std::make_unique<LoadLoop>(state, i, count, from, to - from));
  }
  Gate gate(count);
  std::vector<std::thread> threads;
  for (const auto& loop : loops)
    threads.emplace_back([&gate, loop = loop.get()] {
      if (gate.ready(loop->prepare())) loop->run();
      gate.done();
    });
  const auto no_start = gate.begin(state, run);
  supervise(state, gate, run);
  for (std::thread& thread : threads) thread.join();
  if (no_start) return tl::unexpected<base::Error>(*no_start);
  if (!state.fatal && !run.interrupted && state.lost > 0) state.fatal = check_alive(state);
  if (state.fatal && !options.keep_failed) return tl::unexpected<base::Error>(*state.fatal);
  run.gone = state.fatal;
  if (run.interrupted && state.measured_ended == 0)
    return base::fail(ErrorCode::kCancelled, "{}, before a measured request had ended",
                      run.interrupted_why);
  for (size_t i = 0; i < count; ++i) merge(*loops[i], i == 0, run);
  run.client.threads = static_cast<int64_t>(count);
  run.most_in_flight = state.most_in_flight;
  run.next_index = std::max(state.used_until.load(), options.first_index);
  run.first_failures = std::move(state.first_failures);
  if (control.progress) control.progress(progress_of(state));
  return run;
}

}  // namespace headroom::load
