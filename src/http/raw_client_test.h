// RawClient: a blocking socket for tests that must send and see exact bytes.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace headroom::http {

class RawClient {
 public:
  explicit RawClient(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connected() const { return connected_; }
  int fd() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void request(std::string_view method, std::string_view path, std::string_view body = {},
               std::string_view headers = {}) const {
    std::string text;
    text.append(method).append(" ").append(path).append(" HTTP/1.1\r\nHost: test\r\n");
    text.append(headers);
    if (!body.empty() || method == "POST")
      text.append("Content-Type: application/json\r\nContent-Length: ")
          .append(std::to_string(body.size()))
          .append("\r\n");
    text.append("\r\n").append(body);
    send(text);
  }

  /// Reads until `received` holds `mark` from `from` on; false at the end of the stream or time.
  bool read_until(std::string_view mark, size_t from = 0, int milliseconds = 20'000) {
    while (received.find(mark, from) == std::string::npos) {
      if (!read_some(milliseconds)) return false;
    }
    return true;
  }
  /// False at the end of the stream (`ended` is set) or when nothing came in time.
  bool read_some(int milliseconds = 20'000) {
    pollfd waiting{fd_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return false;
    char bytes[16 << 10];
    const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
    if (n <= 0) {
      ended = true;
      return false;
    }
    received.append(bytes, static_cast<size_t>(n));
    return true;
  }
  void read_all(int milliseconds = 20'000) {
    while (read_some(milliseconds)) {
    }
  }

  struct Answer {
    int status = 0;
    std::string head, body;
  };
  /// One response with Content-Length or chunks (which are joined); takes it out of `received`.
  Answer answer(bool head_only = false) {
    Answer answer;
    if (!read_until("\r\n\r\n")) return answer;
    const size_t end = received.find("\r\n\r\n") + 4;
    answer.head = received.substr(0, end);
    received.erase(0, end);
    answer.status = std::atoi(answer.head.c_str() + 9);
    if (head_only || answer.status == 204) return answer;
    const size_t length = answer.head.find("Content-Length: ");
    if (length != std::string::npos) {
      const auto bytes = static_cast<size_t>(std::atoll(answer.head.c_str() + length + 16));
      while (received.size() < bytes && read_some()) {
      }
      answer.body = received.substr(0, bytes);
      received.erase(0, bytes);
      return answer;
    }
    for (;;) {
      if (!read_until("\r\n")) return answer;
      const auto bytes = static_cast<size_t>(std::strtoull(received.c_str(), nullptr, 16));
      const size_t start = received.find("\r\n") + 2;
      while (received.size() < start + bytes + 2 && read_some()) {
      }
      answer.body += received.substr(start, bytes);
      received.erase(0, start + bytes + 2);
      if (bytes == 0) return answer;
    }
  }

  std::string received;
  bool ended = false;

 private:
  int fd_;
  bool connected_ = false;
};

/// One request on its own connection.
inline RawClient::Answer fetch(uint16_t port, std::string_view method, std::string_view path,
                               std::string_view body = {}, std::string_view headers = {}) {
  RawClient client(port);
  client.request(method, path, body, headers);
  return client.answer(method == "HEAD");
}

}  // namespace headroom::http
