// Recorder: what a point leaves behind: one fixed record a request, and tokens and gaps over time.
#pragma once

#include <optional>
#include <vector>

#include "load/request_record.h"
#include "load/stream_reader.h"
#include "load/timeline.h"

namespace headroom::load {

class Recorder {
 public:
  void begin(int64_t origin);
  /// Takes in a request that has ended. A failed one keeps its record and counts in no figure,
  /// however many tokens it brought.
  void add(const RequestRecord& record, const std::vector<ChunkMark>& marks);

  /// Takes in what another thread of the same run recorded.
  void merge(Recorder&& other);

  const std::vector<RequestRecord>& records() const { return records_; }
  const TokenTimeline& tokens() const { return tokens_; }
  /// Gaps between the chunks of successful requests, warm-up left out.
  const SlicedHistogram& gaps() const { return gaps_; }

  int64_t measured() const { return measured_; }    // ended, warm-up left out
  int64_t succeeded() const { return succeeded_; }  // warm-up included

 private:
  std::vector<RequestRecord> records_;
  TokenTimeline tokens_;
  SlicedHistogram gaps_;
  int64_t measured_ = 0, succeeded_ = 0;
};

/// The longest span in which at least 95 % of `concurrency` slots were taken, from the first
/// measured request on; nothing when there was none. A slot counts as taken over a hand-over to its
/// next request of less than 10 ms, and while its user thinks.
std::optional<Span> steady_window(const std::vector<RequestRecord>& records, int64_t concurrency);

}  // namespace headroom::load
