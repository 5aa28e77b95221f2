// StreamReader: turns the bytes of one response into times and counts of its RequestRecord.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/response_parser.h"
#include "http/sse_parser.h"
#include "load/openai_chunk.h"
#include "load/request_record.h"

namespace headroom::load {

/// When a chunk with content came, and how many tokens it is known to carry (0: not told).
struct ChunkMark {
  int64_t at = 0;
  int32_t tokens = 0;
};

/// One per slot, reused for request after request.
class StreamReader {
 public:
  /// `keep_answer`: answer() will be asked for.
  void begin(const RequestRecord& record, bool keep_answer = false);

  void on_head(const http::ResponseHead& head, int64_t at);
  /// True when a chunk with content came: the stream is alive.
  bool on_body(std::string_view bytes, int64_t at, ChunkReader& reader);
  /// The response is over. `how` is kNone for a complete one; then the content decides.
  void on_end(Failure how, const std::string& why, int64_t at);

  /// [DONE] or an error came: nothing that follows matters.
  bool finished() const { return done_marker_ || record.failure != Failure::kNone; }

  /// The record of another attempt at the same request.
  RequestRecord retry_record() const;
  /// The answer's text without reasoning, where it was to be kept.
  const std::string& answer() const { return answer_; }

  RequestRecord record;
  /// For the user, what the server or the system said; empty for a success.
  std::string why;
  const std::vector<ChunkMark>& marks() const { return marks_; }

 private:
  void take_event(const http::SseEvent& event, int64_t at, ChunkReader& reader);
  void take_chunk(const ChunkFacts& chunk, int64_t at);
  void fail(Failure how, std::string text);
  void judge_body(ChunkReader& reader);
  void take_whole(ChunkReader& reader);
  void drop_zero_counts();

  http::SseParser sse_;
  std::vector<ChunkMark> marks_;
  std::string
      body_;  // all of it when not streamed; else its start: it may turn out to be no stream
  std::string answer_;
  bool keep_answer_ = false;
  int64_t last_byte_ = 0;
  std::string location_, encoding_;  // headers that explain a failure
  bool done_marker_ = false, finish_reason_ = false, any_event_ = false, content_now_ = false;
};

}  // namespace headroom::load
