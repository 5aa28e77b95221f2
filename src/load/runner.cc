// The loop of one operating point.
#include "load/runner.h"

#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "http/client.h"
#include "http/load_client.h"

namespace headroom::load {

using base::ErrorCode;

namespace {

constexpr int64_t kTickNs = 50'000'000;
// After [DONE] the rest of the response is due at once; a server that lingers loses the connection.
constexpr int64_t kDrainNs = 200'000'000;
// So many connects refused in a row, with nothing heard in between, mean that the server is gone.
constexpr int64_t kRefusedInARow = 3;

int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

Failure failure_of(http::StreamEnd end) {
  switch (end) {
    case http::StreamEnd::kComplete:
      return Failure::kNone;
    case http::StreamEnd::kConnect:
      return Failure::kConnect;
    case http::StreamEnd::kReset:
      return Failure::kReset;
    case http::StreamEnd::kCut:
      return Failure::kCut;
    case http::StreamEnd::kBadResponse:
      return Failure::kBadStream;
    case http::StreamEnd::kDeadline:
      return Failure::kTimeout;
  }
  return Failure::kBadStream;
}

class PointRunner final : public http::LoadHandler {
 public:
  PointRunner(const PointOptions& options, const Workload& workload, const PointControl& control)
      : options_(options),
        workload_(workload),
        control_(control),
        readers_(static_cast<size_t>(options.concurrency)),
        next_index_(options.first_index) {}

  base::Result<PointRun> run();

  void on_sent(size_t slot, int64_t at, bool again) override {
    readers_[slot].record.sent = at;
    readers_[slot].record.again = again;
    client_->set_deadline(slot, at + options_.timeout_ns);
  }
  void on_head(size_t slot, const http::ResponseHead& head, int64_t at) override {
    refused_ = 0;
    readers_[slot].on_head(head, at);
  }
  void on_body(size_t slot, std::string_view bytes, int64_t at) override;
  void on_end(size_t slot, http::StreamEnd end, const std::string& why, int64_t at) override;

 private:
  void fill(int64_t freed);
  std::optional<int64_t> next_due(int64_t freed);
  void release(size_t slot, int64_t due);
  bool more_wanted() const;
  void judge(const StreamReader& reader);
  void check_alive();
  void tick();

  const PointOptions& options_;
  const Workload& workload_;
  const PointControl& control_;
  std::unique_ptr<Schedule> schedule_;  // of an open loop
  std::vector<size_t> idle_;            // slots without a request, the next one last
  std::optional<int64_t> due_;          // of the next request, where that is known
  std::vector<StreamReader> readers_;
  ChunkReader chunk_reader_;
  std::optional<http::LoadClient> client_;
  PointRun run_;
  PointProgress progress_;
  uint64_t next_index_;
  int64_t measured_released_ = 0;
  std::optional<int64_t> measured_from_;
  int64_t refused_ = 0;
  int64_t lost_ = 0;  // requests whose connection broke or never came
  std::optional<base::Error> fatal_;
};

bool PointRunner::more_wanted() const {
  if (fatal_) return false;
  if (progress_.released < options_.warmup) return true;
  if (options_.requests && measured_released_ >= *options_.requests) return false;
  if (options_.duration_ns && measured_from_ &&
      base::now_ns() - *measured_from_ >= *options_.duration_ns)
    return false;
  return true;
}

std::optional<int64_t> PointRunner::next_due(int64_t freed) {
  if (!schedule_)
    return progress_.in_flight < options_.concurrency ? std::optional(freed) : std::nullopt;
  const auto offset = schedule_->next();
  return offset ? std::optional(run_.start_ns + *offset) : std::nullopt;
}

/// Releases what is due. `freed` is when the last slot became free.
void PointRunner::fill(int64_t freed) {
  while (!idle_.empty() && more_wanted()) {
    if (!due_) due_ = next_due(freed);
    if (!due_ || *due_ > base::now_ns()) return;
    const size_t slot = idle_.back();
    idle_.pop_back();
    release(slot, *due_);
    due_.reset();
  }
}

void PointRunner::release(size_t slot, int64_t due) {
  RequestRecord record;
  record.index = next_index_++;
  record.slot = static_cast<uint32_t>(slot);
  record.warmup = progress_.released < options_.warmup;
  record.intended = due;
  const auto turn = workload_.conversation(record.index)->next("");
  record.prompt_intended = turn->input_tokens;
  record.output_intended = turn->output_tokens;
  std::vector<std::string> headers = options_.headers;
  headers.push_back(fmt::format("X-Request-Id: {}-{}", workload_.options().salt, record.index));
  std::string request = http::post_request(
      options_.url, endpoint_path(workload_.options().endpoint), headers, turn->body);
  record.released = base::now_ns();
  if (!record.warmup) {
    ++measured_released_;
    if (!measured_from_) measured_from_ = record.released;
  }
  ++progress_.released;
  ++progress_.in_flight;
  run_.most_in_flight = std::max(run_.most_in_flight, progress_.in_flight);
  readers_[slot].begin(record);
  client_->start(slot, std::move(request));
  // Covers the wait for a connection too; on_sent starts it anew.
  if (!readers_[slot].record.sent)
    client_->set_deadline(slot, record.released + options_.timeout_ns);
}

void PointRunner::on_body(size_t slot, std::string_view bytes, int64_t at) {
  StreamReader& reader = readers_[slot];
  const int64_t before = reader.record.chunks;
  const bool alive = reader.on_body(bytes, at, chunk_reader_);
  progress_.tokens += reader.record.chunks - before;
  if (reader.finished())
    client_->set_deadline(slot, base::now_ns() + kDrainNs);
  else if (alive)
    client_->set_deadline(slot, at + options_.timeout_ns);
}

void PointRunner::on_end(size_t slot, http::StreamEnd end, const std::string& why, int64_t at) {
  StreamReader& reader = readers_[slot];
  const std::string text =
      end == http::StreamEnd::kDeadline
          ? fmt::format("no content for {} s", options_.timeout_ns / 1'000'000'000)
          : why;
  reader.on_end(failure_of(end), text, at);
  --progress_.in_flight;
  ++progress_.ended;
  run_.recorder.add(reader.record, reader.marks());
  if (control_.ended) control_.ended(reader.record, reader.why, run_.start_ns);
  judge(reader);
  idle_.push_back(slot);
  fill(at);
}

/// Decides whether a failure means that going on is pointless.
void PointRunner::judge(const StreamReader& reader) {
  const RequestRecord& record = reader.record;
  if (record.ok()) return;
  ++progress_.failed;
  if (record.failure == Failure::kConnect || record.failure == Failure::kReset ||
      record.failure == Failure::kCut)
    ++lost_;
  const std::string kind = failure_name(record.failure, record.http_status);
  run_.first_failures.try_emplace(kind, reader.why);
  if (record.failure == Failure::kConnect && ++refused_ >= kRefusedInARow && !fatal_)
    fatal_ = base::Error{
        ErrorCode::kUnavailable,
        fmt::format("{} no longer accepts connections ({}) after {} good and {} failed requests",
                    options_.url.address(), reader.why, run_.recorder.succeeded(),
                    progress_.failed)};
  const int64_t enough = std::max<int64_t>(options_.concurrency, 4);
  const bool all_over = progress_.ended >= enough || (progress_.in_flight == 0 && !more_wanted());
  if (run_.recorder.succeeded() == 0 && all_over && !fatal_)
    fatal_ = base::Error{ErrorCode::kUnavailable,
                         fmt::format("{}: all {} requests failed ({}): {}", options_.url.address(),
                                     progress_.ended, kind, reader.why)};
}

/// Connections broke: a server that died near the point's end must not pass for one that failed a
/// few requests.
void PointRunner::check_alive() {
  http::ClientOptions options;
  options.headers = options_.headers;
  const auto answer = http::get(options_.url, "/v1/models", options);
  if (answer) return;
  fatal_ =
      base::Error{ErrorCode::kUnavailable,
                  fmt::format("the server went away after {} good and {} failed requests: {}",
                              run_.recorder.succeeded(), progress_.failed, answer.error().message)};
}

void PointRunner::tick() {
  if (control_.progress) control_.progress(progress_);
  if (control_.stop && control_.stop->load(std::memory_order_relaxed) && !fatal_)
    fatal_ = base::Error{ErrorCode::kCancelled, "interrupted"};
}

base::Result<PointRun> PointRunner::run() {
  if (options_.arrival) {
    HEADROOM_TRY(schedule_, make_schedule(*options_.arrival));
  }
  http::LoadClientOptions loop{.url = options_.url, .kernel_stamps = options_.kernel_stamps};
  const auto slots = static_cast<size_t>(options_.concurrency);
  HEADROOM_TRY(client_, http::LoadClient::create(std::move(loop), slots, *this));
  HEADROOM_TRY_VOID(client_->connect_all());
  run_.concurrency = options_.concurrency;
  run_.arrival = options_.arrival;
  run_.warmup = options_.warmup;
  run_.unix_start_ns = base::unix_ns();
  const int64_t start = run_.start_ns = base::now_ns();
  const int64_t cpu_start = thread_cpu_ns();
  run_.recorder.begin(start);
  for (size_t slot = slots; slot > 0; --slot) idle_.push_back(slot - 1);
  fill(start);
  int64_t next_tick = start;
  while ((progress_.in_flight > 0 || (due_ && more_wanted())) && !fatal_) {
    const int64_t wake = due_ && !idle_.empty() ? std::min(next_tick, *due_) : next_tick;
    client_->poll(std::max(wake, base::now_ns()));
    fill(base::now_ns());
    if (const int64_t now = base::now_ns(); now >= next_tick) {
      next_tick = now + kTickNs;
      tick();
    }
  }
  if (!fatal_ && lost_ > 0) check_alive();
  if (fatal_) return tl::unexpected<base::Error>(*fatal_);
  const auto wall = static_cast<double>(base::now_ns() - start);
  run_.client.cpu_cores = static_cast<double>(thread_cpu_ns() - cpu_start) / wall;
  run_.client.kernel_reads = client_->clock().kernel_reads();
  run_.client.user_reads = client_->clock().user_reads();
  run_.client.read_lag = client_->clock().read_lag();
  run_.client.connect_time = client_->connect_times();
  run_.next_index = next_index_;
  if (control_.progress) control_.progress(progress_);
  return std::move(run_);
}

}  // namespace

base::Result<PointRun> run_point(const PointOptions& options, const Workload& workload,
                                 const PointControl& control) {
  return PointRunner(options, workload, control).run();
}

}  // namespace headroom::load
