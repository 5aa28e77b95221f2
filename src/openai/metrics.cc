// GET /metrics: the engine's figures in Prometheus' text format, under vLLM's names.
#include <map>

#include "base/version.h"
#include "openai/metrics_text.h"
#include "openai/service.h"

namespace headroom::openai {
namespace {

std::string render(const Service& service) {
  const engine::EngineMetrics m = service.engine().metrics();
  MetricsText text({{"model_name", service.model().name}, {"engine", "0"}});
  const auto count = [](auto n) { return static_cast<double>(n); };

  text.gauge("vllm:num_requests_running", "Requests in the running batch.", count(m.running));
  text.gauge("vllm:num_requests_waiting", "Requests waiting to run.", count(m.waiting));
  text.gauge("vllm:kv_cache_usage_perc", "Share of the cache in use; 1 is all of it.",
             count(m.pages_used) / count(m.pages_total));
  text.counter("vllm:num_preemptions_total", "Requests that had to give way (never).", 0);
  text.counter("vllm:prompt_tokens_total", "Prompt tokens run.", count(m.prompt_tokens));
  text.counter("vllm:generation_tokens_total", "Tokens drawn.", count(m.generation_tokens));
  text.head("vllm:request_success_total", "Requests ended, by reason.", "counter");
  for (int i = 0; i < engine::kFinishReasons; ++i) {
    const auto reason = static_cast<engine::FinishReason>(i);
    text.sample("vllm:request_success_total", count(m.finished[static_cast<size_t>(i)]),
                {{"finished_reason", std::string(engine::finish_reason_name(reason))}});
  }
  text.counter("vllm:corrupted_requests_total", "Requests failed by logits that are not finite.",
               count(m.corrupted));
  text.histogram("vllm:iteration_tokens_total", "Tokens of a step.", m.step_tokens);
  text.histogram("vllm:request_prompt_tokens", "Prompt tokens of a request.",
                 m.request_prompt_tokens);
  text.histogram("vllm:request_generation_tokens", "Tokens drawn for a request.",
                 m.request_generation_tokens);
  text.histogram("vllm:request_params_max_tokens", "max_tokens of a request.",
                 m.request_max_tokens);
  text.histogram("vllm:time_to_first_token_seconds", "Arrival to first token.", m.ttft);
  text.histogram("vllm:inter_token_latency_seconds", "Time between tokens.", m.itl);
  text.histogram("vllm:request_time_per_output_token_seconds",
                 "Mean time per token of a request, the first excluded.", m.tpot);
  text.histogram("vllm:e2e_request_latency_seconds", "Arrival to end.", m.e2e);
  text.histogram("vllm:request_queue_time_seconds", "Arrival to admission.", m.queue_time);
  text.histogram("vllm:request_inference_time_seconds", "Admission to end.", m.inference_time);
  text.histogram("vllm:request_prefill_time_seconds", "Admission to first token.", m.prefill_time);
  text.histogram("vllm:request_decode_time_seconds", "First token to end.", m.decode_time);

  text.gauge("headroom_kv_pages_used", "Cache pages in use.", count(m.pages_used));
  text.gauge("headroom_kv_pages", "Cache pages.", count(m.pages_total));
  text.counter("headroom_steps_total", "Model steps.", count(m.steps));
  text.counter("headroom_step_seconds_total", "Time in steps.", m.step_seconds);
  text.counter("headroom_requests_rejected_total", "Requests refused: queue full or draining.",
               count(m.rejected));
  text.gauge("headroom_draining", "1 while no new request is taken.",
             service.engine().draining() ? 1 : 0);
  text.head("headroom_op_runs_total", "Runs of each op by the kernel that ran it.", "counter");
  // Ops of one kind (the projections) share a line: a sample may not come twice.
  std::map<std::pair<std::string, std::string>, uint64_t> runs;
  for (size_t i = 0; i < service.plan().size() && i < m.op_runs.size(); ++i)
    runs[{service.plan()[i].op, service.plan()[i].chosen}] += m.op_runs[i];
  for (const auto& [op, n] : runs)
    text.sample("headroom_op_runs_total", count(n), {{"op", op.first}, {"kernel", op.second}});
  text.head("headroom_build_info", "The program.", "gauge");
  text.sample("headroom_build_info", 1, {{"version", base::kVersion}});
  return text.take();
}

}  // namespace

void add_metrics(http::Router& router, std::shared_ptr<Service> service) {
  router.add("GET", "/metrics", [service](const auto&, auto responder) {
    responder->reply({200, render(*service), "text/plain; version=0.0.4; charset=utf-8"});
  });
}

}  // namespace headroom::openai
