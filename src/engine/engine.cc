// The engine's borders: start, submit, drain, stop. The loop itself is in loop.cc.
#include "engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace headroom::engine {
namespace {

base::Result<> fits(const EngineOptions& options, const model::StepLimits& limits) {
  using base::ErrorCode;
  if (options.max_sequences < 1 || options.max_sequences > limits.max_sequences ||
      options.max_sequences > limits.max_logits_rows)
    return base::fail(ErrorCode::kInvalidArgument,
                      "max sequences {} must be between 1 and what the model was built for ({})",
                      options.max_sequences,
                      std::min(limits.max_sequences, limits.max_logits_rows));
  if (options.prefill_chunk < 1 ||
      options.max_step_tokens < options.max_sequences - 1 + options.prefill_chunk)
    return base::fail(ErrorCode::kInvalidArgument,
                      "max step tokens {} must be at least max sequences {} - 1 + prefill chunk {}",
                      options.max_step_tokens, options.max_sequences, options.prefill_chunk);
  if (options.max_step_tokens > limits.max_tokens)
    return base::fail(ErrorCode::kInvalidArgument,
                      "max step tokens {} is more than the model was built for ({})",
                      options.max_step_tokens, limits.max_tokens);
  if (options.max_waiting < 1)
    return base::fail(ErrorCode::kInvalidArgument, "max waiting {} must be at least 1",
                      options.max_waiting);
  return {};
}

}  // namespace

base::Result<std::unique_ptr<Engine>> Engine::start(model::StepModel& model,
                                                    EngineOptions options) {
  HEADROOM_TRY_VOID(fits(options, model.limits()));
  std::unique_ptr<Engine> engine(new Engine(model, std::move(options)));
  engine->thread_ = std::thread([raw = engine.get()] { raw->run(); });
  return engine;
}

Engine::Engine(model::StepModel& model, EngineOptions options)
    : model_(model),
      options_(std::move(options)),
      max_context_(model.limits().max_context),
      vocab_(model.vocab_size()),
      inbox_(static_cast<size_t>(options_.max_waiting)),
      pool_(model.page_count(), model.page_size()),
      scheduler_({options_.max_sequences, options_.max_step_tokens, options_.prefill_chunk}, pool_),
      masked_row_(static_cast<size_t>(vocab_)) {
  const auto slots = static_cast<size_t>(options_.max_sequences);
  step_sequences_.reserve(slots);
  sampled_.reserve(slots);
  params_.reserve(slots);
  results_.reserve(slots);
  ended_.reserve(slots);
  outbox_.reserve(slots);
  counts_.pages_total = pool_.count();
  counts_.op_runs.assign(model.op_runs().begin(), model.op_runs().end());
  publish();
}

Engine::~Engine() {
  stop();
}

base::Result<> Engine::submit(Request request, std::shared_ptr<RequestStream> stream) {
  using base::ErrorCode;
  const auto length = static_cast<int64_t>(request.prompt.size());
  if (length == 0) return base::fail(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  const int32_t most = request.sampling.max_tokens;
  HEADROOM_CHECK(most > 0 || (most == 0 && request.sampling.prompt_logprobs), "max_tokens {}",
                 most);
  // A prompt that is only scored may fill the context.
  if (most == 0 ? length > max_context_ : length >= max_context_)
    return base::fail(ErrorCode::kInvalidArgument,
                      "the prompt has {} tokens, the context holds {}: at most {} prompt tokens "
                      "leave room for one of output",
                      length, max_context_, max_context_ - 1);
  for (const int32_t id : request.prompt) {
    if (id < 0 || id >= vocab_)
      return base::fail(ErrorCode::kInvalidArgument,
                        "the prompt holds token id {}; ids go from 0 to {}", id, vocab_ - 1);
  }
  request.sampling.max_tokens =
      static_cast<int32_t>(std::min<int64_t>(most, max_context_ - length));

  auto sequence = std::make_unique<Sequence>(std::move(request), std::move(stream));
  sequence->arrived_ns = base::now_ns();
  const int32_t pages = pool_.pages_for(sequence->longest());
  if (pages > pool_.count())
    return base::fail(ErrorCode::kInvalidArgument,
                      "{} prompt tokens and {} of output need {} cache pages, the cache has {}: "
                      "lower max_tokens or start the server with more --kv-pages",
                      length, sequence->request.sampling.max_tokens, pages, pool_.count());
  if (draining()) {
    rejected_.fetch_add(1);
    return base::fail(ErrorCode::kUnavailable, "the server is draining and takes no new requests");
  }
  if (queued_.fetch_add(1) >= options_.max_waiting) {
    queued_.fetch_sub(1);
    rejected_.fetch_add(1);
    return base::fail(ErrorCode::kResourceExhausted,
                      "{} requests are waiting already, which is the limit", options_.max_waiting);
  }
  inside_.fetch_add(1);
  if (!inbox_.try_push(std::move(sequence))) {
    queued_.fetch_sub(1);
    inside_.fetch_sub(1);
    return base::fail(ErrorCode::kUnavailable, "the engine has stopped");
  }
  return {};
}

bool Engine::wait_idle(std::chrono::nanoseconds timeout) {
  const int64_t deadline = base::now_ns() + timeout.count();
  while (inside_.load() > 0) {
    if (base::now_ns() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

void Engine::stop() {
  drain();
  inbox_.close();  // before stopping_, so that nothing enters behind the loop's last look
  stopping_.store(true);
  const std::lock_guard lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

EngineMetrics Engine::metrics() const {
  const std::lock_guard lock(metrics_mutex_);
  EngineMetrics copy = published_;
  copy.rejected = rejected_.load();
  // Requests that the engine thread has not met yet wait as well.
  copy.waiting = queued_.load();
  return copy;
}

void Engine::publish() {
  counts_.running = static_cast<int64_t>(scheduler_.running());
  counts_.pages_used = pool_.used();
  const std::lock_guard lock(metrics_mutex_);
  published_ = counts_;
}

}  // namespace headroom::engine
