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

/// The TCP addresses of the URL's host, in the resolver's order. Errors: kUnavailable.
base::Result<std::vector<Address>> resolve(const Url& url);

/// A non-blocking TCP socket (no delay, close on exec) whose connect has been begun. Errors:
/// kUnavailable when the connect fails at once, kIo when no socket is to be had.
base::Result<Descriptor> begin_connect(const Address& address);

/// The result of a connect once the socket is writable: 0 or an errno.
int connect_error(int fd);

/// Makes room for `count` sockets by raising the soft limit on descriptors. kResourceExhausted
/// names the limit that is in the way.
base::Result<> reserve_descriptors(size_t count);

/// "connection refused" for an errno.
std::string errno_text(int error);

}  // namespace headroom::http
