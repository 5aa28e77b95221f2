// The epoll loop of the load client.
#include <sys/epoll.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/clock.h"
#include "http/load_client_impl.h"

namespace headroom::http {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kScanEveryNs = 10'000'000;
// So few that what is due in between goes out in time: an event takes some microseconds.
constexpr int kEventsAtOnce = 64;
constexpr int64_t kAgainNs = 1'000'000;  // until a full listener is asked again

void sleep_until(int64_t at_ns) {
  const timespec t{.tv_sec = at_ns / 1'000'000'000, .tv_nsec = at_ns % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

}  // namespace

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
  constexpr uint32_t kEnd = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  if (event.events & (EPOLLIN | kEnd)) readable(slot, (event.events & kEnd) != 0);
}

void LoadClient::Impl::scan(int64_t now) {
  next_scan = now + kScanEveryNs;
  for (size_t slot = 0; slot < deadlines.size(); ++slot)
    if (now >= deadlines[slot] && connections[slot].busy) {
      drop(slot);
      end(slot, StreamEnd::kDeadline, "the deadline passed", now);
    }
  if (connecting == 0) return;
  for (size_t slot = 0; slot < connections.size(); ++slot) {
    const Connection& c = connections[slot];
    if ((c.state == State::kConnecting || c.state == State::kHandshake) &&
        now - c.connect_began > options.connect_timeout_ns)
      connect_failed(slot, fmt::format("no connection within {} s",
                                       options.connect_timeout_ns / 1'000'000'000));
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
  if (stamps && options.batch_ns > 0 && busy >= options.batch_streams && !more_events) {
    const int64_t wanted = std::min(until, last_wake + options.batch_ns);
    sleep_until(wanted);
    if (const int64_t now = base::now_ns(); now > wanted) loop_lag.record(now - wanted);
  }
  epoll_event events[kEventsAtOnce];
  const bool at_once = !failed_connects.empty();
  int64_t wanted = at_once ? 0 : std::min(until, std::max(next_scan, int64_t{1}));
  if (!queue.empty() && connecting == 0)  // the listener's queue is full
    wanted = std::min(wanted, base::now_ns() + kAgainNs);
  const int n = wait(events, kEventsAtOnce, wanted);
  more_events = n == kEventsAtOnce;
  last_wake = base::now_ns();
  if (n == 0 && last_wake > wanted && wanted > 0) loop_lag.record(last_wake - wanted);
  if (stamps && n > 0) clock.begin_batch();
  for (int i = 0; i < n; ++i) handle(events[i]);
  if (last_wake >= next_scan) scan(last_wake);
}

Result<LoadClient> LoadClient::create(LoadClientOptions options, size_t slots,
                                      LoadHandler& handler) {
  auto impl = std::make_unique<Impl>();
  HEADROOM_TRY(impl->addresses, resolve(options.url));
  HEADROOM_TRY_VOID(reserve_connections(options.url, options.sources.size(), slots));
  for (const std::string& source : options.sources) {
    HEADROOM_TRY(Address address, parse_source(source));
    impl->sources.push_back(address);
  }
  if (options.url.tls) {
    HEADROOM_TRY(impl->tls, TlsContext::client(options.url.ca_file, options.url.insecure));
  }
  impl->epoll = Descriptor(epoll_create1(EPOLL_CLOEXEC));
  if (!impl->epoll) return fail(ErrorCode::kIo, "no epoll set: {}", errno_text(errno));
  impl->options = std::move(options);
  impl->handler = &handler;
  impl->connections.resize(slots);
  impl->deadlines.resize(slots, Impl::kNever);
  return LoadClient(std::move(impl));
}

LoadClient::LoadClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LoadClient::LoadClient(LoadClient&&) noexcept = default;
LoadClient& LoadClient::operator=(LoadClient&&) noexcept = default;
LoadClient::~LoadClient() = default;

Result<> LoadClient::connect_all() {
  Impl& impl = *impl_;
  for (size_t slot = 0; slot < impl.connections.size(); ++slot)
    if (impl.connections[slot].state == Impl::State::kClosed) impl.enqueue(slot);
  while (impl.failed_connects.empty() && (!impl.queue.empty() || impl.connecting > 0))
    impl.poll(base::now_ns() + kScanEveryNs);
  if (impl.failed_connects.empty()) return {};
  impl.failed_connects.clear();
  return fail(ErrorCode::kUnavailable, "no connection to {}: {}", impl.options.url.address(),
              impl.connect_why);
}

void LoadClient::start(size_t slot, std::string request) {
  Impl::Connection& c = impl_->connections[slot];
  HEADROOM_CHECK(!c.busy, "slot {} is busy", slot);
  c.busy = true;
  ++impl_->busy;
  c.retried = c.sent = false;
  c.response_bytes = 0;
  impl_->deadlines[slot] = Impl::kNever;
  c.request = std::move(request);
  if (c.state == Impl::State::kOpen) {
    impl_->submit(slot);
  } else if (c.state == Impl::State::kClosed) {
    impl_->enqueue(slot);
  }
}

void LoadClient::set_deadline(size_t slot, int64_t at_ns) {
  impl_->deadlines[slot] = at_ns;
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
  impl_->loop_lag = {};
  impl_->resent = 0;
}
const base::Histogram& LoadClient::connect_times() const {
  return impl_->connect_times;
}

const base::Histogram& LoadClient::loop_lag() const {
  return impl_->loop_lag;
}
uint64_t LoadClient::resent() const {
  return impl_->resent;
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
