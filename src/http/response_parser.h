// ResponseParser: one HTTP/1.1 response out of bytes that may be split anywhere, with strict
// limits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "http/function_ref.h"

namespace headroom::http {

/// The status and headers of a response. Names are lower case, values trimmed.
struct ResponseHead {
  int status = 0;
  int minor_version = 1;  // HTTP/1.minor
  std::vector<std::pair<std::string, std::string>> headers;

  /// The first header of that (lower-case) name, or empty.
  std::string_view header(std::string_view name) const;
};

/// Understands chunked, Content-Length and close-delimited bodies; skips 1xx responses. The body is
/// handed on as it comes, without the framing. Allocates only while its buffers grow.
class ResponseParser {
 public:
  struct Limits {
    size_t line = 16 << 10;   // bytes of a header or chunk-size line
    size_t head = 256 << 10;  // bytes of all headers, trailers included
  };
  using Sink = FunctionRef<void(std::string_view)>;

  ResponseParser() = default;
  explicit ResponseParser(Limits limits) : limits_(limits) {}

  /// Eats bytes up to the end of the response at most; returns how many were eaten. Errors:
  /// kDataLoss for what is not HTTP, kTooLarge above a limit.
  base::Result<size_t> feed(std::string_view bytes, Sink body);

  /// The peer closed: fine for a complete response and for a body that the close delimits, else
  /// kDataLoss saying where the response broke off.
  base::Result<> close();

  bool head_complete() const { return state_ > State::kHeader; }
  bool complete() const { return state_ == State::kComplete; }
  /// Valid once head_complete().
  const ResponseHead& head() const { return head_; }
  /// May the connection serve another request once this response is complete?
  bool keep_alive() const { return keep_alive_; }
  void reset();

 private:
  enum class State : uint8_t {
    kStatusLine,
    kHeader,
    kFixedBody,
    kCloseBody,
    kChunkSize,
    kChunkBody,
    kChunkEnd,
    kTrailer,
    kComplete
  };
  base::Result<> take_line(std::string_view line);
  base::Result<> take_status_line(std::string_view line);
  base::Result<> take_header(std::string_view line);
  base::Result<> take_chunk_size(std::string_view line);
  base::Result<> end_head();

  Limits limits_;
  State state_ = State::kStatusLine;
  std::string line_;        // an unfinished line
  size_t head_bytes_ = 0;   // of status line, headers and trailers so far
  uint64_t remaining_ = 0;  // of the fixed body or the chunk
  bool keep_alive_ = true;
  ResponseHead head_;
};

}  // namespace headroom::http
