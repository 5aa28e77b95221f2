// Server: an HTTP/1.1 server for JSON and event streams; keep-alive, limits, timeouts, drain.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "http/router.h"

namespace headroom::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8000;   // 0: any free one; Server::port() says which
  std::string unix_path;  // instead of host and port; the socket file is replaced and removed
  int threads = 1;        // I/O threads
  int max_connections = 4096;
  uint32_t max_header_bytes = 32 << 10;
  uint64_t max_body_bytes = 64 << 20;
  std::chrono::milliseconds idle_timeout{75'000};     // between requests, and for a head to arrive
  std::chrono::milliseconds request_timeout{60'000};  // for a body to arrive
  std::chrono::milliseconds write_timeout{60'000};    // for the peer to take what was written
  size_t room_bytes = 256 << 10;  // unwritten bytes above which has_room() is false
  std::string cors_origin;        // empty: CORS is off
};

/// listen() binds; start() serves; stop() ends. The public functions are for one owning thread.
class Server {
 public:
  /// Errors: kUnavailable naming the address when it is in use or may not be bound.
  static base::Result<std::unique_ptr<Server>> listen(ServerOptions options, Router router);
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;
  /// "http://127.0.0.1:8000" or "unix:/run/headroom.sock".
  virtual std::string url() const = 0;

  virtual void start() = 0;
  /// Closes the listener and idle connections, lets answers under way finish until `grace` is over,
  /// then closes everything and joins the threads. Idempotent.
  virtual void stop(std::chrono::milliseconds grace) = 0;

  virtual int connections() const = 0;
};

}  // namespace headroom::http
