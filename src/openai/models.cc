// GET /v1/models and /v1/models/NAME.
#include "base/json_writer.h"
#include "openai/service.h"

namespace headroom::openai {
namespace {

void write_model(base::JsonWriter& json, const Service& service) {
  json.begin_object()
      .field("id", service.model().name)
      .field("object", "model")
      .field("created", service.created())
      .field("owned_by", "headroom")
      .field("max_model_len", service.model().max_context)
      .end_object();
}

}  // namespace

void add_models(http::Router& router, std::shared_ptr<Service> service) {
  router.add("GET", "/v1/models", [service](const auto&, auto responder) {
    base::JsonWriter json;
    json.begin_object().field("object", "list").key("data").begin_array();
    write_model(json, *service);
    json.end_array().end_object();
    responder->reply({200, json.take()});
  });
  router.add("GET", "/v1/models/" + service->model().name, [service](const auto&, auto responder) {
    base::JsonWriter json;
    write_model(json, *service);
    responder->reply({200, json.take()});
  });
}

}  // namespace headroom::openai
