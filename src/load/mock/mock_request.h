// The mock server's reading of requests: HTTP head and body, and the JSON fields it acts on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace headroom::load {

struct MockRequest {
  std::string method, path, request_id;
  std::string body;
};

/// Takes one whole request off the front of `bytes`; nothing while it is incomplete. Errors
/// (kInvalidArgument, kTooLarge): the connection is of no more use.
base::Result<std::optional<MockRequest>> take_mock_request(std::string& bytes);

struct MockCall {
  std::string model;
  int64_t prompt_tokens = 0;
  uint64_t prompt_digest = 0;
  int64_t max_tokens = 16;
  bool stream = false, usage = false;
};

/// The fields of a completions or chat body. Errors: kInvalidArgument.
base::Result<MockCall> parse_mock_call(std::string_view body);

}  // namespace headroom::load
