// Scheduler: who gets a slot, and which tokens make up the next step.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/page_pool.h"
#include "engine/sequence.h"

namespace headroom::engine {

struct SchedulerLimits {
  int32_t max_sequences = 16;     // that run at once
  int32_t max_step_tokens = 512;  // new tokens of one step, ≥ max_sequences + prefill_chunk - 1
  int32_t prefill_chunk = 256;    // prompt tokens a sequence may have in one step
};

/// Engine thread only. First come, first served, without overtaking: a request that does not fit
/// holds back those behind it. Admission reserves every page the sequence can ever need, so a
/// running sequence never has to give way.
class Scheduler {
 public:
  struct Part {
    Sequence* sequence = nullptr;
    int32_t tokens = 0;    // new tokens of this step
    bool decode = false;   // its one token was generated; prompt tokens otherwise
    bool samples = false;  // a token is drawn from its last row
  };

  /// HEADROOM_CHECKs that the limits let every step make progress.
  Scheduler(const SchedulerLimits& limits, PagePool& pool);

  void add(std::unique_ptr<Sequence> sequence) { waiting_.push_back(std::move(sequence)); }
  /// Moves sequences from waiting to running while slots and pages last; returns how many moved.
  int32_t admit(int64_t now_ns);
  /// The next step: every decoding sequence first, then prompt chunks in order of admission. Chunks
  /// end at multiples of prefill_chunk or at the prompt's end, whatever else is in the step.
  std::span<const Part> plan();
  /// Gives the pages back and destroys the sequence.
  void retire(Sequence* sequence);
  /// Takes out every sequence for which `gone` is true and hands it over, its pages given back.
  void remove_if(const std::function<bool(const Sequence&)>& gone,
                 const std::function<void(Sequence&, bool was_waiting)>& removed);

  size_t running() const { return running_.size(); }
  size_t waiting() const { return waiting_.size(); }
  bool idle() const { return running_.empty() && waiting_.empty(); }
  const std::vector<std::unique_ptr<Sequence>>& running_sequences() const { return running_; }

 private:
  SchedulerLimits limits_;
  PagePool& pool_;
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> running_;  // in order of admission
  std::vector<Part> parts_;
};

}  // namespace headroom::engine
