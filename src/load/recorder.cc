// Collecting requests; finding the steady window.
#include "load/recorder.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace headroom::load {

void Recorder::begin(int64_t origin) {
  tokens_.begin(origin);
  gaps_.begin(origin);
}

void Recorder::add(const RequestRecord& record, const std::vector<ChunkMark>& marks) {
  records_.push_back(record);
  if (!record.warmup) ++measured_;
  if (!record.ok()) return;
  ++succeeded_;
  if (!record.streamed && record.last_token)
    tokens_.add(*record.last_token, static_cast<double>(record.tokens()));
  // Chunks that do not tell their tokens share the rest of the server's count evenly.
  int64_t told = 0, silent = 0;
  for (const ChunkMark& mark : marks) {
    told += mark.tokens;
    silent += mark.tokens == 0;
  }
  const double share = silent == 0 ? 0
                                   : std::max(0.0, static_cast<double>(record.tokens() - told)) /
                                         static_cast<double>(silent);
  for (size_t i = 0; i < marks.size(); ++i) {
    tokens_.add(marks[i].at, marks[i].tokens > 0 ? marks[i].tokens : share);
    if (i > 0 && !record.warmup) gaps_.record(marks[i].at, marks[i].at - marks[i - 1].at);
  }
}

void Recorder::merge(Recorder&& other) {
  records_.insert(records_.end(), other.records_.begin(), other.records_.end());
  tokens_.merge(other.tokens_);
  gaps_.merge(std::move(other.gaps_));
  measured_ += other.measured_;
  succeeded_ += other.succeeded_;
}

std::optional<Span> steady_window(const std::vector<RequestRecord>& records, int64_t concurrency) {
  constexpr int64_t kHandOverNs = 10'000'000;
  struct Taken : Span {
    bool further = false;  // a further turn: its user had the slot before too, thinking
  };
  std::map<uint32_t, std::vector<Taken>> slots;
  std::optional<int64_t> measured_from;
  for (const RequestRecord& r : records) {
    slots[r.slot].push_back({{r.released, r.done}, r.turn > 0});
    if (!r.warmup && (!measured_from || r.released < *measured_from)) measured_from = r.released;
  }
  if (!measured_from) return std::nullopt;
  std::vector<std::pair<int64_t, int>> steps;  // at, +1 or -1
  for (auto& [slot, spans] : slots) {
    std::sort(spans.begin(), spans.end(),
              [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    for (size_t i = 0; i < spans.size(); ++i) {
      const bool handed_over =
          i + 1 < spans.size() &&
          (spans[i + 1].further || spans[i + 1].begin - spans[i].end < kHandOverNs);
      steps.emplace_back(spans[i].begin, 1);
      steps.emplace_back(handed_over ? spans[i + 1].begin : spans[i].end, -1);
    }
  }
  // At one instant taking comes before leaving, so that a hand-over is no gap.
  std::sort(steps.begin(), steps.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  const auto needed = static_cast<int64_t>(std::ceil(0.95 * static_cast<double>(concurrency)));
  std::optional<Span> best;
  int64_t taken = 0, since = 0;
  for (const auto& [at, step] : steps) {
    const bool before = taken >= needed;
    taken += step;
    const bool after = taken >= needed;
    if (!before && after) since = at;
    if (before && !after) {
      const Span span{std::max(since, *measured_from), at};
      if (span.length() > 0 && (!best || span.length() > best->length())) best = span;
    }
  }
  return best;
}

}  // namespace headroom::load
