// One thread's loop over its conversations.
#include "load/load_loop.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"

namespace headroom::load {

namespace {

constexpr int64_t kTickNs = 50'000'000;
// After [DONE] the rest of the response is due at once; a server that lingers loses the connection.
constexpr int64_t kDrainNs = 200'000'000;
// Time a turn of the loop may spend on requests that are not due yet.
constexpr int64_t kPrepareNs = 200'000;
constexpr size_t kPreparedBytes = size_t{256} << 20;
constexpr int64_t kBackoffNs = 100'000'000;  // before the first retry; doubles

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

/// Nothing of an answer came, and another attempt may fare better.
bool worth_another(const RequestRecord& record) {
  if (record.first_token) return false;
  return record.failure == Failure::kConnect || record.failure == Failure::kReset ||
         (record.failure == Failure::kHttp &&
          (record.http_status == 429 || record.http_status >= 500));
}

}  // namespace

LoadLoop::LoadLoop(RunState& state, size_t number, size_t loops, size_t first_slot, size_t slots)
    : state_(state),
      number_(number),
      loops_(loops),
      first_slot_(first_slot),
      slots_(slots),
      talks_(slots),
      readers_(slots) {}

base::Result<> LoadLoop::prepare() {
  const PointOptions& options = state_.options;
  if (options.arrival) {
    HEADROOM_TRY(schedule_, make_schedule(*options.arrival));
  }
  http::LoadClientOptions loop{.url = options.url};
  loop.sources = options.sources;
  loop.kernel_stamps = options.kernel_stamps;
  HEADROOM_TRY(client_, http::LoadClient::create(std::move(loop), slots_, *this));
  HEADROOM_TRY_VOID(client_->connect_all());
  prepare_ahead_ = open() ? 256 : slots_;  // the whole first wave
  prepare_more(INT64_MAX);
  if (!open()) prepare_ahead_ = std::min<size_t>(slots_, 64);
  return {};
}

void LoadLoop::fill_turn(Talk& talk, const Turn& turn) const {
  const PointOptions& options = state_.options;
  const WorkloadOptions& workload = state_.workload.options();
  std::vector<std::string> headers = options.headers;
  headers.push_back(
      talk.turn == 0 ? fmt::format("X-Request-Id: {}-{}", workload.salt, talk.index)
                     : fmt::format("X-Request-Id: {}-{}.{}", workload.salt, talk.index, talk.turn));
  talk.request =
      http::post_request(options.url, endpoint_path(workload.endpoint), headers, turn.body);
  if (options.retries > 0) talk.kept = talk.request;
  talk.prompt_tokens = turn.input_tokens;
  talk.output_tokens = turn.output_tokens;
  talk.keep_answer = turn.keep_answer;
}

/// The next conversation that nobody has begun; in an open loop the one of this loop's next
/// arrival.
std::optional<LoadLoop::Talk> LoadLoop::make_talk() {
  const PointOptions& options = state_.options;
  Talk talk;
  if (open()) {
    std::optional<int64_t> offset = schedule_->next();
    while (offset && arrivals_++ % loops_ != number_) offset = schedule_->next();
    if (!offset) return std::nullopt;
    talk.due = *offset;  // from the start of the run, which is not known yet
    talk.index = options.first_index + arrivals_ - 1;
  } else {
    const uint64_t begun = state_.next_index.load() - options.first_index;
    if (loops_ == 1 && options.requests &&
        begun >= static_cast<uint64_t>(options.warmup + *options.requests))
      return std::nullopt;
    talk.index = state_.next_index++;
  }
  talk.conversation = state_.workload.conversation(talk.index);
  const auto turn = talk.conversation->next("");
  if (!turn) return std::nullopt;
  fill_turn(talk, *turn);
  return talk;
}

void LoadLoop::prepare_more(int64_t budget_ns) {
  const int64_t began = base::now_ns();
  while (!schedule_over_ && prepared_.size() < prepare_ahead_ && prepared_bytes_ < kPreparedBytes) {
    auto talk = make_talk();
    if (!talk) {
      schedule_over_ = true;
      return;
    }
    prepared_bytes_ += talk->request.size();
    prepared_.push_back(std::move(*talk));
    if (base::now_ns() - began > budget_ns) return;
  }
}

LoadLoop::Talk LoadLoop::take_prepared() {
  Talk talk = std::move(prepared_.front());
  prepared_.pop_front();
  prepared_bytes_ -= talk.request.size();
  return talk;
}

void LoadLoop::on_sent(size_t slot, int64_t at, bool again) {
  readers_[slot].record.sent = at;
  readers_[slot].record.again |= again;
  client_->set_deadline(slot, at + state_.options.timeout_ns);
}

void LoadLoop::on_head(size_t slot, const http::ResponseHead& head, int64_t at) {
  if (state_.refused.load(std::memory_order_relaxed) != 0) state_.refused = 0;
  readers_[slot].on_head(head, at);
}

void LoadLoop::on_body(size_t slot, std::string_view bytes, int64_t at) {
  StreamReader& reader = readers_[slot];
  const int64_t before = reader.record.chunks;
  const bool was_finished = reader.finished();
  const bool alive = reader.on_body(bytes, at, chunk_reader_);
  tokens_ += reader.record.chunks - before;
  if (was_finished) return;  // what still comes does not prolong the drain
  if (reader.finished())
    client_->set_deadline(slot, base::now_ns() + kDrainNs);
  else if (alive)
    client_->set_deadline(slot, at + state_.options.timeout_ns);
}

void LoadLoop::on_end(size_t slot, http::StreamEnd end, const std::string& why, int64_t at) {
  StreamReader& reader = readers_[slot];
  const std::string text = end == http::StreamEnd::kDeadline
                               ? fmt::format("no content for {:.4g} s",
                                             static_cast<double>(state_.options.timeout_ns) * 1e-9)
                               : why;
  reader.on_end(failure_of(end), text, at);
  if (retry(slot, at)) return;
  finish(slot, at);
  release_due();
}

/// The same request again a little later, in its slot; counted, not hidden.
bool LoadLoop::retry(size_t slot, int64_t at) {
  const RequestRecord& record = readers_[slot].record;
  if (record.retries >= state_.options.retries || !worth_another(record) || state_.halt)
    return false;
  ++client.retries;
  ++retries_waiting_;
  waiting_.emplace(at + (kBackoffNs << std::min<uint32_t>(record.retries, 10)),
                   Waiting{Waiting::Kind::kRetry, slot});
  return true;
}

/// The request is over for good: its record, and what its user does next.
void LoadLoop::finish(size_t slot, int64_t at) {
  StreamReader& reader = readers_[slot];
  const RequestRecord& record = reader.record;
  const PointControl& control = state_.control;
  state_.flown(-1);
  ++state_.ended;
  if (!record.warmup) ++state_.measured_ended;
  if (record.ok()) ++state_.succeeded;
  recorder.add(record, reader.marks());
  if (control.ended || control.chunks) {
    const std::lock_guard lock(state_.mutex);
    if (control.chunks) control.chunks(record, reader.marks());
    if (control.ended) control.ended(record, reader.why, state_.start_ns);
  }
  if (!record.ok()) state_.judge(record, reader.why);
  Talk& talk = talks_[slot];
  std::optional<Turn> turn;
  if (record.ok()) turn = talk.conversation->next(reader.answer());
  if (open()) idle_.push_back(slot);
  if (turn) {
    ++talk.turn;
    fill_turn(talk, *turn);
    waiting_.emplace(at + turn->think_ns,
                     Waiting{Waiting::Kind::kTurn, open() ? kAnySlot : slot, std::move(talk)});
  } else if (!open()) {
    waiting_.emplace(at, Waiting{Waiting::Kind::kFresh, slot});
  }
  talk = {};
}

/// Sends what the slot's talk holds.
void LoadLoop::send(size_t slot) {
  client_->start(slot, std::move(talks_[slot].request));
  // Covers the wait for a connection too; on_sent starts it anew.
  if (!readers_[slot].record.sent)
    client_->set_deadline(slot, base::now_ns() + state_.options.timeout_ns);
}

/// False when no more requests are wanted; the talk is then over.
bool LoadLoop::release(size_t slot, Talk talk, int64_t due) {
  const auto warmup = state_.take();
  if (!warmup) return false;
  state_.used(talk.index);
  RequestRecord record;
  record.index = talk.index;
  record.turn = talk.turn;
  record.slot = static_cast<uint32_t>(first_slot_ + slot);
  record.warmup = *warmup;
  record.intended = due;
  record.prompt_intended = talk.prompt_tokens;
  record.output_intended = talk.output_tokens;
  record.streamed = state_.workload.options().stream;
  record.released = base::now_ns();
  readers_[slot].begin(record, talk.keep_answer);
  talks_[slot] = std::move(talk);
  state_.flown(1);
  send(slot);
  return true;
}

/// When release_due has something to do.
std::optional<int64_t> LoadLoop::next_release() const {
  std::optional<int64_t> at;
  for (const auto& [due, what] : waiting_)  // the first that has a slot: nearly always the first
    if (what.slot != kAnySlot || !idle_.empty()) {
      at = due;
      break;
    }
  if (open() && !idle_.empty() && !prepared_.empty()) {
    const int64_t due = state_.start_ns + prepared_.front().due;
    at = at ? std::min(*at, due) : due;
  }
  return at ? std::optional(std::max(*at, paced_until_)) : std::nullopt;
}

void LoadLoop::release_due() {
  const int64_t pace = state_.options.pace_ns * static_cast<int64_t>(loops_);
  while (!state_.halt.load(std::memory_order_relaxed)) {
    const auto at = next_release();
    const int64_t now = base::now_ns();
    if (!at || *at > now) return;
    if (pace > 0) paced_until_ = now + pace;
    auto entry = waiting_.begin();
    while (entry != waiting_.end() && entry->second.slot == kAnySlot && idle_.empty()) ++entry;
    const bool fresh =
        open() && !idle_.empty() && !prepared_.empty() &&
        (entry == waiting_.end() || state_.start_ns + prepared_.front().due < entry->first);
    if (fresh) {
      Talk talk = take_prepared();
      const int64_t due = state_.start_ns + talk.due;
      const size_t slot = idle_.back();
      idle_.pop_back();
      if (release(slot, std::move(talk), due)) continue;
      idle_.push_back(slot);
      prepared_.clear();
      prepared_bytes_ = 0;
      schedule_over_ = true;
      continue;
    }
    const int64_t due = entry->first;
    Waiting what = std::move(entry->second);
    waiting_.erase(entry);
    if (what.kind == Waiting::Kind::kRetry) {
      --retries_waiting_;
      RequestRecord record = readers_[what.slot].retry_record();
      talks_[what.slot].request = talks_[what.slot].kept;
      readers_[what.slot].begin(record, talks_[what.slot].keep_answer);
      send(what.slot);
      continue;
    }
    size_t slot = what.slot;
    if (slot == kAnySlot) {
      slot = idle_.back();
      idle_.pop_back();
    }
    if (what.kind == Waiting::Kind::kFresh) {
      if (prepared_.empty()) prepare_more(0);
      if (prepared_.empty()) continue;  // nothing is left to say
      what.talk = take_prepared();
    }
    if (!release(slot, std::move(what.talk), due) && open()) idle_.push_back(slot);
  }
}

bool LoadLoop::over() const {
  if (state_.halt.load(std::memory_order_relaxed)) return true;
  if (client_->busy() > 0 || retries_waiting_ > 0) return false;
  if (!state_.more_wanted()) return true;
  return waiting_.empty() && (!open() || (prepared_.empty() && schedule_over_));
}

void LoadLoop::run() {
  client.priority = favour_this_thread();
  const int64_t start = state_.start_ns;
  recorder.begin(start);
  client_->reset_clock_counts();
  const int64_t cpu_start = thread_cpu_ns();
  const auto users = static_cast<double>(std::max<int64_t>(1, state_.options.concurrency));
  for (size_t slot = 0; slot < slots_; ++slot) {
    if (open()) {
      idle_.push_back(slots_ - 1 - slot);
      continue;
    }
    const double place = static_cast<double>(slot * loops_ + number_) / users;
    const auto late = static_cast<int64_t>(static_cast<double>(state_.options.stagger_ns) * place);
    waiting_.emplace(start + late, Waiting{Waiting::Kind::kFresh, slot});
  }
  while (!over()) {
    release_due();
    prepare_more(kPrepareNs);
    const bool behind = !schedule_over_ && prepared_.size() < prepare_ahead_ / 2 &&
                        prepared_bytes_ < kPreparedBytes;
    int64_t wake = base::now_ns() + (behind ? 0 : kTickNs);
    if (const auto at = next_release()) wake = std::min(wake, *at);
    client_->poll(std::max(wake, base::now_ns()));
    if (tokens_ > 0) {
      state_.tokens.fetch_add(tokens_, std::memory_order_relaxed);
      tokens_ = 0;
    }
  }
  const auto wall = static_cast<double>(std::max<int64_t>(1, base::now_ns() - start));
  client.cpu_cores = static_cast<double>(thread_cpu_ns() - cpu_start) / wall;
  client.busiest_thread = client.cpu_cores;
  client.kernel_reads = client_->clock().kernel_reads();
  client.user_reads = client_->clock().user_reads();
  client.clock_steps = client_->clock().steps();
  client.read_lag = client_->clock().read_lag();
  client.loop_lag = client_->loop_lag();
  client.connect_time = client_->connect_times();
  client.resent = static_cast<int64_t>(client_->resent());
  client_.reset();  // closes what an interrupted run left open
}

}  // namespace headroom::load
