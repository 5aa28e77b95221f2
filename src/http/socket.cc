// Socket helpers.
#include "http/socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
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

Result<Descriptor> begin_connect(const Address& address) {
  Descriptor socket(
      ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket)
    return fail(errno == EMFILE || errno == ENFILE ? ErrorCode::kResourceExhausted : ErrorCode::kIo,
                "no socket: {}", errno_text(errno));
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(socket.get(), address.get(), address.length) != 0 && errno != EINPROGRESS)
    return fail(ErrorCode::kUnavailable, "{}", errno_text(errno));
  return socket;
}

int connect_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return errno;
  return error;
}

Result<> reserve_descriptors(size_t count) {
  constexpr size_t kOthers = 64;  // files, the store, the epoll set, ...
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = count + kOthers;
  if (limit.rlim_cur >= wanted) return {};
  if (limit.rlim_max < wanted)
    return fail(ErrorCode::kResourceExhausted,
                "{} connections need {} open files, but the hard limit is {} (ulimit -Hn)", count,
                wanted, limit.rlim_max);
  limit.rlim_cur = wanted;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fail(ErrorCode::kResourceExhausted, "cannot raise the limit of open files to {}: {}",
                wanted, errno_text(errno));
  return {};
}

}  // namespace headroom::http
