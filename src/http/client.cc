// Blocking requests on the load client's loop.
#include "http/client.h"

#include <optional>

#include "base/clock.h"
#include "http/load_client.h"

namespace headroom::http {

namespace {

using base::ErrorCode;
using base::Result;

class OneRequest final : public LoadHandler {
 public:
  explicit OneRequest(size_t limit) : limit_(limit) {}
  void on_sent(size_t, int64_t, bool) override { sent_ = true; }
  void on_head(size_t, const ResponseHead& head, int64_t) override { response_.head = head; }
  void on_body(size_t, std::string_view bytes, int64_t) override {
    if (response_.body.size() + bytes.size() > limit_) too_large_ = true;
    if (!too_large_) response_.body += bytes;
  }
  void on_end(size_t, StreamEnd end, const std::string& why, int64_t) override {
    end_ = end;
    why_ = why;
  }
  bool ended() const { return end_.has_value() || too_large_; }
  Result<Response> take(const Url& url, int64_t timeout_ns) {
    const std::string where = url.address();
    if (too_large_)
      return base::fail(ErrorCode::kTooLarge, "{}: a response above {} bytes", where, limit_);
    switch (*end_) {
      case StreamEnd::kComplete:
        return std::move(response_);
      case StreamEnd::kConnect:
        return base::fail(ErrorCode::kUnavailable, "no connection to {}: {}", where, why_);
      case StreamEnd::kDeadline:
        return base::fail(ErrorCode::kUnavailable, "{}: no {} within {:.1f} s{}", where,
                          sent_     ? "answer"
                          : url.tls ? "TLS handshake"
                                    : "connection",
                          static_cast<double>(timeout_ns) * 1e-9,
                          !sent_ && url.tls ? "; does it speak plain http?" : "");
      case StreamEnd::kBadResponse:
        return base::fail(ErrorCode::kDataLoss, "{}: {}", where, why_);
      default:
        return base::fail(ErrorCode::kUnavailable, "{}: {}", where, why_);
    }
  }

 private:
  size_t limit_;
  bool too_large_ = false, sent_ = false;
  Response response_;
  std::optional<StreamEnd> end_;
  std::string why_;
};

Result<Response> request(const Url& url, std::string text, const ClientOptions& options) {
  OneRequest handler(options.body_limit);
  LoadClientOptions loop{.url = url, .kernel_stamps = false};
  loop.connect_timeout_ns = options.timeout_ns;
  HEADROOM_TRY(LoadClient client, LoadClient::create(std::move(loop), 1, handler));
  const int64_t deadline = base::now_ns() + options.timeout_ns;
  client.start(0, std::move(text));
  client.set_deadline(0, deadline);
  constexpr int64_t kStopCheckNs = 50'000'000;
  while (!handler.ended()) {
    if (options.stop && options.stop->load())
      return base::fail(ErrorCode::kCancelled, "{}: interrupted", url.address());
    client.poll(options.stop ? std::min(deadline, base::now_ns() + kStopCheckNs) : deadline);
  }
  return handler.take(url, options.timeout_ns);
}

}  // namespace

Result<Response> get(const Url& url, std::string_view path, const ClientOptions& options) {
  std::string text = fmt::format("GET {}{} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", url.path,
                                 path, url.authority());
  for (const std::string& header : options.headers) text += header + "\r\n";
  return request(url, text + "\r\n", options);
}

Result<Response> post(const Url& url, std::string_view path, std::string_view json,
                      const ClientOptions& options) {
  std::vector<std::string> headers = options.headers;
  headers.emplace_back("Connection: close");
  return request(url, post_request(url, path, headers, json), options);
}

}  // namespace headroom::http
