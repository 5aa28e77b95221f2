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
  void begin(const RequestRecord& record);

  void on_head(const http::ResponseHead& head, int64_t at);
  /// True when a chunk with content came: the stream is alive.
  bool on_body(std::string_view bytes, int64_t at, ChunkReader& reader);
  /// The response is over. `how` is kNone for a complete one; then the content decides.
  void on_end(Failure how, const std::string& why, int64_t at);

  /// [DONE] or an error came: nothing that follows matters.
  bool finished() const { return done_marker_ || record.failure != Failure::kNone; }

  RequestRecord record;
  /// For the user, what the server or the system said; empty for a success.
  std::string why;
  const std::vector<ChunkMark>& marks() const { return marks_; }

 private:
  void take_event(const http::SseEvent& event, int64_t at, ChunkReader& reader);
  void fail(Failure how, std::string text);
  void judge_body(ChunkReader& reader);

  http::SseParser sse_;
  std::vector<ChunkMark> marks_;
  std::string body_start_;           // of a response that may turn out to be no stream
  std::string location_, encoding_;  // headers that explain a failure
  bool done_marker_ = false, finish_reason_ = false, any_event_ = false, content_now_ = false;
};

}  // namespace headroom::load
