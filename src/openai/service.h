// Service: what every endpoint shares: the engine, the served model, keys, identity of answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "http/router.h"
#include "kernels/plan/kernel.h"
#include "openai/worker.h"

namespace headroom::openai {

/// Sampling that a request gets when it does not say: OpenAI's own (temperature 1, top_p 1) unless
/// the model's generation_config.json says otherwise.
struct SamplingDefaults {
  double temperature = 1;
  double top_p = 1;
  int32_t top_k = 0;
};

struct ServedModel {
  std::string name;    // what `model` must be
  std::string source;  // directory
  int32_t max_context = 0;
  int32_t vocab = 0;
  SamplingDefaults sampling;
  /// Text to ids; `add_special` puts the BOS in front if the tokenizer does. Null: the model has no
  /// tokenizer, and prompts must be ids.
  std::function<base::Result<std::vector<int32_t>>(std::string_view text, bool add_special)> encode;
  /// Bytes of one token's text; of special tokens too.
  std::function<std::string_view(int32_t id)> token_bytes;
  /// Bytes of the longest token: text too long for the context even so is refused unread.
  /// 0: unknown.
  size_t longest_token = 0;
};

/// Immutable but for its counters; outlives the server and the engine's streams.
class Service {
 public:
  Service(engine::Engine& engine, ServedModel model, std::string api_key, std::string plan_json,
          const std::vector<kernels::OpChoice>& plan);

  engine::Engine& engine() const { return engine_; }
  const ServedModel& model() const { return model_; }
  const std::string& plan_json() const { return plan_json_; }
  const std::vector<kernels::OpChoice>& plan() const { return plan_; }
  int64_t created() const { return created_; }

  /// 64 bits that no other call has returned.
  uint64_t unique();
  std::string new_id(std::string_view prefix);
  /// Below 2^53, so that every JSON reader keeps it.
  uint64_t new_seed() { return unique() >> 11; }

  bool key_matches(std::string_view authorization) const;

  /// For large bodies: jobs must hold the service weakly, or it would end on its own worker.
  Worker& worker() { return worker_; }

 private:
  engine::Engine& engine_;
  const ServedModel model_;
  const std::string api_key_;  // empty: none asked for
  const std::string plan_json_;
  const std::vector<kernels::OpChoice> plan_;
  const int64_t created_;  // seconds since 1970
  std::atomic<uint64_t> state_;
  Worker worker_{1024};  // last: its thread reads the members above
};

/// Every endpoint of the API on one router, with its errors and its key check.
http::Router make_router(std::shared_ptr<Service> service);

// One file each.
void add_completions(http::Router& router, std::shared_ptr<Service> service);
void add_models(http::Router& router, std::shared_ptr<Service> service);
void add_health(http::Router& router, std::shared_ptr<Service> service);
void add_metrics(http::Router& router, std::shared_ptr<Service> service);
void add_tokenize(http::Router& router, std::shared_ptr<Service> service);
void add_plan(http::Router& router, std::shared_ptr<Service> service);

}  // namespace headroom::openai
