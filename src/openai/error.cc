// Error bodies.
#include "openai/error.h"

#include "base/json_writer.h"

namespace headroom::openai {
namespace {

std::string type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 429 || status == 503) return "overloaded_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

}  // namespace

ApiError api_error(int status, const std::string& message) {
  return {status, message, type_of(status)};
}

ApiError api_error(const base::Error& error) {
  return api_error(base::http_status(error.code), error.message);
}

std::string error_json(const ApiError& error) {
  base::JsonWriter json;
  const auto text_or_null = [&](std::string_view name, const std::string& text) {
    json.key(name);
    if (text.empty()) {
      json.null();
    } else {
      json.value(text);
    }
  };
  json.begin_object().key("error").begin_object();
  json.field("message", error.message).field("type", error.type);
  text_or_null("param", error.param);
  text_or_null("code", error.code);
  return json.end_object().end_object().take();
}

http::Reply error_reply(const ApiError& error) {
  http::Reply reply{error.status, error_json(error)};
  if (error.status == 503 || error.status == 429) reply.headers.emplace_back("Retry-After", "1");
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

}  // namespace headroom::openai
