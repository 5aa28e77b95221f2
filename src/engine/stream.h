// RequestStream: the bounded channel on which one request's tokens leave the engine.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/request.h"
#include "model/logprobs.h"

namespace headroom::engine {

/// Two sides: the engine thread pushes and never waits; one consumer drains. What lies in it is
/// bounded by the request's max_tokens, because the engine generates no more than that: a consumer
/// that is slow, or never comes, costs that memory and nothing else.
class RequestStream {
 public:
  struct Batch {
    std::vector<model::TokenScore> prompt_scores;  // once, with the first token or the finish
    std::vector<TokenOutput> tokens;
    std::optional<Finish> finish;  // set once; nothing follows
  };

  /// `ready` is called on the engine thread when the stream turns from drained to not drained. It
  /// must be quick and must not throw. Set it before the request is submitted.
  explicit RequestStream(std::function<void()> ready) : ready_(std::move(ready)) {}

  /// Consumer: moves everything out; `batch` is cleared first.
  void drain(Batch& batch);

  /// Any thread, any number of times. The engine frees the request before its next step.
  void cancel() { cancelled_.store(true, std::memory_order_release); }
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  /// Engine thread: one token, and the finish if it was the last. `prompt_scores`: of prompt[1…],
  /// with the first that is pushed.
  void push(TokenOutput token, std::optional<Finish> finish,
            std::vector<model::TokenScore> prompt_scores = {});
  /// Engine thread: the finish alone.
  void finish(Finish finish, std::vector<model::TokenScore> prompt_scores = {});

 private:
  void notify(bool was_drained) {
    if (was_drained && ready_) ready_();
  }

  const std::function<void()> ready_;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  Batch pending_;          // guarded by mutex_
  bool finished_ = false;  // guarded by mutex_
};

}  // namespace headroom::engine
