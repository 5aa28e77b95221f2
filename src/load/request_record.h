// RequestRecord: what is kept of each request, at a fixed size; and the kinds of failure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace headroom::load {

/// Why a request is not counted as a success. None of them adds to any time or token figure.
enum class Failure : uint8_t {
  kNone,
  kConnect,      // no connection
  kReset,        // closed or reset before the first byte of the response
  kCut,          // closed or reset in the middle of the response
  kTimeout,      // no content for longer than the timeout
  kHttp,         // a status that is not 200
  kStreamError,  // an error object inside a response with status 200
  kTruncated,    // the stream ended in good order, but with neither finish_reason nor [DONE]
  kEmpty,        // the stream ended without any content
  kBadStream,    // not HTTP, not an event stream, not JSON
};

/// The name in records: "timeout", "http 503", …
std::string failure_name(Failure failure, int http_status);

/// Times are CLOCK_MONOTONIC nanoseconds; an absent one did not happen.
struct RequestRecord {
  uint64_t index = 0;
  uint32_t slot = 0;
  uint32_t turn = 0;  // of its conversation
  bool warmup = false;
  bool again = false;  // sent a second time: the kept-alive connection had been closed
  Failure failure = Failure::kNone;
  bool streamed = true;  // asked for as a stream; else there is no TTFT and no TPOT
  uint32_t retries = 0;  // attempts before this one, because they were asked for
  int http_status = 0;

  int64_t intended = 0;                // when the arrival process wanted it sent
  int64_t released = 0;                // when the client took it up
  std::optional<int64_t> sent;         // last byte of the request handed to the kernel
  std::optional<int64_t> first_byte;   // of the response
  std::optional<int64_t> first_token;  // first chunk with content, reasoning included
  std::optional<int64_t> first_text;   // first chunk with content that is not reasoning
  std::optional<int64_t> last_token;   // last chunk with content; not streamed: the last byte
  int64_t done = 0;                    // end of the response, [DONE] included

  std::optional<int64_t> prompt_intended;  // tokens the prompt has, where that is known
  int64_t output_intended = 0;             // tokens asked for
  std::optional<int64_t> prompt_tokens;    // of the server's usage
  std::optional<int64_t> output_tokens;    // of the server's usage
  int64_t chunks = 0;                      // with content
  int64_t coalesced = 0;     // chunks that one read delivered together with the chunk before
  int64_t chunk_tokens = 0;  // tokens in them as far as the chunks tell; else one each

  bool ok() const { return failure == Failure::kNone; }
  /// Is it known how many tokens came? An answer in one piece without usage does not tell.
  bool counted() const { return output_tokens || streamed; }
  /// The server's count, else the client's own.
  int64_t tokens() const { return output_tokens.value_or(chunk_tokens); }
  std::optional<int64_t> ttft() const {
    return sent && first_token ? std::optional(*first_token - *sent) : std::nullopt;
  }
  std::optional<int64_t> e2e() const {
    return sent && last_token ? std::optional(*last_token - *sent) : std::nullopt;
  }
  /// Several tokens in one read: something on the way held them back, and no gap was seen.
  bool at_once() const { return first_token && tokens() > 1 && *last_token == *first_token; }
  /// (E2E - TTFT) / (output tokens - 1); absent for one token, and where all came at once.
  std::optional<double> tpot() const {
    if (!first_token || tokens() < 2 || at_once()) return std::nullopt;
    return static_cast<double>(*last_token - *first_token) / static_cast<double>(tokens() - 1);
  }
};

}  // namespace headroom::load
