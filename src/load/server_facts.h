// ServerFacts: what a server says about itself before a run: models, and its plan where it has one.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/url.h"
#include "results/record.h"

namespace headroom::load {

struct ServerFacts {
  /// Filled as far as the server tells: framework, version, digest, cache, attention, settings.
  results::Server server;
  /// One CPU machine when the plan says so; else empty.
  results::Hardware hardware;
  std::vector<results::PlanLine> plan;  // of GET /headroom/plan
  std::optional<int64_t> vocabulary;    // token ids run from 0 to that
};

/// Asks GET /v1/models, /headroom/plan and /version; a path that the server does not have is no
/// error. Errors name the address: kUnavailable when there is no connection, kUnauthorized for a
/// refused key, kNotFound when the server lists its models and `model` is not among them,
/// kCancelled when `stop` was set.
base::Result<ServerFacts> ask_server(const http::Url& url, const std::vector<std::string>& headers,
                                     const std::string& model,
                                     const std::atomic<bool>* stop = nullptr);

/// The facts of a plan's JSON. Errors (kDataLoss): not the object that the plan should be.
base::Result<ServerFacts> parse_plan(std::string_view json);

/// Sends `body` (of a workload, not streamed) and returns how many tokens the server counts in its
/// prompt; nothing when it does not say.
std::optional<int64_t> count_prompt_tokens(const http::Url& url, std::string_view path,
                                           const std::vector<std::string>& headers,
                                           const std::string& body,
                                           const std::atomic<bool>* stop = nullptr);

}  // namespace headroom::load
