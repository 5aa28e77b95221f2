// ApiError: the one form in which this API reports what went wrong.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "base/result.h"
#include "http/incoming.h"

namespace headroom::openai {

/// {"error":{"message","type","param","code"}}; empty param and code are null on the wire.
struct ApiError {
  int status = 400;
  std::string message;
  std::string type = "invalid_request_error";
  std::string param = {};
  std::string code = {};
};

template <typename T>
using ApiResult = tl::expected<T, ApiError>;

ApiError api_error(const base::Error& error);
ApiError api_error(int status, const std::string& message);
std::string error_json(const ApiError& error);
/// With Retry-After where trying again later makes sense.
http::Reply error_reply(const ApiError& error);

}  // namespace headroom::openai
