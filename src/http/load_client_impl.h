// LoadClient::Impl: its connections and what happens to each. Internal to the folder:
// load_client.cc has the loop, load_connection.cc the life of one connection.
#pragma once

#include <deque>
#include <optional>

#include "http/load_client.h"
#include "http/socket.h"
#include "http/tls.h"

struct epoll_event;

namespace headroom::http {

struct LoadClient::Impl {
  static constexpr size_t kReadBytes = 256 << 10;
  static constexpr int64_t kNever = INT64_MAX;

  enum class State : uint8_t { kClosed, kQueued, kConnecting, kHandshake, kOpen };

  struct Connection {
    Descriptor fd;
    State state = State::kClosed;
    uint32_t generation = 0;    // tells events of an older descriptor apart
    bool busy = false;          // a request is running or waits for the connection
    bool sent = false;          // its last byte is with the kernel
    bool retried = false;       // it went out a second time
    bool reused = false;        // the connection has served a request before
    bool head_told = false;     // on_head was called
    bool want_write = false;    // registered for EPOLLOUT
    bool peer_closed = false;   // its end was announced: no other request goes here
    bool tried_before = false;  // the listener was full
    size_t response_bytes = 0;  // of the running request
    size_t address = 0;         // index of the address in use
    size_t addresses_tried = 0;
    int64_t connect_began = 0;
    int64_t sent_at = 0;
    int64_t last_arrival = 0;  // no later read can have an earlier stamp
    std::string request;    // sent from here without TLS; kept until the first byte of the answer
    std::string out;        // with TLS, bytes on their way to the kernel
    size_t out_offset = 0;  // of either

    const std::string& outgoing() const { return tls ? out : request; }
    ResponseParser parser;
    std::unique_ptr<TlsSession> tls;
  };

  LoadClientOptions options;
  LoadHandler* handler = nullptr;
  std::vector<Address> addresses;
  size_t good_address = 0;  // the one that took a connection last
  std::optional<TlsContext> tls;
  Descriptor epoll;
  std::vector<Address> sources;
  std::vector<Connection> connections;
  std::vector<int64_t> deadlines;  // by slot, apart: they are scanned all the time
  std::deque<size_t> queue;        // slots that wait for their turn to connect
  std::deque<size_t> failed_connects;
  size_t connecting = 0, busy = 0;
  bool stamps = false;  // the kernel gave stamps on the last connection
  bool precise_wait = true;
  bool more_events = false;  // the last wait found as many as it could take
  int64_t next_scan = 0, last_wake = 0;
  std::string connect_why;  // why the last connect failed
  StampClock clock;
  base::Histogram connect_times, loop_lag;
  uint64_t resent = 0;
  std::vector<char> buffer = std::vector<char>(kReadBytes);

  void enqueue(size_t slot);
  void begin_connects();
  bool try_connect(size_t slot);
  void connect_failed(size_t slot, const std::string& why);
  void connected(size_t slot);
  void opened(size_t slot);
  void submit(size_t slot);
  void flush(size_t slot);
  void watch(size_t slot, bool write);
  void readable(size_t slot, bool to_the_end);
  bool consume(size_t slot, std::string_view bytes, int64_t at);
  void handshake(size_t slot);
  void lost(size_t slot, const std::string& why);
  void drop(size_t slot);
  void end(size_t slot, StreamEnd how, const std::string& why, int64_t at);
  void handle(const epoll_event& event);
  void scan(int64_t now);
  int wait(epoll_event* events, int count, int64_t until);
  void poll(int64_t until);
};

}  // namespace headroom::http
