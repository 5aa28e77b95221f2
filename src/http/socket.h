// Sockets: name resolution, a descriptor that closes itself, and the options our clients set.
#pragma once

#include <sys/socket.h>

#include <utility>
#include <vector>

#include "base/result.h"
#include "http/url.h"

namespace headroom::http {

/// A file descriptor; closed at the end of its life. -1 is none.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// The TCP addresses of the URL's host, in the resolver's order, or its unix socket. Errors:
/// kUnavailable.
base::Result<std::vector<Address>> resolve(const Url& url);

/// A local address to connect from ("127.0.0.2"). Errors: kInvalidArgument.
base::Result<Address> parse_source(const std::string& text);

/// A non-blocking stream socket (no delay, close on exec) whose connect has been begun, from
/// `source` if there is one. Errors: kUnavailable when the connect fails at once (local ports that
/// have run out are named), kResourceExhausted when the listener's queue is full (unix sockets
/// only: try again), kIo when no socket is to be had.
base::Result<Descriptor> begin_connect(const Address& address, const Address* source = nullptr);

/// Local ports the kernel may give to outgoing connections, for each pair of addresses.
size_t local_ports();

/// The result of a connect once the socket is writable: 0 or an errno.
int connect_error(int fd);

/// All that `count` connections to `url` need of this process, whoever makes them: ports of so many
/// source addresses (0: the kernel's choice of one) and descriptors. kResourceExhausted.
base::Result<> reserve_connections(const Url& url, size_t sources, size_t count);

/// Makes room for `count` sockets by raising the limit on descriptors, the hard one too where this
/// process may. kResourceExhausted names the limit that is in the way.
base::Result<> reserve_descriptors(size_t count);

/// "connection refused" for an errno.
std::string errno_text(int error);

}  // namespace headroom::http
