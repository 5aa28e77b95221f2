// A small blocking HTTP client for control requests: lists of models, health, plans.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/response_parser.h"
#include "http/url.h"

namespace headroom::http {

struct Response {
  ResponseHead head;
  std::string body;
};

struct ClientOptions {
  std::vector<std::string> headers;  // "Name: value" each
  int64_t timeout_ns = 10'000'000'000;
  size_t body_limit = size_t{64} << 20;
  const std::atomic<bool>* stop = nullptr;  // set: give up with kCancelled
};

/// One request on its own connection. Any status is a Response; errors are kUnavailable (no
/// connection, cut, timeout), kDataLoss, kTooLarge and kCancelled, each naming the address.
base::Result<Response> get(const Url& url, std::string_view path,
                           const ClientOptions& options = {});
base::Result<Response> post(const Url& url, std::string_view path, std::string_view json,
                            const ClientOptions& options = {});

}  // namespace headroom::http
