// The router of the whole API.
#include "openai/service.h"

#include <random>

#include "base/clock.h"
#include "base/rng.h"
#include "openai/error.h"

namespace headroom::openai {
namespace {

uint64_t random_state() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace

Service::Service(engine::Engine& engine, ServedModel model, std::string api_key,
                 std::string plan_json, const std::vector<kernels::OpChoice>& plan)
    : engine_(engine),
      model_(std::move(model)),
      api_key_(std::move(api_key)),
      plan_json_(std::move(plan_json)),
      plan_(plan),
      created_(base::unix_ns() / 1'000'000'000),
      state_(random_state()) {}

uint64_t Service::unique() {
  // The step of SplitMix64, taken atomically: its mixing is a bijection of the state.
  uint64_t state = state_.fetch_add(0x9E3779B97F4A7C15ull);
  return base::splitmix64(state);
}

std::string Service::new_id(std::string_view prefix) {
  return fmt::format("{}-{:016x}", prefix, unique());
}

bool Service::key_matches(std::string_view authorization) const {
  if (api_key_.empty()) return true;
  // The scheme's name is case-insensitive, and blanks before the key mean nothing (RFC 9110).
  constexpr std::string_view kScheme = "bearer ";
  for (size_t i = 0; i < kScheme.size(); ++i) {
    if (i >= authorization.size()) return false;
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != kScheme[i]) return false;
  }
  std::string_view given = authorization.substr(kScheme.size());
  given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
  // Every byte is looked at, so that time tells nothing about the key but its length.
  unsigned difference = given.size() != api_key_.size();
  for (size_t i = 0; i < given.size(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ api_key_[i % api_key_.size()]);
  return difference == 0;
}

http::Router make_router(std::shared_ptr<Service> service) {
  http::Router router;
  add_completions(router, service);
  add_models(router, service);
  add_health(router, service);
  add_metrics(router, service);
  add_tokenize(router, service);
  add_plan(router, service);
  router.set_failure([](int status, const std::string& message) {
    return error_reply(api_error(status, message));
  });
  // Probes and scrapers need no key; what tells about prompts, tokens or the machine does.
  router.set_gate([service](const http::IncomingRequest& request) -> std::optional<http::Reply> {
    const bool guarded = request.path.starts_with("/v1/") ||
                         request.path.starts_with("/headroom/") || request.path == "/tokenize";
    if (!guarded || service->key_matches(request.header("authorization"))) return std::nullopt;
    ApiError error = api_error(401, "missing or wrong API key: send `Authorization: Bearer KEY`");
    error.code = "invalid_api_key";
    return error_reply(error);
  });
  return router;
}

}  // namespace headroom::openai
