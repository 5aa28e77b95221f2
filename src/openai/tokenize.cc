// POST /tokenize: the ids of a text, in the form of vLLM's endpoint of that name.
#include "base/json_writer.h"
#include "openai/sampling_fields.h"

namespace headroom::openai {
namespace {

ApiResult<std::string> tokenize(std::string_view body, const ServedModel& model) {
  auto object = parse_body(body);
  if (!object) return tl::unexpected(object.error());
  FieldReader reader(*object);
  check_model(reader, model);
  const auto prompt = reader.string("prompt");
  const bool special = reader.boolean("add_special_tokens").value_or(true);
  if (!prompt)
    reader.fail({400, "prompt is missing; it must be a string", "invalid_request_error", "prompt"});
  if (reader.error()) return tl::unexpected(*reader.error());
  if (!model.encode)
    return tl::unexpected(
        ApiError{400, "the served model has no tokenizer", "invalid_request_error", "prompt"});
  auto ids = model.encode(*prompt, special);
  if (!ids) return tl::unexpected(api_error(ids.error()));
  base::JsonWriter json;
  json.begin_object().field("count", static_cast<uint64_t>(ids->size()));
  json.field("max_model_len", model.max_context).key("tokens").begin_array();
  for (const int32_t id : *ids) json.value(id);
  json.end_array().end_object();
  return json.take();
}

}  // namespace

void add_tokenize(http::Router& router, std::shared_ptr<Service> service) {
  router.add(
      "POST", "/tokenize",
      [service](const http::IncomingRequest& request, std::shared_ptr<http::Responder> responder) {
        const auto answer = [](auto& to, const ApiResult<std::string>& result) {
          to->reply(result ? http::Reply{200, *result} : error_reply(result.error()));
        };
        // Long texts take long enough to hold up an I/O thread.
        const bool taken = service->worker().run(
            [model = &service->model(), responder, answer, body = request.body] {
              auto result = std::make_shared<ApiResult<std::string>>(tokenize(body, *model));
              responder->post([responder, answer, result] { answer(responder, *result); });
            });
        if (!taken)
          responder->reply(
              error_reply(api_error(503, "too many large requests are waiting already")));
      });
}

}  // namespace headroom::openai
