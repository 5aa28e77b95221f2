// Starting a server and waiting for its health.
#include "sweep/server.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/progress.h"
#include "http/client.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

double since_s(int64_t start) {
  return static_cast<double>(base::now_ns() - start) * 1e-9;
}

struct HealthCheck {
  http::Url url;
  std::string path;
  std::string text() const { return url.text() + path; }
};

Result<HealthCheck> health_check(const std::string& server, const std::string& health) {
  HealthCheck check;
  if (health.find("://") == std::string::npos) {
    HEADROOM_TRY(check.url, http::parse_server_url(server));
    check.path = health.starts_with('/') ? health : "/" + health;
    return check;
  }
  const size_t path = health.find('/', health.find("://") + 3);
  HEADROOM_TRY(check.url, http::parse_url(health.substr(0, path)));
  check.path = path == std::string::npos ? "/" : health.substr(path);
  return check;
}

/// Empty when healthy, else what it said.
std::string ask(const HealthCheck& check) {
  http::ClientOptions options;
  options.timeout_ns = 5'000'000'000;
  options.body_limit = size_t{1} << 20;
  const auto response = http::get(check.url, check.path, options);
  if (!response) return response.error().message;
  if (response->head.status == 200) return {};
  return fmt::format("GET {} answered {}", check.text(), response->head.status);
}

void pause_after(int64_t start) {  // often at first, for servers that start at once
  std::this_thread::sleep_for(std::chrono::milliseconds(since_s(start) < 3 ? 15 : 250));
}

}  // namespace

Result<int> free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool good = fd >= 0 &&
                    ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!good) return fail(ErrorCode::kIo, "no free port: {}", std::strerror(code));
  return static_cast<int>(ntohs(address.sin_port));
}

Result<Server> Server::start(const Launch& launch, const ServerTimeouts& timeouts,
                             const std::atomic<bool>* stop,
                             const std::function<void(const std::string&)>& progress) {
  const int64_t began = base::now_ns();
  Server server;
  server.url_ = launch.url;
  if (launch.process) {
    server.log_ = launch.process->log;
    if (!launch.node_file.empty()) {
      std::error_code ignored;
      std::filesystem::remove(launch.node_file, ignored);
    }
    HEADROOM_TRY(server.child_, ChildProcess::start(*launch.process));
  }
  auto note = [&, last = int64_t{-1}](const char* what) mutable {
    const auto second = static_cast<int64_t>(since_s(began));
    if (!progress || second == last) return;
    last = second;
    progress(fmt::format("{} ({})", what, base::duration_text(since_s(began))));
  };
  const auto ended = [&]() -> tl::unexpected<base::Error> {
    return fail(ErrorCode::kUnavailable, "not ready: {}", server.end_text());
  };
  const auto cancelled = [&] { return stop != nullptr && *stop; };
  while (!launch.node_file.empty()) {
    const auto node = base::read_file(launch.node_file, 4096);
    if (node && node->ends_with('\n')) {
      const std::string name = node->substr(0, node->find('\n'));
      if (const size_t at = server.url_.find("${node}"); at != std::string::npos)
        server.url_.replace(at, 7, name);
      break;
    }
    if (cancelled()) return fail(ErrorCode::kCancelled, "interrupted");
    if (!server.running()) return ended();
    if (since_s(began) > timeouts.start_s)
      return fail(ErrorCode::kUnavailable, "not started after {} (timeouts.start); log {}: {}",
                  base::duration_text(timeouts.start_s), server.log_.string(),
                  log_tail(server.log_, 3));
    note("waiting for the launcher");
    pause_after(began);
  }
  HEADROOM_TRY(const HealthCheck check, health_check(server.url_, launch.health));
  const int64_t launched = base::now_ns();
  for (;;) {
    const std::string said = ask(check);
    if (cancelled()) return fail(ErrorCode::kCancelled, "interrupted");
    if (!server.running()) return ended();  // also when another one answered on its port
    if (said.empty()) break;
    if (since_s(launched) > timeouts.health_s)
      return fail(ErrorCode::kUnavailable, "not healthy after {} (timeouts.health): {}{}",
                  base::duration_text(timeouts.health_s), said,
                  server.log_.empty() ? ""
                                      : fmt::format("; log {}: {}", server.log_.string(),
                                                    log_tail(server.log_, 3)));
    note("waiting for the server's health");
    pause_after(launched);
  }
  server.start_seconds_ = since_s(began);
  return server;
}

bool Server::running() {
  return !child_ || child_->running();
}

std::string Server::end_text() {
  if (running()) return {};
  const std::string tail = log_tail(log_);
  return fmt::format("the server {}; log {}{}", child_->end_text(), log_.string(),
                     tail.empty() ? " is empty" : ": " + tail);
}

void Server::stop() {
  if (child_) child_->stop();
}

}  // namespace headroom::sweep
