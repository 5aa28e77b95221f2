// What a server's handler sees: the request, the reply it gives, and the line on which it gives it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom::http {

/// A request that was read whole. Header names are lower case.
struct IncomingRequest {
  std::string method;  // "GET"; as sent, case and all
  std::string path;    // percent-decoded, without query
  std::string query;   // behind '?', as sent
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body = {};
  std::string peer;  // "127.0.0.1:51234", or "unix"

  /// The first header of that (lower-case) name, or empty.
  std::string_view header(std::string_view name) const;
};

struct Reply {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers = {};  // further ones
};

/// Where one request is answered, at once or later, whole or as events. All but post() are called
/// on the connection's I/O thread, where handlers run. After the connection is gone every call is
/// legal and does nothing.
class Responder {
 public:
  virtual ~Responder() = default;

  /// The whole answer. Once, and not after start_events().
  virtual void reply(Reply reply) = 0;

  /// Status 200 and the head of a text/event-stream. Then any number of events, then the end.
  virtual void start_events() = 0;
  virtual void send_event(std::string_view data) = 0;
  virtual void end_events() = 0;

  /// Calls `fn` once if the client goes away (or is too slow to take what was written) before the
  /// answer is complete.
  virtual void on_gone(std::function<void()> fn) = 0;
  /// False while more is waiting to be written than a slow client should cost; `fn` is called when
  /// there is room again.
  virtual bool has_room() const = 0;
  virtual void on_room(std::function<void()> fn) = 0;

  /// Any thread: runs `fn` on the connection's I/O thread.
  virtual void post(std::function<void()> fn) = 0;
};

/// Runs on an I/O thread and must not block. The request lives until the handler returns.
using Handler =
    std::function<void(const IncomingRequest& request, std::shared_ptr<Responder> responder)>;

}  // namespace headroom::http
