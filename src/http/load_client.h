// LoadClient: many HTTP/1.1 requests at once on one thread, with receive times from the kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "base/result.h"
#include "http/response_parser.h"
#include "http/stamp_clock.h"
#include "http/url.h"

namespace headroom::http {

/// How a request ended.
enum class StreamEnd {
  kComplete,     // the whole response came, whatever its status
  kConnect,      // no connection: refused, unreachable, timed out, certificate not trusted
  kReset,        // the peer closed or reset before the first byte of the response
  kCut,          // the peer closed or reset in the middle of the response
  kBadResponse,  // not HTTP, or above a limit
  kDeadline,     // the deadline passed
};

/// What happens to requests. Times are CLOCK_MONOTONIC nanoseconds. Only on_end may call
/// LoadClient::start; the others may call set_deadline.
class LoadHandler {
 public:
  virtual ~LoadHandler() = default;
  /// The last byte of the request was handed to the kernel (stamped just before that call: on
  /// loopback the peer may answer before the call returns). Comes a second time, `again` set, when
  /// a kept-alive connection turned out closed and the request went out on a fresh one.
  virtual void on_sent(size_t slot, int64_t at, bool again) = 0;
  virtual void on_head(size_t slot, const ResponseHead& head, int64_t at) = 0;
  virtual void on_body(size_t slot, std::string_view bytes, int64_t at) = 0;
  /// `why` is empty for kComplete. The slot is free.
  virtual void on_end(size_t slot, StreamEnd end, const std::string& why, int64_t at) = 0;
};

struct LoadClientOptions {
  Url url;
  /// Local addresses to connect from, in turn: each has its own ports. Empty: the kernel's choice.
  std::vector<std::string> sources = {};
  /// Kernel receive stamps; off is for tests. Unix sockets have none.
  bool kernel_stamps = true;
  int64_t connect_timeout_ns = 10'000'000'000;
  /// Connects begun and not finished, at most: a burst above the server's backlog costs SYN retries
  /// of a second and more.
  size_t connects_at_once = 64;
  /// With kernel stamps and at least `batch_streams` busy slots the loop wakes once per batch: half
  /// the CPU time. The times are the kernel's, so figures stay; only chunks of one stream that are
  /// closer together than a batch are read as one, with the time of the last.
  int64_t batch_ns = 1'000'000;
  size_t batch_streams = 32;
};

/// Slots number the connections, 0 to slots() - 1; each carries one request at a time and keeps its
/// connection alive between requests. One thread.
class LoadClient {
 public:
  /// Resolves the address and makes room for `slots` sockets; connects nothing yet. Errors say what
  /// is missing: descriptors or local ports (kResourceExhausted), the name (kUnavailable).
  static base::Result<LoadClient> create(LoadClientOptions options, size_t slots,
                                         LoadHandler& handler);
  LoadClient(LoadClient&&) noexcept;
  LoadClient& operator=(LoadClient&&) noexcept;
  ~LoadClient();

  /// Connects all slots, paced. Errors: kUnavailable naming the address.
  base::Result<> connect_all();

  /// Sends `request` (head and body, complete) on a free slot, reconnecting first when the
  /// connection is gone. Failures come through on_end: from a later poll, but for a connection that
  /// breaks under the first bytes before this returns.
  void start(size_t slot, std::string request);

  /// The running request of `slot` ends with kDeadline at that time; checked every 10 ms.
  void set_deadline(size_t slot, int64_t at_ns);

  /// Handles what happens until `until_ns` or a batch of events, whichever is first. Returns also
  /// when a signal came.
  void poll(int64_t until_ns);

  size_t slots() const;
  size_t busy() const;
  const StampClock& clock() const;
  void reset_clock_counts();
  /// Connect times (TLS handshake included), nanoseconds: not part of any request's times.
  const base::Histogram& connect_times() const;
  /// How much later than wanted the loop woke, nanoseconds.
  const base::Histogram& loop_lag() const;
  /// Requests that went out again because their kept-alive connection had been closed.
  uint64_t resent() const;

 private:
  struct Impl;
  explicit LoadClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// "POST path HTTP/1.1" with Host, Content-Type, Content-Length and `headers` ("Name: value" each).
std::string post_request(const Url& url, std::string_view path,
                         const std::vector<std::string>& headers, std::string_view body);

}  // namespace headroom::http
