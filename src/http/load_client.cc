// The epoll loop of the load client.
#include "http/load_client.h"

#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "base/check.h"
#include "base/clock.h"
#include "http/socket.h"
#include "http/tls.h"

namespace headroom::http {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kScanEveryNs = 10'000'000;
constexpr size_t kReadBytes = 256 << 10;
constexpr int64_t kNever = INT64_MAX;

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
  size_t response_bytes = 0;  // of the running request
  size_t address = 0;         // index of the address in use
  size_t addresses_tried = 0;
  int64_t connect_began = 0;
  int64_t sent_at = 0;
  int64_t deadline = kNever;
  std::string request;  // kept for one retry
  std::string out;      // bytes on their way to the kernel
  size_t out_offset = 0;
  ResponseParser parser;
  std::unique_ptr<TlsSession> tls;
};

void sleep_until(int64_t at_ns) {
  const timespec t{.tv_sec = at_ns / 1'000'000'000, .tv_nsec = at_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

}  // namespace

struct LoadClient::Impl {
  LoadClientOptions options;
  LoadHandler* handler = nullptr;
  std::vector<Address> addresses;
  size_t good_address = 0;  // the one that took a connection last
  std::optional<TlsContext> tls;
  Descriptor epoll;
  std::vector<Connection> connections;
  std::deque<size_t> queue;  // slots that wait for their turn to connect
  std::deque<size_t> failed_connects;
  size_t connecting = 0, busy = 0;
  bool stamps = false;  // the kernel gave stamps on the last connection
  bool precise_wait = true;
  int64_t next_scan = 0, last_wake = 0;
  std::string connect_why;  // why the last connect failed
  StampClock clock;
  base::Histogram connect_times;
  std::vector<char> buffer = std::vector<char>(kReadBytes);

  void enqueue(size_t slot);
  void begin_connects();
  void try_connect(size_t slot);
  void connect_failed(size_t slot, const std::string& why);
  void connected(size_t slot);
  void opened(size_t slot);
  void submit(size_t slot);
  void flush(size_t slot);
  void watch(size_t slot, bool write);
  void readable(size_t slot);
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

void LoadClient::Impl::drop(size_t slot) {
  Connection& c = connections[slot];
  if (c.state == State::kConnecting || c.state == State::kHandshake) --connecting;
  c.fd.reset();
  c.tls.reset();
  c.state = State::kClosed;
  c.reused = c.want_write = false;
  c.out.clear();
  c.out_offset = 0;
  ++c.generation;
}

void LoadClient::Impl::enqueue(size_t slot) {
  connections[slot].state = State::kQueued;
  connections[slot].addresses_tried = 0;
  connections[slot].address = good_address;
  queue.push_back(slot);
}

void LoadClient::Impl::begin_connects() {
  while (!queue.empty() && connecting < options.connects_at_once) {
    const size_t slot = queue.front();
    queue.pop_front();
    if (connections[slot].state == State::kQueued) try_connect(slot);
  }
}

void LoadClient::Impl::try_connect(size_t slot) {
  Connection& c = connections[slot];
  c.connect_began = base::now_ns();
  auto socket = begin_connect(addresses[c.address]);
  if (!socket) return connect_failed(slot, socket.error().message);
  c.fd = std::move(*socket);
  c.state = State::kConnecting;
  ++connecting;
  stamps = options.kernel_stamps && StampClock::enable(c.fd.get());
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP,
                    .data = {.u64 = (uint64_t{c.generation} << 32) | slot}};
  c.want_write = true;
  HEADROOM_CHECK(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, c.fd.get(), &event) == 0,
                 "epoll refuses descriptor {}: {}", c.fd.get(), errno_text(errno));
}

void LoadClient::Impl::connect_failed(size_t slot, const std::string& why) {
  Connection& c = connections[slot];
  drop(slot);
  connect_why = why;
  if (++c.addresses_tried < addresses.size()) {
    c.address = (c.address + 1) % addresses.size();
    c.state = State::kQueued;
    queue.push_back(slot);
    return;
  }
  failed_connects.push_back(slot);  // told from poll, so that on_end never runs inside start
}

void LoadClient::Impl::connected(size_t slot) {
  Connection& c = connections[slot];
  if (const int error = connect_error(c.fd.get())) return connect_failed(slot, errno_text(error));
  good_address = c.address;
  if (!tls) return opened(slot);
  c.state = State::kHandshake;
  c.tls = std::make_unique<TlsSession>(*tls, options.url.host);
  handshake(slot);
}

void LoadClient::Impl::handshake(size_t slot) {
  Connection& c = connections[slot];
  const auto done = c.tls->handshake();
  if (!done) return connect_failed(slot, done.error().message);
  c.tls->take_output(c.out);
  if (*done) return opened(slot);
  flush(slot);
}

void LoadClient::Impl::opened(size_t slot) {
  Connection& c = connections[slot];
  --connecting;
  c.state = State::kOpen;
  connect_times.record(base::now_ns() - c.connect_began);
  if (c.busy) {
    submit(slot);
  } else {
    flush(slot);  // the end of a handshake may wait to be sent
  }
}

void LoadClient::Impl::submit(size_t slot) {
  Connection& c = connections[slot];
  c.parser.reset();
  c.head_told = c.sent = false;
  c.response_bytes = 0;
  if (c.tls) {
    if (const auto written = c.tls->write(c.request); !written)
      return lost(slot, written.error().message);
    c.tls->take_output(c.out);
  } else {
    c.out = c.request;
    c.out_offset = 0;
  }
  flush(slot);
}

void LoadClient::Impl::watch(size_t slot, bool write) {
  Connection& c = connections[slot];
  if (c.want_write == write) return;
  c.want_write = write;
  epoll_event event{
      .events = static_cast<uint32_t>(EPOLLIN | EPOLLRDHUP) | (write ? uint32_t{EPOLLOUT} : 0u),
      .data = {.u64 = (uint64_t{c.generation} << 32) | slot}};
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, c.fd.get(), &event);
}

void LoadClient::Impl::flush(size_t slot) {
  Connection& c = connections[slot];
  while (c.out_offset < c.out.size()) {
    const int64_t before = base::now_ns();
    const ssize_t n =
        ::send(c.fd.get(), c.out.data() + c.out_offset, c.out.size() - c.out_offset, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return watch(slot, true);
    // A server may answer (413, 400) and close before it has read everything: the answer lies in
    // the receive queue and says more than EPIPE.
    if (n < 0) return readable(slot);
    c.out_offset += static_cast<size_t>(n);
    if (c.out_offset == c.out.size() && c.busy && !c.sent && c.state == State::kOpen) {
      c.sent = true;
      c.sent_at = before;
      handler->on_sent(slot, before, c.retried);
    }
  }
  c.out.clear();
  c.out_offset = 0;
  watch(slot, false);
}

/// Hands bytes to the parser; false when the request ended, after which the slot may carry another.
bool LoadClient::Impl::consume(size_t slot, std::string_view bytes, int64_t at) {
  Connection& c = connections[slot];
  c.response_bytes += bytes.size();
  const auto eaten = c.parser.feed(bytes, [&](std::string_view part) {
    if (!c.head_told) {
      c.head_told = true;
      handler->on_head(slot, c.parser.head(), at);
    }
    handler->on_body(slot, part, at);
  });
  if (!eaten) {
    drop(slot);
    end(slot, StreamEnd::kBadResponse, eaten.error().message, at);
    return false;
  }
  if (c.parser.head_complete() && !c.head_told) {
    c.head_told = true;
    handler->on_head(slot, c.parser.head(), at);
  }
  if (!c.parser.complete()) return true;
  if (*eaten < bytes.size() || !c.parser.keep_alive() || !c.sent)
    drop(slot);
  else
    c.reused = true;
  end(slot, StreamEnd::kComplete, "", at);
  return false;
}

void LoadClient::Impl::readable(size_t slot) {
  Connection& c = connections[slot];
  alignas(cmsghdr) char control[kStampControlBytes];
  while (true) {
    iovec part{.iov_base = buffer.data(), .iov_len = buffer.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = ::recvmsg(c.fd.get(), &message, 0);
    const int error = errno;
    const int64_t now = base::now_ns();
    if (n < 0 && error == EINTR) continue;
    if (n < 0 && error == EAGAIN) return;
    if (n < 0) return lost(slot, errno_text(error));
    if (n == 0) return lost(slot, "");
    const int64_t at =
        stamps ? clock.arrival_ns(message, c.sent ? c.sent_at : c.connect_began, now) : now;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(n));
    if (c.tls) {
      c.tls->feed(bytes);
      if (c.state == State::kHandshake) return handshake(slot);
      std::string plain;
      const auto read = c.tls->read([&](std::string_view text) { plain += text; });
      if (!read) return lost(slot, read.error().message);
      if (plain.empty()) return;  // session tickets and the like
      if (!c.busy) return drop(slot);
      if (!consume(slot, plain, at)) return;
    } else {
      if (!c.busy) return drop(slot);  // a byte that nobody asked for
      if (!consume(slot, bytes, at)) return;
    }
    if (static_cast<size_t>(n) < buffer.size()) return;  // epoll tells when there is more
  }
}

/// The peer closed (`why` empty) or the connection broke.
void LoadClient::Impl::lost(size_t slot, const std::string& why) {
  Connection& c = connections[slot];
  const int64_t now = base::now_ns();
  if (c.state == State::kConnecting || c.state == State::kHandshake)
    return connect_failed(slot, why.empty() ? "closed during the TLS handshake" : why);
  const bool fresh_retry = c.busy && c.reused && !c.retried && c.response_bytes == 0;
  drop(slot);
  if (!c.busy) return;  // an idle connection: the next start reconnects
  if (fresh_retry) {    // the server had closed the idle connection: not the request's fault
    c.retried = true;
    return enqueue(slot);
  }
  if (why.empty() && c.response_bytes > 0 && c.parser.close())
    return end(slot, StreamEnd::kComplete, "", now);
  end(slot, c.response_bytes == 0 ? StreamEnd::kReset : StreamEnd::kCut,
      why.empty() ? "the server closed the connection" : why, now);
}

void LoadClient::Impl::end(size_t slot, StreamEnd how, const std::string& why, int64_t at) {
  Connection& c = connections[slot];
  HEADROOM_CHECK(c.busy, "slot {} ends twice", slot);
  c.busy = false;
  c.deadline = kNever;
  --busy;
  handler->on_end(slot, how, why, at);  // last: it may start the next request on this slot
}

void LoadClient::Impl::handle(const epoll_event& event) {
  const size_t slot = event.data.u64 & 0xFFFFFFFFu;
  Connection& c = connections[slot];
  const auto generation = static_cast<uint32_t>(event.data.u64 >> 32);
  if (c.generation != generation || !c.fd) return;
  if (c.state == State::kConnecting) {
    if (event.events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) connected(slot);
    return;
  }
  if (event.events & EPOLLOUT) flush(slot);
  if (c.generation != generation || !c.fd) return;
  if (event.events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) readable(slot);
}

void LoadClient::Impl::scan(int64_t now) {
  next_scan = now + kScanEveryNs;
  for (size_t slot = 0; slot < connections.size(); ++slot) {
    Connection& c = connections[slot];
    if ((c.state == State::kConnecting || c.state == State::kHandshake) &&
        now - c.connect_began > options.connect_timeout_ns)
      connect_failed(slot, fmt::format("no connection within {} s",
                                       options.connect_timeout_ns / 1'000'000'000));
    if (c.busy && now >= c.deadline) {
      drop(slot);
      end(slot, StreamEnd::kDeadline, "the deadline passed", now);
    }
  }
}

int LoadClient::Impl::wait(epoll_event* events, int count, int64_t until) {
  const int64_t ns = std::max<int64_t>(0, until - base::now_ns());
  if (precise_wait) {
    const timespec timeout{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    const int n = epoll_pwait2(epoll.get(), events, count, &timeout, nullptr);
    if (n >= 0 || errno != ENOSYS) return n;
    precise_wait = false;  // a kernel before 5.11
  }
  return epoll_wait(epoll.get(), events, count, static_cast<int>((ns + 999'999) / 1'000'000));
}

void LoadClient::Impl::poll(int64_t until) {
  begin_connects();
  while (!failed_connects.empty()) {
    const size_t slot = failed_connects.front();
    failed_connects.pop_front();
    if (connections[slot].busy && connections[slot].state == State::kClosed)
      end(slot, StreamEnd::kConnect, connect_why, base::now_ns());
  }
  if (stamps && options.batch_ns > 0 && busy >= options.batch_streams)
    sleep_until(std::min(until, last_wake + options.batch_ns));
  epoll_event events[512];
  const bool at_once = !failed_connects.empty();
  const int n = wait(events, 512, at_once ? 0 : std::min(until, std::max(next_scan, int64_t{1})));
  last_wake = base::now_ns();
  for (int i = 0; i < n; ++i) handle(events[i]);
  if (last_wake >= next_scan) scan(last_wake);
}

Result<LoadClient> LoadClient::create(LoadClientOptions options, size_t slots,
                                      LoadHandler& handler) {
  auto impl = std::make_unique<Impl>();
  HEADROOM_TRY(impl->addresses, resolve(options.url));
  HEADROOM_TRY_VOID(reserve_descriptors(slots));
  if (options.url.tls) {
    HEADROOM_TRY(impl->tls, TlsContext::client());
  }
  impl->epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!impl->epoll) return fail(ErrorCode::kIo, "no epoll set: {}", errno_text(errno));
  impl->options = std::move(options);
  impl->handler = &handler;
  impl->connections.resize(slots);
  return LoadClient(std::move(impl));
}

LoadClient::LoadClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadClient::LoadClient(LoadClient&&) noexcept = default;
LoadClient& LoadClient::operator=(LoadClient&&) noexcept = default;
LoadClient::~LoadClient() = default;

Result<> LoadClient::connect_all() {
  Impl& impl = *impl_;
  for (size_t slot = 0; slot < impl.connections.size(); ++slot)
    if (impl.connections[slot].state == State::kClosed) impl.enqueue(slot);
  while (impl.failed_connects.empty() && (!impl.queue.empty() || impl.connecting > 0))
    impl.poll(base::now_ns() + kScanEveryNs);
  if (impl.failed_connects.empty()) return {};
  impl.failed_connects.clear();
  return fail(ErrorCode::kUnavailable, "no connection to {}: {}", impl.options.url.address(),
              impl.connect_why);
}

void LoadClient::start(size_t slot, std::string request) {
  Connection& c = impl_->connections[slot];
  HEADROOM_CHECK(!c.busy, "slot {} is busy", slot);
  c.busy = true;
  ++impl_->busy;
  c.retried = c.sent = false;
  c.response_bytes = 0;
  c.deadline = kNever;
  c.request = std::move(request);
  if (c.state == State::kOpen) {
    impl_->submit(slot);
  } else if (c.state == State::kClosed) {
    impl_->enqueue(slot);
  }
}

void LoadClient::set_deadline(size_t slot, int64_t at_ns) {
  impl_->connections[slot].deadline = at_ns;
}

void LoadClient::poll(int64_t until_ns) {
  impl_->poll(until_ns);
}
size_t LoadClient::slots() const {
  return impl_->connections.size();
}
size_t LoadClient::busy() const {
  return impl_->busy;
}
const StampClock& LoadClient::clock() const {
  return impl_->clock;
}
void LoadClient::reset_clock_counts() {
  impl_->clock.reset_counts();
}
const base::Histogram& LoadClient::connect_times() const {
  return impl_->connect_times;
}

std::string post_request(const Url& url, std::string_view path,
                         const std::vector<std::string>& headers, std::string_view body) {
  std::string text = fmt::format(
      "POST {}{} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n",
      url.path, path, url.authority(), body.size());
  for (const std::string& header : headers) {
    text += header;
    text += "\r\n";
  }
  text += "\r\n";
  text += body;
  return text;
}

}  // namespace headroom::http
