// LoadLoop: one thread's share of a point: its connections, conversations and records.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/load_client.h"
#include "load/recorder.h"
#include "load/run_state.h"

namespace headroom::load {

/// Everything is called on one thread; loops meet in RunState only.
class LoadLoop final : public http::LoadHandler {
 public:
  /// Loop `number` of `loops` with `slots` connections, the first of which is `first_slot` of the
  /// run. In an open loop it takes every `loops`-th arrival.
  LoadLoop(RunState& state, size_t number, size_t loops, size_t first_slot, size_t slots);

  /// Connects all slots and prepares the first requests. Errors: those of LoadClient and Schedule.
  base::Result<> prepare();
  /// Runs from state.start_ns to the end of the point.
  void run();

  Recorder recorder;
  ClientState client;  // filled at the end of run()

  void on_sent(size_t slot, int64_t at, bool again) override;
  void on_head(size_t slot, const http::ResponseHead& head, int64_t at) override;
  void on_body(size_t slot, std::string_view bytes, int64_t at) override;
  void on_end(size_t slot, http::StreamEnd end, const std::string& why, int64_t at) override;

 private:
  static constexpr size_t kAnySlot = SIZE_MAX;

  /// A conversation at the point of its next turn, the request ready to be sent.
  struct Talk {
    std::unique_ptr<Conversation> conversation;
    uint64_t index = 0;
    uint32_t turn = 0;
    std::string request;
    std::string kept;  // a copy, where it may be sent again
    std::optional<int64_t> prompt_tokens;
    int64_t output_tokens = 0;
    bool keep_answer = false;
    int64_t due = 0;
  };
  /// What happens later: a first turn of a user (closed loop), a further turn, another attempt.
  struct Waiting {
    enum class Kind { kFresh, kTurn, kRetry } kind = Kind::kFresh;
    size_t slot = kAnySlot;
    Talk talk{};
  };

  bool open() const { return schedule_ != nullptr; }
  std::optional<Talk> make_talk();
  void fill_turn(Talk& talk, const Turn& turn) const;
  void prepare_more(int64_t budget_ns);
  Talk take_prepared();
  std::optional<int64_t> next_release() const;
  void release_due();
  bool release(size_t slot, Talk talk, int64_t due);
  void send(size_t slot);
  bool retry(size_t slot, int64_t at);
  void finish(size_t slot, int64_t at);
  bool over() const;

  RunState& state_;
  const size_t number_, loops_, first_slot_, slots_;
  std::unique_ptr<Schedule> schedule_;
  uint64_t arrivals_ = 0;       // of the schedule, all loops' together
  bool schedule_over_ = false;  // or no more requests are wanted
  size_t prepare_ahead_ = 0;
  std::deque<Talk> prepared_;                // first turns, in an open loop with their due times
  size_t prepared_bytes_ = 0;                // of their requests
  std::multimap<int64_t, Waiting> waiting_;  // by due time
  std::vector<size_t> idle_;                 // open loop: slots without a request
  std::vector<Talk> talks_;                  // by slot
  std::vector<StreamReader> readers_;
  ChunkReader chunk_reader_;
  std::optional<http::LoadClient> client_;
  int64_t paced_until_ = 0;
  int64_t retries_waiting_ = 0;
  int64_t tokens_ = 0;  // not yet in the state
};

/// Asks the kernel to run this thread as soon as it is woken: at the lowest real-time priority
/// where this process may have one, else with a short slice, a better nice value and timers without
/// slack. Says what it got.
std::string favour_this_thread();

}  // namespace headroom::load
