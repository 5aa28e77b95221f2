// SseParser: server-sent events out of a byte stream that may be split anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/function_ref.h"

namespace headroom::http {

/// Both views die when the callback returns.
struct SseEvent {
  std::string_view name;  // of the `event:` line; empty when there was none
  std::string_view data;  // the `data:` lines joined by LF
};

/// The event stream grammar of the HTML standard: lines end in LF, CRLF or CR, also mixed;
/// comments, `id:` and `retry:` are skipped; one space behind the colon is dropped; a byte order
/// mark at the start is skipped; an event without data is none. Allocates only while its buffers
/// grow.
class SseParser {
 public:
  using Sink = FunctionRef<void(const SseEvent&)>;

  /// `limit`: the most bytes one event may have.
  explicit SseParser(size_t limit = size_t{4} << 20) : limit_(limit) {}

  /// Calls `sink` for each event that `bytes` completes. Errors: kTooLarge above the limit; the
  /// parser must then be reset.
  base::Result<> feed(std::string_view bytes, Sink sink);

  /// True while an event is begun and not closed by its blank line.
  bool inside_event() const { return has_data_ || !line_.empty(); }

  /// Forgets everything: the next byte starts a new stream.
  void reset();

 private:
  void take_line(std::string_view line, Sink sink);
  size_t take_plain_event(std::string_view bytes, Sink sink) const;

  size_t limit_;
  std::string line_;  // the unfinished line
  std::string data_;
  std::string name_;
  bool has_data_ = false;
  bool after_cr_ = false;  // an LF that comes next belongs to the CR before it
  bool started_ = false;   // the byte order mark can no longer come
};

}  // namespace headroom::http
