// Fuzz target: request targets, routing and the body of /v1/completions.
#include <memory>

#include "http/router.h"
#include "openai/completions_request.h"

namespace {

using namespace headroom;

struct Sink : http::Responder {
  void reply(http::Reply) override {}
  void start_events() override {}
  void send_event(std::string_view) override {}
  void end_events() override {}
  void on_gone(std::function<void()>) override {}
  bool has_room() const override { return true; }
  void on_room(std::function<void()>) override {}
  void post(std::function<void()>) override {}
};

openai::ServedModel served() {
  openai::ServedModel model;
  model.name = "m";
  model.vocab = 1000;
  model.max_context = 100;
  return model;
}

http::Router routes() {
  http::Router router;
  router.add("POST", "/v1/completions", [](const http::IncomingRequest& request, auto responder) {
    static const openai::ServedModel kModel = served();
    const auto parsed = openai::parse_completions(request.body, kModel);
    if (!parsed) responder->reply(openai::error_reply(parsed.error()));
  });
  router.add("GET", "/health", [](auto&, auto responder) { responder->reply({200}); });
  return router;
}

}  // namespace

/// First line: "METHOD TARGET"; the rest is the body.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const http::Router kRouter = routes();
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  const std::string_view first = input.substr(0, line);
  const size_t space = first.find(' ');
  http::IncomingRequest request;
  request.method = std::string(first.substr(0, space));
  if (line != std::string_view::npos) request.body = std::string(input.substr(line + 1));
  const auto target =
      http::parse_target(space == std::string_view::npos ? "/" : first.substr(space + 1));
  if (!target) return 0;
  request.path = target->path;
  kRouter.dispatch(request, std::make_shared<Sink>());
  return 0;
}
