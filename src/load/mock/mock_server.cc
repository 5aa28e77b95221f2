// The mock server's epoll loop.
#include "load/mock/mock_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <optional>
#include <queue>

#include "base/clock.h"
#include "http/socket.h"
#include "http/url.h"
#include "load/mock/mock_request.h"
#include "load/mock/mock_stream.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using http::Descriptor;
using After = MockStep::After;

namespace {

constexpr uint64_t kListener = UINT64_MAX, kWake = UINT64_MAX - 1;

struct Connection {
  Descriptor fd;
  std::string in, out;
  std::optional<MockStream> stream;
  size_t truth = 0;  // index, while busy
  bool busy = false, close_after_out = false, want_write = false;
};

struct Timer {
  int64_t due;
  uint64_t connection;
  bool operator>(const Timer& other) const { return due > other.due; }
};

}  // namespace

struct MockServer::Loop {
  MockScript script;
  Descriptor listener, epoll, wake;
  std::map<uint64_t, Connection> connections;
  uint64_t next_connection = 0;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers;
  std::vector<char> buffer = std::vector<char>(64 << 10);

  mutable std::mutex mutex;  // guards truths
  std::vector<MockTruth> truths;
  std::atomic<int64_t> accepted{0}, in_flight{0}, most_in_flight{0};
  std::atomic<bool> stopping{false};
  int64_t requests = 0, tokens = 0;

  void run();
  void accept_all();
  void readable(uint64_t id);
  void take_requests(uint64_t id);
  bool answer(uint64_t id, MockRequest request);
  void begin(uint64_t id, Connection& c, MockCall call, const MockRequest& request, bool chat);
  void apply(uint64_t id, MockStep step);
  void send_bytes(uint64_t id, Connection& c, const std::string& bytes);
  void flush(uint64_t id, Connection& c);
  void end(Connection& c);
  void close(uint64_t id, bool reset = false);
  void watch(uint64_t id, Connection& c, bool write);
};

void MockServer::Loop::watch(uint64_t id, Connection& c, bool write) {
  if (c.want_write == write) return;
  c.want_write = write;
  epoll_event event{.events = EPOLLIN | (write ? uint32_t{EPOLLOUT} : 0u), .data = {.u64 = id}};
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, c.fd.get(), &event);
}

void MockServer::Loop::accept_all() {
  while (true) {
    Descriptor fd(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return;
    const int on = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const uint64_t id = next_connection++;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event);
    connections[id].fd = std::move(fd);
    ++accepted;
  }
}

void MockServer::Loop::end(Connection& c) {
  c.stream.reset();
  if (c.busy) --in_flight;
  c.busy = false;
}

void MockServer::Loop::close(uint64_t id, bool reset) {
  const auto found = connections.find(id);
  if (found == connections.end()) return;
  end(found->second);
  if (reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(found->second.fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  connections.erase(found);
}

void MockServer::Loop::flush(uint64_t id, Connection& c) {
  while (!c.out.empty()) {
    const size_t piece =
        script.split > 0 ? std::min(static_cast<size_t>(script.split), c.out.size()) : c.out.size();
    const ssize_t n = ::send(c.fd.get(), c.out.data(), piece, MSG_NOSIGNAL);
    if (n < 0 && errno == EAGAIN) return watch(id, c, true);
    if (n < 0) {
      c.out.clear();
      return;  // the reader sees the close
    }
    c.out.erase(0, static_cast<size_t>(n));
    if (script.split > 0 && !c.out.empty()) {
      // So long that the client reads the pieces one by one.
      const timespec pause{.tv_sec = 0, .tv_nsec = 30'000};
      nanosleep(&pause, nullptr);
    }
  }
  watch(id, c, false);
  if (c.close_after_out) close(id);
}

void MockServer::Loop::send_bytes(uint64_t id, Connection& c, const std::string& bytes) {
  c.out += bytes;
  flush(id, c);
}

void MockServer::Loop::apply(uint64_t id, MockStep step) {
  const auto found = connections.find(id);
  if (found == connections.end()) return;
  Connection& c = found->second;
  {
    const std::lock_guard lock(mutex);
    MockTruth& truth = truths[c.truth];
    if (step.tokens > 0) {
      const int64_t now = base::now_ns();
      if (truth.tokens == 0) truth.first_token = now;
      truth.last_token = now;
      truth.tokens += step.tokens;
      ++truth.chunks;
    }
    truth.whole |= step.whole;
  }
  tokens += step.tokens;
  const bool keep = step.after == After::kKeep || step.after == After::kClose;
  if (step.after != After::kMore && step.after != After::kHang) end(c);
  if (step.after == After::kClose) c.close_after_out = true;
  if (step.after == After::kMore) timers.push({step.next_due, id});
  send_bytes(id, c, step.bytes);  // may close, so the connection is not touched after it
  if (step.after == After::kReset) close(id, true);
  if (script.die_after > 0 && tokens >= script.die_after) stopping = true;
  if (keep && connections.contains(id)) take_requests(id);
}

void MockServer::Loop::begin(uint64_t id, Connection& c, MockCall call, const MockRequest& request,
                             bool chat) {
  MockTruth truth;
  truth.request_id = request.request_id;
  truth.received = base::now_ns();
  truth.prompt_tokens = call.prompt_tokens;
  truth.prompt_digest = call.prompt_digest;
  truth.chat = chat;
  c.busy = true;
  most_in_flight = std::max(most_in_flight.load(), ++in_flight);
  c.stream.emplace(script, std::move(call), chat, truth.received);
  {
    const std::lock_guard lock(mutex);
    c.truth = truths.size();
    truths.push_back(std::move(truth));
  }
  apply(id, c.stream->open());
}

/// False when the connection was closed or has a stream of its own now.
bool MockServer::Loop::answer(uint64_t id, MockRequest request) {
  Connection& c = connections.at(id);
  const auto reply = [&](int status, const std::string& json) {
    send_bytes(id, c, MockStream::json_response(status, json));
    return connections.contains(id);
  };
  const auto error = [&](int status, std::string_view message) {
    return reply(status, fmt::format(R"({{"error":{{"message":"{}"}}}})", message));
  };
  const bool chat = request.path == "/v1/chat/completions";
  if (request.method == "GET" && request.path == "/health") return reply(200, R"({"status":"ok"})");
  if (request.method == "GET" && request.path == "/v1/models")
    return reply(200, fmt::format(R"({{"object":"list","data":[{{"id":"{}","object":"model"}}]}})",
                                  script.model));
  if (request.method != "POST" || (!chat && request.path != "/v1/completions"))
    return error(404, "no such path");
  ++requests;
  if (script.status != 200) return error(script.status, "mock failure");
  if (script.fail_every > 0 && requests % script.fail_every == 0)
    return error(503, "mock overload");
  if (script.plain_json) return error(200, "mock failure in a good status");
  auto call = parse_mock_call(request.body);
  if (!call) return error(400, call.error().message);
  if (call->model != script.model) return error(404, "the model does not exist");
  begin(id, c, std::move(*call), request, chat);
  return false;
}

void MockServer::Loop::take_requests(uint64_t id) {
  while (true) {
    const auto found = connections.find(id);
    if (found == connections.end() || found->second.busy) return;
    auto request = take_mock_request(found->second.in);
    if (!request) return close(id);
    if (!*request || !answer(id, std::move(**request))) return;
  }
}

void MockServer::Loop::readable(uint64_t id) {
  Connection& c = connections.at(id);
  while (true) {
    const ssize_t n = ::recv(c.fd.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return close(id);
    c.in.append(buffer.data(), static_cast<size_t>(n));
    if (static_cast<size_t>(n) < buffer.size()) break;
  }
  take_requests(id);
}

void MockServer::Loop::run() {
  epoll_event events[256];
  while (!stopping) {
    int64_t wait = 1'000'000'000;
    if (!timers.empty()) wait = std::max<int64_t>(0, timers.top().due - base::now_ns());
    const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    const int n = epoll_pwait2(epoll.get(), events, 256, &timeout, nullptr);
    for (int i = 0; i < n; ++i) {
      const uint64_t id = events[i].data.u64;
      if (id == kListener) {
        accept_all();
        continue;
      }
      if (id == kWake) continue;
      const auto found = connections.find(id);
      if (found != connections.end() && (events[i].events & EPOLLOUT)) flush(id, found->second);
      if (connections.contains(id) && (events[i].events & ~uint32_t{EPOLLOUT})) readable(id);
    }
    while (!timers.empty() && timers.top().due <= base::now_ns() && !stopping) {
      const uint64_t id = timers.top().connection;
      timers.pop();
      const auto found = connections.find(id);
      if (found != connections.end() && found->second.stream)
        apply(id, found->second.stream->next());
    }
  }
  listener.reset();
  while (!connections.empty()) close(connections.begin()->first);
}

base::Result<std::unique_ptr<MockServer>> MockServer::start(MockScript script,
                                                            const std::string& host, int port) {
  http::Url url;
  url.host = host;
  url.port = static_cast<uint16_t>(port);
  HEADROOM_TRY(const auto addresses, http::resolve(url));
  const http::Address& address = addresses.front();
  auto loop = std::make_unique<Loop>();
  loop->script = std::move(script);
  loop->listener = Descriptor(
      ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  const int on = 1;
  setsockopt(loop->listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(loop->listener.get(), address.get(), address.length) != 0 ||
      ::listen(loop->listener.get(), 4096) != 0)
    return fail(ErrorCode::kUnavailable, "cannot listen on {}: {}", url.address(),
                http::errno_text(errno));
  http::Address bound;
  bound.length = sizeof bound.storage;
  getsockname(loop->listener.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  loop->epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  loop->wake = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kListener}};
  epoll_ctl(loop->epoll.get(), EPOLL_CTL_ADD, loop->listener.get(), &event);
  event.data.u64 = kWake;
  epoll_ctl(loop->epoll.get(), EPOLL_CTL_ADD, loop->wake.get(), &event);
  std::unique_ptr<MockServer> server(new MockServer(std::move(loop)));
  server->host_ = host;
  server->port_ = ntohs(bound.family() == AF_INET6
                            ? reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port
                            : reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
  server->thread_ = std::thread([l = server->loop_.get()] { l->run(); });
  return server;
}

MockServer::MockServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
MockServer::~MockServer() {
  stop();
  wait();
}

std::string MockServer::url() const {
  http::Url url;
  url.host = host_;
  url.port = static_cast<uint16_t>(port_);
  return url.text();
}

std::vector<MockTruth> MockServer::truths() const {
  const std::lock_guard lock(loop_->mutex);
  return loop_->truths;
}

int64_t MockServer::most_in_flight() const {
  return loop_->most_in_flight;
}
bool MockServer::running() const {
  return !loop_->stopping;
}
int64_t MockServer::connections() const {
  return loop_->accepted;
}

void MockServer::wait() {
  if (thread_.joinable()) thread_.join();
}

void MockServer::stop() {
  loop_->stopping = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(loop_->wake.get(), &one, sizeof one);
}

}  // namespace headroom::load
