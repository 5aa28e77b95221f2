// The mock server's epoll loop.
#include "load/mock/mock_server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <optional>
#include <queue>

#include "base/clock.h"
#include "http/socket.h"
#include "http/stamp_clock.h"
#include "load/mock/mock_request.h"
#include "load/mock/mock_stream.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using http::Descriptor;
using After = MockStep::After;

namespace {

constexpr uint64_t kListener = UINT64_MAX, kWake = UINT64_MAX - 1;
// With many streams the loop wakes at most so often: the truth is what was sent, however late.
constexpr int64_t kBatchNs = 150'000;
constexpr int64_t kManyStreams = 64;

struct Connection {
  Descriptor fd;
  uint64_t id = 0;
  int64_t arrived = 0;  // the last bytes read, by the kernel's stamp
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
  std::vector<std::unique_ptr<Connection>> connections;  // by descriptor
  uint64_t generation = 0;  // upper half of an id; the descriptor below
  MockTexts texts;
  http::StampClock clock;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers;
  std::vector<char> buffer = std::vector<char>(64 << 10);

  mutable std::mutex mutex;  // guards truths and lateness
  std::vector<MockTruth> truths;
  base::Histogram lateness;
  std::atomic<int64_t> accepted{0}, in_flight{0}, most_in_flight{0};
  std::atomic<bool> stopping{false};
  int64_t requests = 0, tokens = 0;

  Connection* find(uint64_t id) {
    const size_t fd = id & UINT32_MAX;
    Connection* c = fd < connections.size() ? connections[fd].get() : nullptr;
    return c != nullptr && c->id == id ? c : nullptr;
  }
  void run();
  void handle(const epoll_event& event);
  void run_timers();
  void accept_all();
  void readable(uint64_t id);
  void take_requests(uint64_t id);
  bool answer(uint64_t id, MockRequest request);
  void begin(uint64_t id, Connection& c, MockCall call, const MockRequest& request, bool chat);
  void apply(Connection& c, MockStep step);
  void send_bytes(uint64_t id, Connection& c, std::string_view bytes);
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
    http::StampClock::enable(fd.get());
    const auto index = static_cast<size_t>(fd.get());
    const uint64_t id = (++generation << 32) | index;
    epoll_event event{.events = EPOLLIN, .data = {.u64 = id}};
    epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd.get(), &event);
    if (index >= connections.size()) connections.resize(index + 1);
    connections[index] = std::make_unique<Connection>();
    connections[index]->fd = std::move(fd);
    connections[index]->id = id;
    ++accepted;
  }
}

void MockServer::Loop::end(Connection& c) {
  c.stream.reset();
  if (c.busy) --in_flight;
  c.busy = false;
}

void MockServer::Loop::close(uint64_t id, bool reset) {
  Connection* c = find(id);
  if (c == nullptr) return;
  end(*c);
  if (reset) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(c->fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  connections[id & UINT32_MAX].reset();
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

void MockServer::Loop::send_bytes(uint64_t id, Connection& c, std::string_view bytes) {
  if (c.out.empty() && script.split == 0 && !bytes.empty()) {  // the usual case: nothing waits
    const ssize_t n = ::send(c.fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n > 0) bytes.remove_prefix(static_cast<size_t>(n));
    if (bytes.empty() && !c.close_after_out) return;
  }
  c.out += bytes;
  flush(id, c);
}

void MockServer::Loop::apply(Connection& c, MockStep step) {
  const uint64_t id = c.id;
  {
    const std::lock_guard lock(mutex);
    MockTruth& truth = truths[c.truth];
    if (step.tokens > 0) {
      const int64_t now = base::now_ns();
      if (truth.tokens == 0) truth.first_token = now;
      if (script.log_gaps && truth.tokens > 0)
        truth.gaps.push_back(
            static_cast<uint32_t>(std::min<int64_t>(now - truth.last_token, UINT32_MAX)));
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
  send_bytes(id, c,
             step.shared.empty()
                 ? step.bytes
                 : step.shared);  // may close, so the connection is not touched after it
  if (step.after == After::kReset) close(id, true);
  if (script.die_after > 0 && tokens >= script.die_after) stopping = true;
  if (keep && find(id) != nullptr) take_requests(id);
}

void MockServer::Loop::begin(uint64_t id, Connection& c, MockCall call, const MockRequest& request,
                             bool chat) {
  MockTruth truth;
  truth.request_id = request.request_id;
  truth.received = c.arrived;
  truth.prompt_tokens = call.prompt_tokens;
  truth.prompt_digest = call.prompt_digest;
  truth.chat = chat;
  c.busy = true;
  most_in_flight = std::max(most_in_flight.load(), ++in_flight);
  c.stream.emplace(script, texts, std::move(call), chat, truth.received,
                   static_cast<uint64_t>(requests));
  {
    const std::lock_guard lock(mutex);
    c.truth = truths.size();
    truths.push_back(std::move(truth));
  }
  apply(c, c.stream->open());
}

/// False when the connection was closed or has a stream of its own now.
bool MockServer::Loop::answer(uint64_t id, MockRequest request) {
  Connection& c = *find(id);
  const auto reply = [&](int status, const std::string& json) {
    send_bytes(id, c, MockStream::json_response(status, json));
    return find(id) != nullptr;
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
    Connection* c = find(id);
    if (c == nullptr || c->busy) return;
    auto request = take_mock_request(c->in);
    if (!request) return close(id);
    if (!*request || !answer(id, std::move(**request))) return;
  }
}

void MockServer::Loop::readable(uint64_t id) {
  Connection& c = *find(id);
  alignas(cmsghdr) char control[http::kStampControlBytes];
  while (true) {
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(c.fd.get(), &message, 0);
    if (n < 0 && errno == EAGAIN) break;
    if (n <= 0) return close(id);
    c.arrived = clock.arrival_ns(message, c.arrived, base::now_ns());
    c.in.append(buffer.data(), static_cast<size_t>(n));
    if (static_cast<size_t>(n) < buffer.size()) break;
  }
  take_requests(id);
}

void MockServer::Loop::handle(const epoll_event& event) {
  const uint64_t id = event.data.u64;
  if (id == kWake) return;
  if (id == kListener) return accept_all();
  if (Connection* c = find(id); c != nullptr && (event.events & EPOLLOUT)) flush(id, *c);
  if (find(id) != nullptr && (event.events & ~uint32_t{EPOLLOUT})) readable(id);
}

void MockServer::Loop::run_timers() {
  int64_t now = base::now_ns();
  for (int handled = 0; !timers.empty() && !stopping && handled < 256; ++handled) {
    const Timer timer = timers.top();
    if (timer.due > now && timer.due > (now = base::now_ns())) return;
    timers.pop();
    Connection* c = find(timer.connection);
    if (c == nullptr || !c->stream) continue;
    {
      const std::lock_guard lock(mutex);
      lateness.record(now - timer.due);
    }
    apply(*c, c->stream->next());
  }
}

void MockServer::Loop::run() {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::vector<epoll_event> events(512);
  while (!stopping) {
    const int64_t now = base::now_ns();
    int64_t wait = 1'000'000'000;
    if (!timers.empty()) wait = std::max<int64_t>(0, timers.top().due - now);
    if (wait > 0 && in_flight > kManyStreams) {
      const timespec pause{.tv_sec = 0, .tv_nsec = std::min(wait, kBatchNs)};
      nanosleep(&pause, nullptr);
      wait = std::max<int64_t>(0, wait - (base::now_ns() - now));
    }
    const timespec timeout{.tv_sec = wait / 1'000'000'000, .tv_nsec = wait % 1'000'000'000};
    const int n = epoll_pwait2(epoll.get(), events.data(), static_cast<int>(events.size()),
                               &timeout, nullptr);
    clock.begin_batch();
    for (int i = 0; i < n; ++i) handle(events[static_cast<size_t>(i)]);
    run_timers();
  }
  listener.reset();
  for (const auto& c : connections)
    if (c) end(*c);
  connections.clear();
}

base::Result<std::unique_ptr<MockServer>> MockServer::start(MockScript script,
                                                            const std::string& host, int port) {
  http::Url url;
  url.host = host;
  url.port = static_cast<uint16_t>(port);
  if (host.starts_with("unix:")) {
    HEADROOM_TRY(url, http::parse_url(host));
    ::unlink(url.unix_socket.c_str());
  }
  HEADROOM_TRY(const auto addresses, http::resolve(url));
  const http::Address& address = addresses.front();
  auto loop = std::make_unique<Loop>();
  loop->script = std::move(script);
  loop->listener =
      Descriptor(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  setsockopt(loop->listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(loop->listener.get(), address.get(), address.length) != 0 ||
      ::listen(loop->listener.get(), 4096) != 0)
    return fail(ErrorCode::kUnavailable, "cannot listen on {}: {}", url.address(),
                http::errno_text(errno));
  http::Address bound;
  bound.length = sizeof bound.storage;
  getsockname(loop->listener.get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.length);
  if (bound.family() == AF_INET6)
    url.port = ntohs(reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port);
  if (bound.family() == AF_INET)
    url.port = ntohs(reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port);
  loop->epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  loop->wake = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kListener}};
  epoll_ctl(loop->epoll.get(), EPOLL_CTL_ADD, loop->listener.get(), &event);
  event.data.u64 = kWake;
  epoll_ctl(loop->epoll.get(), EPOLL_CTL_ADD, loop->wake.get(), &event);
  std::unique_ptr<MockServer> server(new MockServer(std::move(loop)));
  server->url_ = std::move(url);
  server->thread_ = std::thread([l = server->loop_.get()] { l->run(); });
  return server;
}

MockServer::MockServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
MockServer::~MockServer() {
  stop();
  wait();
}

std::string MockServer::url() const {
  return url_.text();
}

base::Histogram MockServer::lateness() const {
  const std::lock_guard lock(loop_->mutex);
  return loop_->lateness;
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
