// The life of one connection of the load client: connect, send, receive, end.
#include <sys/epoll.h>

#include <cerrno>

#include "base/check.h"
#include "base/clock.h"
#include "http/load_client_impl.h"

namespace headroom::http {

void LoadClient::Impl::drop(size_t slot) {
  Connection& c = connections[slot];
  if (c.state == State::kConnecting || c.state == State::kHandshake) --connecting;
  c.fd.reset();
  c.tls.reset();
  c.state = State::kClosed;
  c.reused = c.want_write = c.peer_closed = false;
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
    if (connections[slot].state == State::kQueued && !try_connect(slot)) {
      queue.push_front(slot);
      return;
    }
  }
}

/// False when the listener's queue is full and it is worth another try a little later.
bool LoadClient::Impl::try_connect(size_t slot) {
  Connection& c = connections[slot];
  const int64_t now = base::now_ns();
  if (!c.tried_before) c.connect_began = now;
  const Address* source = sources.empty() ? nullptr : &sources[slot % sources.size()];
  auto socket = begin_connect(addresses[c.address], source);
  c.tried_before = !socket && socket.error().code == base::ErrorCode::kResourceExhausted &&
                   now - c.connect_began < options.connect_timeout_ns;
  if (c.tried_before) return false;
  if (!socket) {
    connect_failed(slot, socket.error().message);
    return true;
  }
  c.fd = std::move(*socket);
  c.state = State::kConnecting;
  ++connecting;
  stamps =
      options.kernel_stamps && options.url.unix_socket.empty() && StampClock::enable(c.fd.get());
  // Edges: level-triggered sets are polled a second time for every event that was handled.
  epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
                    .data = {.u64 = (uint64_t{c.generation} << 32) | slot}};
  c.want_write = true;
  HEADROOM_CHECK(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, c.fd.get(), &event) == 0,
                 "epoll refuses descriptor {}: {}", c.fd.get(), errno_text(errno));
  return true;
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
  } else if (c.tls) {
    flush(slot);  // the end of a handshake may wait to be sent
  } else {
    watch(slot, false);
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
    c.out_offset = 0;
  }
  flush(slot);
}

void LoadClient::Impl::watch(size_t slot, bool write) {
  Connection& c = connections[slot];
  if (c.want_write == write) return;
  c.want_write = write;
  epoll_event event{.events = static_cast<uint32_t>(EPOLLIN | EPOLLRDHUP | EPOLLET) |
                              (write ? uint32_t{EPOLLOUT} : 0u),
                    .data = {.u64 = (uint64_t{c.generation} << 32) | slot}};
  epoll_ctl(epoll.get(), EPOLL_CTL_MOD, c.fd.get(), &event);
}

void LoadClient::Impl::flush(size_t slot) {
  Connection& c = connections[slot];
  while (c.out_offset < c.outgoing().size()) {
    const std::string& out = c.outgoing();
    const int64_t before = base::now_ns();
    const ssize_t n =
        ::send(c.fd.get(), out.data() + c.out_offset, out.size() - c.out_offset, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return watch(slot, true);
    // A server may answer (413, 400) and close before it has read everything: the answer lies in
    // the receive queue and says more than EPIPE.
    if (n < 0) return readable(slot, true);
    c.out_offset += static_cast<size_t>(n);
    if (c.out_offset == out.size() && c.busy && !c.sent && c.state == State::kOpen) {
      c.sent = true;
      c.sent_at = c.last_arrival = before;
      handler->on_sent(slot, before, c.retried);
    }
  }
  if (c.tls) {
    c.out.clear();
    c.out_offset = 0;
  }
  watch(slot, false);
}

/// Hands bytes to the parser; false when the request ended, after which the slot may carry another.
bool LoadClient::Impl::consume(size_t slot, std::string_view bytes, int64_t at) {
  Connection& c = connections[slot];
  // From here on it is not sent again; a long prompt need not wait for the end of its answer.
  if (c.response_bytes == 0 && c.sent) {
    std::string().swap(c.request);
    if (!c.tls) c.out_offset = 0;
  }
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
  if (*eaten < bytes.size() || !c.parser.keep_alive() || !c.sent || c.peer_closed)
    drop(slot);
  else
    c.reused = true;
  end(slot, StreamEnd::kComplete, "", at);
  return false;
}

/// Reads until nothing is left; a short read says so too, unless the end may lie behind it.
void LoadClient::Impl::readable(size_t slot, bool to_the_end) {
  Connection& c = connections[slot];
  c.peer_closed |= to_the_end;
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
        stamps ? clock.arrival_ns(message, c.sent ? c.last_arrival : c.connect_began, now) : now;
    c.last_arrival = at;
    const std::string_view bytes(buffer.data(), static_cast<size_t>(n));
    if (c.tls) {
      c.tls->feed(bytes);
      if (c.state == State::kHandshake) {
        handshake(slot);
        if (c.state == State::kClosed || c.state == State::kQueued) return;
      }
      std::string plain;
      const auto read = c.tls->read([&](std::string_view text) { plain += text; });
      if (!read) return lost(slot, read.error().message);
      if (!plain.empty()) {  // else session tickets and the like
        if (!c.busy) return drop(slot);
        if (!consume(slot, plain, at)) return;
      }
    } else {
      if (!c.busy) return drop(slot);  // a byte that nobody asked for
      if (!consume(slot, bytes, at)) return;
    }
    if (static_cast<size_t>(n) < buffer.size() && !to_the_end) return;
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
    ++resent;
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
  deadlines[slot] = kNever;
  if (!c.tls) {
    c.request.clear();
    c.out_offset = 0;
  }
  --busy;
  handler->on_end(slot, how, why, at);  // last: it may start the next request on this slot
}

}  // namespace headroom::http
