// GET /health and /version.
#include "base/json_writer.h"
#include "base/version.h"
#include "openai/error.h"
#include "openai/service.h"

namespace headroom::openai {

void add_health(http::Router& router, std::shared_ptr<Service> service) {
  router.add("GET", "/health", [service](const auto&, auto responder) {
    if (service->engine().draining()) {
      responder->reply(error_reply(api_error(503, "the server is draining")));
      return;
    }
    responder->reply({200, R"({"status":"ready"})"});
  });
  router.add("GET", "/version", [](const auto&, auto responder) {
    base::JsonWriter json;
    json.begin_object().field("version", base::kVersion).field("name", "headroom").end_object();
    responder->reply({200, json.take()});
  });
}

}  // namespace headroom::openai
