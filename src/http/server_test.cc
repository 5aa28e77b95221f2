// Server: real sockets; limits, timeouts, keep-alive, streams, disconnects, drain.
#include "http/server.h"

#include <gtest/gtest.h>
#include <sys/un.h>

#include <atomic>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/rng.h"
#include "http/client.h"
#include "http/raw_client_test.h"

namespace headroom::http {
namespace {

using std::chrono::milliseconds;

struct Fixture {
  explicit Fixture(ServerOptions options = {}) {
    options.port = 0;
    Router router;
    router.add("GET", "/hello", [](auto&, auto r) { r->reply({200, "{\"hello\":1}"}); });
    router.add("POST", "/echo", [](const IncomingRequest& request, auto r) {
      r->reply({200, request.body, "text/plain"});
    });
    router.add("POST", "/stream", [this](auto&, auto r) {
      const std::lock_guard lock(mutex);
      r->on_gone([this] { ++gone; });
      r->start_events();
      r->send_event("first");
      held = r;
    });
    router.add("POST", "/never", [this](auto&, auto r) {
      const std::lock_guard lock(mutex);
      r->on_gone([this] { ++gone; });
      held = r;
    });
    router.add("POST", "/flood", [this](auto&, std::shared_ptr<Responder> r) {
      r->on_gone([this] { ++gone; });
      r->start_events();
      while (r->has_room()) r->send_event(std::string(1000, 'x')), ++events;
    });
    server = std::move(*Server::listen(std::move(options), std::move(router)));
    server->start();
  }
  ~Fixture() { server->stop(milliseconds(0)); }
  std::shared_ptr<Responder> responder() {
    for (int i = 0; i < 1000; ++i) {
      {
        const std::lock_guard lock(mutex);
        if (held) return held;
      }
      std::this_thread::sleep_for(milliseconds(2));
    }
    return nullptr;
  }
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 2000; ++i) {
      if (holds()) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  uint16_t port() const { return server->port(); }

  std::mutex mutex;
  std::shared_ptr<Responder> held;
  std::atomic<int> gone{0}, events{0};
  std::unique_ptr<Server> server;
};

TEST(Server, AnswersAndKeepsTheConnection) {
  Fixture f;
  RawClient client(f.port());
  for (int i = 0; i < 3; ++i) {
    client.request("GET", "/hello");
    const auto answer = client.answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "{\"hello\":1}");
    EXPECT_NE(answer.head.find("Connection: keep-alive"), std::string::npos);
  }
  client.request("HEAD", "/hello");
  auto answer = client.answer(true);
  EXPECT_NE(answer.head.find("Content-Length: 11\r\n"), std::string::npos);
  client.request("POST", "/echo", "body");
  EXPECT_EQ(client.answer().body, "body");
  client.request("GET", "/none");
  EXPECT_EQ(client.answer().status, 404);
  client.request("DELETE", "/hello");
  EXPECT_EQ(client.answer().status, 405);
  client.request("OPTIONS", "/hello");
  answer = client.answer();
  EXPECT_EQ(answer.status, 204);
  EXPECT_EQ(answer.head.find("Access-Control"), std::string::npos);
  client.request("GET", "/hello", {}, "Connection: close\r\n");
  EXPECT_EQ(client.answer().status, 200);
  client.read_all();
  EXPECT_TRUE(client.ended);
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  Fixture f;
  RawClient client(f.port());
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += fmt::format("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{:02}", i);
  client.send(text);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(client.answer().body, fmt::format("{:02}", i));
}

TEST(Server, ChunkedBodyAndExpectContinue) {
  Fixture f;
  RawClient client(f.port());
  client.send(
      "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.answer().body, "abcde");
  client.send(
      "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  ASSERT_TRUE(client.read_until("100 Continue\r\n\r\n"));
  client.received.clear();
  client.send("xyz");
  EXPECT_EQ(client.answer().body, "xyz");
}

TEST(Server, LimitsAndMalformedRequests) {
  ServerOptions options;
  options.max_body_bytes = 1000;
  options.max_header_bytes = 1000;
  Fixture f(options);
  EXPECT_EQ(fetch(f.port(), "POST", "/echo", std::string(1000, 'a')).status, 200);
  EXPECT_EQ(fetch(f.port(), "POST", "/echo", std::string(1001, 'a')).status, 413);
  EXPECT_EQ(fetch(f.port(), "POST", "/echo", std::string(3'000'000, 'a')).status, 413);
  EXPECT_EQ(fetch(f.port(), "GET", "/hello", {}, "X: " + std::string(2000, 'a') + "\r\n").status,
            431);
  for (const char* bad :
       {"GARBAGE\r\n\r\n", "GET /hello HTTP/9.9\r\n\r\n", "GET /%zz HTTP/1.1\r\nHost: t\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: x\r\n\r\n"}) {
    RawClient client(f.port());
    client.send(bad);
    EXPECT_EQ(client.answer().status, 400) << bad;
    client.read_all();
    EXPECT_TRUE(client.ended) << bad;
  }
  EXPECT_EQ(fetch(f.port(), "GET", "/hello").status, 200);
}

TEST(Server, SlowRequestsTimeOut) {
  ServerOptions options;
  options.idle_timeout = milliseconds(100);
  options.request_timeout = milliseconds(100);
  Fixture f(options);
  RawClient silent(f.port()), head(f.port()), body(f.port());
  head.send("GET /hello HT");
  body.send("POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(head.answer().status, 408);
  EXPECT_EQ(body.answer().status, 408);
  silent.read_all();
  EXPECT_TRUE(silent.ended);
  EXPECT_TRUE(silent.received.empty());
}

TEST(Server, StreamsEachEventAtOnce) {
  Fixture f;
  RawClient client(f.port());
  client.request("POST", "/stream", "{}");
  ASSERT_TRUE(client.read_until("data: first\n\n"));
  EXPECT_NE(client.received.find("Content-Type: text/event-stream"), std::string::npos);
  auto responder = f.responder();
  ASSERT_TRUE(responder);
  for (int i = 0; i < 3; ++i) {
    responder->post([=] { responder->send_event(fmt::format("event {}", i)); });
    ASSERT_TRUE(client.read_until(fmt::format("data: event {}\n\n", i)));
  }
  responder->post([=] { responder->end_events(); });
  ASSERT_TRUE(client.read_until("0\r\n\r\n"));
  client.received.clear();
  client.request("GET", "/hello");
  EXPECT_EQ(client.answer().status, 200) << "the connection lives on";
  responder->post([=] { responder->send_event("stale"), responder->reply({500}); });
  client.request("GET", "/hello");
  EXPECT_EQ(client.answer().status, 200) << "a responder of the past does nothing";
  EXPECT_EQ(f.gone, 0);
}

TEST(Server, Http10GetsAStreamWithoutChunks) {
  Fixture f;
  RawClient client(f.port());
  client.send("POST /stream HTTP/1.0\r\nContent-Length: 0\r\n\r\n");
  ASSERT_TRUE(client.read_until("\r\n\r\ndata: first\n\n"));
  auto responder = f.responder();
  responder->post([=] { responder->end_events(); });
  client.read_all();
  EXPECT_TRUE(client.ended);
}

TEST(Server, NoticesThatTheClientWentAway) {
  Fixture f;
  for (const char* path : {"/stream", "/never"}) {
    const int before = f.gone;
    RawClient client(f.port());
    client.request("POST", path, "{}");
    ASSERT_TRUE(f.responder());
    if (std::string_view(path) == "/stream") {
      ASSERT_TRUE(client.read_until("first"));
    }
    std::this_thread::sleep_for(milliseconds(10));
    EXPECT_EQ(f.gone, before);
    client.close();
    EXPECT_TRUE(Fixture::eventually([&] { return f.gone == before + 1; })) << path;
  }
  EXPECT_TRUE(Fixture::eventually([&] { return f.server->connections() == 0; }));
}

TEST(Server, SlowReaderHasNoRoomAndTimesOut) {
  ServerOptions options;
  options.write_timeout = milliseconds(200);
  options.room_bytes = 8 << 20;  // more than the kernel's buffers take
  Fixture f(options);
  RawClient client(f.port());
  const int small = 4096;
  ::setsockopt(client.fd(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
  client.request("POST", "/flood", "{}");
  EXPECT_TRUE(Fixture::eventually([&] { return f.gone == 1; }));
  EXPECT_GT(f.events, 1000);
}

TEST(Server, StopLetsAnswersFinish) {
  Fixture f;
  RawClient client(f.port()), idle(f.port());
  idle.request("GET", "/hello");
  EXPECT_EQ(idle.answer().status, 200);
  client.request("POST", "/stream", "{}");
  ASSERT_TRUE(client.read_until("first"));
  auto responder = f.responder();
  std::thread stopper([&] { f.server->stop(std::chrono::seconds(10)); });
  idle.read_all();
  EXPECT_TRUE(idle.ended);
  EXPECT_TRUE(Fixture::eventually([&] { return !RawClient(f.port()).connected(); }));
  responder->post([=] { responder->send_event("last"), responder->end_events(); });
  EXPECT_TRUE(client.read_until("data: last"));
  stopper.join();
  EXPECT_EQ(f.gone, 0);
}

TEST(Server, PortInUseNamesTheAddress) {
  Fixture f;
  ServerOptions options;
  options.port = f.port();
  auto second = Server::listen(options, Router{});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ErrorCode::kUnavailable);
  EXPECT_NE(second.error().message.find(fmt::format("127.0.0.1:{}", f.port())), std::string::npos);
  options.host = "no.such.host.invalid";
  EXPECT_FALSE(Server::listen(options, Router{}));
}

TEST(Server, UnixSocket) {
  const std::string path = testing::TempDir() + "headroom-http-test.sock";
  ServerOptions options;
  options.unix_path = path;
  Fixture f(options);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string_view request = "GET /hello HTTP/1.0\r\n\r\n";
  ASSERT_EQ(::send(fd, request.data(), request.size(), 0), static_cast<ssize_t>(request.size()));
  std::string got(1000, '\0');
  const ssize_t n = ::recv(fd, got.data(), got.size(), MSG_WAITALL);
  EXPECT_NE(got.find("200 OK"), std::string::npos) << n;
  ::close(fd);
}

TEST(Server, UnixSocketLeavesOtherFilesAlone) {
  ServerOptions options;
  options.unix_path = testing::TempDir() + fmt::format("headroom-not-a-socket-{}", ::getpid());
  std::ofstream(options.unix_path) << "precious";
  const auto server = Server::listen(options, Router{});
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("is not a socket"), std::string::npos)
      << server.error().message;
  std::string kept;
  std::ifstream(options.unix_path) >> kept;
  EXPECT_EQ(kept, "precious");
  ::unlink(options.unix_path.c_str());
}

// Broken and truncated bytes never take the server down.
TEST(Server, SurvivesMutatedRequests) {
  Fixture f;
  base::Rng rng(5);
  const std::string seed = "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\nhello";
  for (int round = 0; round < 200; ++round) {
    std::string bytes = seed.substr(0, 1 + rng.below(seed.size()));
    for (uint64_t i = 0, n = rng.below(4); i < n; ++i)
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    RawClient client(f.port());
    client.send(bytes);
    ::shutdown(client.fd(), SHUT_WR);
    client.read_all(2000);
    EXPECT_TRUE(client.ended);
  }
  EXPECT_EQ(fetch(f.port(), "GET", "/hello").status, 200);
}

TEST(Client, ASilentPeerIsToldByWhatWasMissing) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string where = fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
  ClientOptions options;
  options.timeout_ns = 200'000'000;
  const auto told = [&](const char* scheme) {
    return get(*parse_url(scheme + where), "/", options).error().message;
  };
  EXPECT_EQ(told("http://"), where + ": no answer within 0.2 s");
  EXPECT_EQ(told("https://"), where + ": no TLS handshake within 0.2 s; does it speak plain http?");
  ::close(listener);
}

}  // namespace
}  // namespace headroom::http
