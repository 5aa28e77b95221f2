// Admission, chunking and retirement.
#include "engine/scheduler.h"

#include <algorithm>

#include "base/check.h"

namespace headroom::engine {

Scheduler::Scheduler(const SchedulerLimits& limits, PagePool& pool) : limits_(limits), pool_(pool) {
  HEADROOM_CHECK(limits.max_sequences > 0 && limits.prefill_chunk > 0, "{} sequences, chunk {}",
                 limits.max_sequences, limits.prefill_chunk);
  // With every slot but one decoding, the last one's chunk must still fit.
  HEADROOM_CHECK(limits.max_step_tokens >= limits.max_sequences - 1 + limits.prefill_chunk,
                 "step of {} tokens for {} sequences and chunk {}", limits.max_step_tokens,
                 limits.max_sequences, limits.prefill_chunk);
  running_.reserve(static_cast<size_t>(limits.max_sequences));
  parts_.reserve(static_cast<size_t>(limits.max_sequences));
}

int32_t Scheduler::admit(int64_t now_ns) {
  int32_t admitted = 0;
  while (!waiting_.empty() && running_.size() < static_cast<size_t>(limits_.max_sequences)) {
    Sequence& next = *waiting_.front();
    const int32_t pages = pool_.pages_for(next.longest());
    HEADROOM_CHECK(pages <= pool_.count(), "request {} needs {} of {} pages", next.request.id,
                   pages, pool_.count());
    if (pages > pool_.free()) break;
    pool_.take(pages, next.pages);
    next.admitted_ns = now_ns;
    running_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    ++admitted;
  }
  return admitted;
}

std::span<const Scheduler::Part> Scheduler::plan() {
  parts_.clear();
  int32_t budget = limits_.max_step_tokens;
  for (const auto& sequence : running_) {
    if (sequence->prefilling()) continue;
    parts_.push_back({sequence.get(), 1, true, true});
    --budget;
  }
  for (const auto& sequence : running_) {
    if (!sequence->prefilling()) continue;
    const int32_t boundary = (sequence->cached / limits_.prefill_chunk + 1) * limits_.prefill_chunk;
    const int32_t end = std::min(boundary, sequence->prompt_length());
    const int32_t tokens = end - sequence->cached;
    if (tokens > budget) break;  // never a smaller chunk: boundaries depend on position alone
    const bool samples = end == sequence->prompt_length() && !sequence->scores_only();
    parts_.push_back({sequence.get(), tokens, false, samples});
    budget -= tokens;
  }
  return parts_;
}

void Scheduler::retire(Sequence* sequence) {
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [&](const auto& s) { return s.get() == sequence; });
  HEADROOM_CHECK(at != running_.end(), "request {} is not running", sequence->request.id);
  pool_.give_back(sequence->pages);
  running_.erase(at);
}

void Scheduler::remove_if(const std::function<bool(const Sequence&)>& gone,
                          const std::function<void(Sequence&, bool)>& removed) {
  std::erase_if(running_, [&](const auto& sequence) {
    if (!gone(*sequence)) return false;
    pool_.give_back(sequence->pages);
    removed(*sequence, false);
    return true;
  });
  std::erase_if(waiting_, [&](const auto& sequence) {
    if (!gone(*sequence)) return false;
    removed(*sequence, true);
    return true;
  });
}

}  // namespace headroom::engine
