// Router and framing: targets, methods, events.
#include "http/router.h"

#include <gtest/gtest.h>

#include "http/sse_writer.h"

namespace headroom::http {
namespace {

struct Recorder : Responder {
  void reply(Reply r) override { got = std::move(r); }
  void start_events() override {}
  void send_event(std::string_view) override {}
  void end_events() override {}
  void on_gone(std::function<void()>) override {}
  bool has_room() const override { return true; }
  void on_room(std::function<void()>) override {}
  void post(std::function<void()>) override {}
  Reply got{0};
};

Reply ask(const Router& router, std::string method, std::string path) {
  auto recorder = std::make_shared<Recorder>();
  IncomingRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  router.dispatch(request, recorder);
  return recorder->got;
}

std::string allow(const Reply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (name == "Allow") return value;
  }
  return {};
}

TEST(Router, FindsMethodsAndSaysWhatIsAllowed) {
  Router router;
  router.add("GET", "/a", [](auto&, auto r) { r->reply({200, "a"}); });
  router.add("POST", "/b", [](auto&, auto) { throw std::runtime_error("secret"); });
  EXPECT_EQ(ask(router, "GET", "/a").body, "a");
  EXPECT_EQ(ask(router, "HEAD", "/a").body, "a");
  EXPECT_EQ(ask(router, "GET", "/none").status, 404);
  EXPECT_EQ(ask(router, "get", "/a").status, 405);
  EXPECT_EQ(ask(router, "GET", "/b").status, 405);
  EXPECT_EQ(allow(ask(router, "GET", "/b")), "POST, OPTIONS");
  EXPECT_EQ(ask(router, "OPTIONS", "/a").status, 204);
  EXPECT_EQ(allow(ask(router, "OPTIONS", "/a")), "GET, HEAD, OPTIONS");
  EXPECT_EQ(ask(router, "OPTIONS", "*").status, 204);
  const Reply failed = ask(router, "POST", "/b");
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body.find("secret"), std::string::npos);
}

TEST(Router, GateComesBeforeTheHandler) {
  Router router;
  router.add("GET", "/a", [](auto&, auto r) { r->reply({200, "a"}); });
  router.set_gate([](const IncomingRequest&) { return std::optional<Reply>(Reply{401, "no"}); });
  EXPECT_EQ(ask(router, "GET", "/a").status, 401);
  EXPECT_EQ(ask(router, "GET", "/none").status, 404);
}

TEST(Target, DecodesAndRefuses) {
  EXPECT_EQ(parse_target("/v1/a%20b?x=%20")->path, "/v1/a b");
  EXPECT_EQ(parse_target("/v1/a%20b?x=%20")->query, "x=%20");
  EXPECT_EQ(parse_target("http://host:80/x")->path, "/x");
  EXPECT_EQ(parse_target("http://host")->path, "/");
  EXPECT_EQ(parse_target("*")->path, "*");
  for (const char* bad : {"", "x", "/%", "/%4", "/%zz", "/%00", "/a\tb"})
    EXPECT_FALSE(parse_target(bad)) << bad;
}

TEST(Framing, EventsCannotBeBrokenByTheirText) {
  std::string out;
  append_event(out, "{\"a\":1}");
  EXPECT_EQ(out, "data: {\"a\":1}\n\n");
  out.clear();
  append_event(out, "x\n\ny\r\nz\r");
  EXPECT_EQ(out, "data: x\ndata: \ndata: y\ndata: z\ndata: \n\n");
  out.clear();
  append_chunk(out, "");
  EXPECT_EQ(out, "");
  append_chunk(out, "0123456789abcdefg");
  EXPECT_EQ(out, "11\r\n0123456789abcdefg\r\n");
}

}  // namespace
}  // namespace headroom::http
