// Socket helpers.
#include "http/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace headroom::http {

using base::ErrorCode;
using base::fail;
using base::Result;

void Descriptor::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::string errno_text(int error) {
  std::string text = std::generic_category().message(error);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] | 32);
  return text;
}

Result<std::vector<Address>> resolve(const Url& url) {
  if (!url.unix_socket.empty()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, url.unix_socket.data(),
                std::min(url.unix_socket.size(), sizeof name.sun_path - 1));
    Address address;
    std::memcpy(&address.storage, &name, sizeof name);
    address.length = sizeof name;
    return std::vector{address};
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (error != 0)
    return fail(ErrorCode::kUnavailable, "{}: the name {} does not resolve ({})", url.text(),
                url.host, gai_strerror(error));
  std::vector<Address> addresses;
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    Address address;
    std::memcpy(&address.storage, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
    addresses.push_back(address);
  }
  freeaddrinfo(found);
  return addresses;
}

Result<Address> parse_source(const std::string& text) {
  Address address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    std::memcpy(&address.storage, &v4, sizeof v4);
    address.length = sizeof v4;
  } else if (inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    std::memcpy(&address.storage, &v6, sizeof v6);
    address.length = sizeof v6;
  } else {
    return fail(ErrorCode::kInvalidArgument, "source {}: not an IPv4 or IPv6 address", text);
  }
  return address;
}

size_t local_ports() {
  size_t first = 32768, last = 60999;  // the kernel's own default
  if (std::FILE* file = std::fopen("/proc/sys/net/ipv4/ip_local_port_range", "re")) {
    if (std::fscanf(file, "%zu %zu", &first, &last) != 2 || last < first) first = last = 0;
    std::fclose(file);
  }
  return last - first + 1;
}

Result<Descriptor> begin_connect(const Address& address, const Address* source) {
  const bool tcp = address.family() != AF_UNIX;
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
                             tcp ? IPPROTO_TCP : 0));
  if (!socket) return fail(ErrorCode::kIo, "no socket: {}", errno_text(errno));
  const int on = 1;
  if (tcp) setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (source != nullptr) {
    // The port is chosen at the connect, so that it need be free for this destination only.
    setsockopt(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (::bind(socket.get(), source->get(), source->length) != 0)
      return fail(ErrorCode::kUnavailable, "cannot connect from the source address: {}",
                  errno_text(errno));
  }
  if (::connect(socket.get(), address.get(), address.length) == 0 || errno == EINPROGRESS)
    return socket;
  if (!tcp && errno == EAGAIN)
    return fail(ErrorCode::kResourceExhausted, "the server's queue of connections is full");
  if (errno == EADDRNOTAVAIL)
    return fail(ErrorCode::kUnavailable,
                "no local port is free: the kernel gives {} to one pair of addresses; give several "
                "source addresses or widen net.ipv4.ip_local_port_range",
                local_ports());
  return fail(ErrorCode::kUnavailable, "{}", errno_text(errno));
}

int connect_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<> reserve_connections(const Url& url, size_t sources, size_t count) {
  HEADROOM_TRY_VOID(reserve_descriptors(count));
  const size_t pairs = std::max<size_t>(1, sources);
  if (url.unix_socket.empty() && count > pairs * local_ports())
    return fail(ErrorCode::kResourceExhausted,
                "{} connections to {} need as many local ports, but {} source address{} {}; give "
                "more source addresses or widen net.ipv4.ip_local_port_range",
                count, url.address(), pairs, pairs == 1 ? " has" : "es have",
                pairs * local_ports());
  return {};
}

Result<> reserve_descriptors(size_t count) {
  constexpr size_t kOthers = 64;  // files, the store, the epoll set, ...
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = count + kOthers;
  if (limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted) {
    const rlimit raised{.rlim_cur = wanted, .rlim_max = wanted};  // a privileged process may
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return {};
    return fail(ErrorCode::kResourceExhausted,
                "{} connections need {} open files, but the hard limit is {} (ulimit -Hn)", count,
                wanted, limit.rlim_max);
  }
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fail(ErrorCode::kResourceExhausted, "cannot raise the limit of open files to {}: {}",
                wanted, errno_text(errno));
  return {};
}

}  // namespace headroom::http
