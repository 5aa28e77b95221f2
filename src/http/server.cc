// Listening, spreading connections over the I/O threads, and the orderly end.
#include "http/server.h"

#include <unistd.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "http/session.h"

namespace headroom::http {
namespace {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using asio::ip::tcp;
using Local = asio::local::stream_protocol;

constexpr int kBacklog = 4096;  // a ramp of thousands of clients must not meet SYN retries

std::string address_text(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  return address.is_v6() ? fmt::format("[{}]:{}", address.to_string(), endpoint.port())
                         : fmt::format("{}:{}", address.to_string(), endpoint.port());
}

std::string peer_text(const tcp::socket& socket) {
  ErrorCode error;
  const auto endpoint = socket.remote_endpoint(error);
  return error ? "unknown" : address_text(endpoint);
}
std::string peer_text(const Local::socket&) {
  return "unix";
}
void set_no_delay(tcp::socket& socket) {
  ErrorCode ignored;
  socket.set_option(tcp::no_delay(true), ignored);
}
void set_no_delay(Local::socket&) {}

template <typename Protocol>
class ServerOn final : public Server {
 public:
  ServerOn(ServerOptions options, Router router) : shared_(std::make_shared<Shared>()) {
    shared_->options = std::move(options);
    shared_->router = std::move(router);
    for (int i = 0; i < std::max(1, shared_->options.threads); ++i) {
      contexts_.push_back(std::make_shared<IoContext>());
      guards_.push_back(asio::make_work_guard(contexts_.back()->io));
    }
    acceptor_.emplace(contexts_[0]->io);
    pause_.emplace(contexts_[0]->io);
  }
  ~ServerOn() override {
    stop(std::chrono::milliseconds(0));
    acceptor_.reset();
    pause_.reset();
  }

  base::Result<> bind(const typename Protocol::endpoint& endpoint, const std::string& name) {
    ErrorCode error;
    acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(kBacklog, error);
    if (error == asio::error::address_in_use)
      return base::fail(base::ErrorCode::kUnavailable,
                        "{} is in use by another program; choose another address", name);
    if (error)
      return base::fail(base::ErrorCode::kUnavailable, "cannot listen on {}: {}", name,
                        error.message());
    if constexpr (std::is_same_v<Protocol, tcp>) {
      port_ = acceptor_->local_endpoint().port();
      url_ = "http://" + address_text(acceptor_->local_endpoint());
    } else {
      url_ = "unix:" + name;
      unix_path_ = name;
    }
    return {};
  }

  uint16_t port() const override { return port_; }
  std::string url() const override { return url_; }
  int connections() const override { return shared_->connections.load(); }

  void start() override {
    asio::post(contexts_[0]->io, [this] { accept(); });
    for (const auto& context : contexts_) threads_.emplace_back([context] { serve(*context); });
  }

  void stop(std::chrono::milliseconds grace) override {
    if (stopped_) return;
    stopped_ = true;
    asio::post(contexts_[0]->io, [this] {
      ErrorCode ignored;
      acceptor_->close(ignored);
      pause_->cancel();
    });
    close_all(false);
    const int64_t deadline = base::now_ns() + std::chrono::nanoseconds(grace).count();
    while (!threads_.empty() && connections() > 0 && base::now_ns() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    close_all(true);
    guards_.clear();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    // Handlers that no thread ran (the server was never started, or one was posted behind the end)
    // hold their own io_context: run here, they let go of it.
    for (const auto& context : contexts_) drain(*context);
    // Only a socket file of our own making: after a failed bind the path is somebody else's.
    if (!unix_path_.empty()) ::unlink(unix_path_.c_str());
    unix_path_.clear();
  }

 private:
  static void serve(IoContext& context) {
    for (;;) {
      try {
        context.io.run();
        return;
      } catch (const std::exception& e) {
        base::log_error("I/O thread: {}", e.what());  // that handler is lost, the rest goes on
      }
    }
  }

  static void drain(IoContext& context) {
    context.io.restart();
    try {
      while (context.io.poll() > 0) {
      }
    } catch (const std::exception& e) {
      base::log_error("I/O thread: {}", e.what());
    }
  }

  void close_all(bool now) {
    for (const auto& context : contexts_)
      asio::post(context->io, [context, now] { close_sessions(*context, now); });
  }

  // Spelled out: gcc 12 instantiates a generic handler for overloads it then drops.
  using Peer =
      typename Protocol::socket::template rebind_executor<asio::io_context::executor_type>::other;

  void accept() {
    if (!acceptor_->is_open()) return;
    const auto& context = contexts_[next_++ % contexts_.size()];
    acceptor_->async_accept(context->io, [this, context](ErrorCode error, Peer socket) {
      if (!acceptor_->is_open()) return;
      if (error) {
        // Out of descriptors, most likely: let some be given back first.
        base::log_warning("accept: {}", error.message());
        pause_->expires_after(std::chrono::milliseconds(100));
        pause_->async_wait([this](ErrorCode cancelled) {
          if (!cancelled) accept();
        });
        return;
      }
      admit(context, std::move(socket));
      accept();
    });
  }

  void admit(const std::shared_ptr<IoContext>& context, typename Protocol::socket socket) {
    if (connections() >= shared_->options.max_connections) {
      base::log_warning("{} connections are open already; one more is refused", connections());
      return;  // closes it
    }
    set_no_delay(socket);
    std::string peer = peer_text(socket);
    asio::post(context->io, [shared = shared_, context, peer = std::move(peer),
                             generic = Socket(std::move(socket))]() mutable {
      start_session(std::move(generic), std::move(peer), std::move(context), std::move(shared));
    });
  }

  std::shared_ptr<Shared> shared_;
  std::vector<std::shared_ptr<IoContext>> contexts_;
  std::vector<asio::executor_work_guard<asio::io_context::executor_type>> guards_;
  std::optional<typename Protocol::acceptor> acceptor_;
  std::optional<asio::steady_timer> pause_;
  std::vector<std::thread> threads_;
  size_t next_ = 0;
  uint16_t port_ = 0;
  std::string url_;
  std::string unix_path_;  // of the socket file that we made
  bool stopped_ = false;
};

base::Result<tcp::endpoint> resolve(const std::string& host, uint16_t port) {
  ErrorCode error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(address, port);
  asio::io_context io;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, std::to_string(port), error);
  if (error || found.empty())
    return base::fail(base::ErrorCode::kInvalidArgument, "host {}: {}", host,
                      error ? error.message() : "has no address");
  return found.begin()->endpoint();
}

}  // namespace

base::Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Router router) {
  if (!options.unix_path.empty()) {
    const std::string path = options.unix_path;
    ErrorCode error;
    asio::io_context io;
    Local::socket probe(io);
    if (path.size() >= sizeof(sockaddr_un::sun_path))
      return base::fail(base::ErrorCode::kInvalidArgument, "socket path {} is longer than {} bytes",
                        path, sizeof(sockaddr_un::sun_path) - 1);
    probe.connect(Local::endpoint(path), error);
    if (!error)
      return base::fail(base::ErrorCode::kUnavailable,
                        "{} is in use by another program; choose another address", path);
    // A socket file that nobody listens on is left over from a crash. Connecting to a regular file
    // is refused just the same, and that one is not ours to delete.
    std::error_code ignored;
    const auto there = std::filesystem::symlink_status(path, ignored);
    if (std::filesystem::exists(there) && !std::filesystem::is_socket(there))
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "{} exists and is not a socket; choose another path", path);
    if (error == asio::error::connection_refused) ::unlink(path.c_str());
    auto server = std::make_unique<ServerOn<Local>>(std::move(options), std::move(router));
    HEADROOM_TRY_VOID(server->bind(Local::endpoint(path), path));
    return server;
  }
  HEADROOM_TRY(const tcp::endpoint endpoint, resolve(options.host, options.port));
  auto server = std::make_unique<ServerOn<tcp>>(std::move(options), std::move(router));
  HEADROOM_TRY_VOID(server->bind(endpoint, address_text(endpoint)));
  return server;
}

}  // namespace headroom::http
