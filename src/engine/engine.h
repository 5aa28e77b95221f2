// Engine: one thread that owns scheduler, cache and model; requests go in, tokens come out.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/queue.h"
#include "base/result.h"
#include "engine/metrics.h"
#include "engine/scheduler.h"
#include "model/step_model.h"

namespace headroom::engine {

struct EngineOptions {
  int32_t max_sequences = 16;
  int32_t max_step_tokens = 512;
  int32_t prefill_chunk = 256;
  int32_t max_waiting = 1024;    // requests that may wait; more are refused
  std::vector<int32_t> eos_ids;  // the model's own end-of-sequence ids
  /// The text bytes of a token (empty for special tokens); called on the engine thread. Null: the
  /// engine gives ids without text, and stop texts never match.
  std::function<std::string_view(int32_t id)> token_bytes;
};

/// Any thread may call the public functions. The model must not be used by anyone else between the
/// constructor and the destructor.
class Engine {
 public:
  /// Error (kInvalidArgument) when the options do not fit the model's limits or each other.
  static base::Result<std::unique_ptr<Engine>> start(model::StepModel& model,
                                                     EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Queues a request; tokens arrive on `stream`. max_tokens is cut to what the context holds.
  /// kInvalidArgument: empty prompt, ids outside the vocabulary, prompt not shorter than the
  /// context, more pages than the cache has. kResourceExhausted: too many wait. kUnavailable:
  /// draining.
  base::Result<> submit(Request request, std::shared_ptr<RequestStream> stream);

  /// Refuses new requests from now on; idempotent.
  void drain() { draining_.store(true); }
  bool draining() const { return draining_.load(); }
  /// Waits until nothing runs or waits; false when the time is over first.
  bool wait_idle(std::chrono::nanoseconds timeout);
  /// Ends what still runs with kCancelled and joins the thread; idempotent.
  void stop();

  EngineMetrics metrics() const;
  const EngineOptions& options() const { return options_; }
  int32_t max_context() const { return max_context_; }

 private:
  Engine(model::StepModel& model, EngineOptions options);
  void run();
  void take_requests();
  void drop_cancelled();
  void step(std::span<const Scheduler::Part> parts);
  void score_prompts(std::span<const Scheduler::Part> parts);
  void end_prompts(std::span<const Scheduler::Part> parts, int64_t now_ns);
  void sample(std::span<const float> logits);
  /// Delivers one drawn token; true when the sequence has ended.
  bool deliver(Sequence& sequence, const kernels::SampleResult& drawn, std::span<const float> row,
               int64_t now_ns);
  void resample_without_stops(const Sequence& sequence, std::span<const float> row,
                              const kernels::SampleParams& params, kernels::SampleResult& result);
  Finish fail_corrupt(const Sequence& sequence, int64_t now_ns);
  bool stops_at(const Sequence& sequence, int32_t id) const;
  void record_finish(const Sequence& sequence, FinishReason reason, int64_t now_ns);
  void publish();

  model::StepModel& model_;
  const EngineOptions options_;
  const int32_t max_context_;
  const int32_t vocab_;

  std::atomic<bool> draining_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> queued_{0};  // submitted, not admitted
  std::atomic<int64_t> inside_{0};  // submitted, not finished
  std::atomic<uint64_t> rejected_{0};
  base::BoundedQueue<std::unique_ptr<Sequence>> inbox_;

  // Engine thread only.
  PagePool pool_;
  Scheduler scheduler_;
  std::vector<model::StepSequence> step_sequences_;
  std::vector<Sequence*> sampled_;  // in the order of the logits rows
  std::vector<kernels::SampleParams> params_;
  std::vector<kernels::SampleResult> results_;
  std::vector<float> masked_row_;
  std::vector<Sequence*> ended_;
  struct Outgoing {
    std::shared_ptr<RequestStream> stream;
    std::vector<model::TokenScore> prompt_scores;
    std::optional<TokenOutput> token;
    std::optional<Finish> finish;
  };
  std::vector<Outgoing> outbox_;  // of this step, sent once its figures are published
  EngineMetrics counts_;          // copied to published_ by publish()

  mutable std::mutex metrics_mutex_;
  EngineMetrics published_;
  std::mutex join_mutex_;
  std::thread thread_;
};

}  // namespace headroom::engine
