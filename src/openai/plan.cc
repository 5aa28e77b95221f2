// GET /headroom/plan.
#include "openai/plan.h"

#include "base/cpu.h"
#include "base/json_writer.h"
#include "base/version.h"
#include "openai/service.h"

namespace headroom::openai {
namespace {

/// The kernel that runs attention while decoding, the figure that curves are told apart by.
std::string chosen_attention(const std::vector<kernels::OpChoice>& plan) {
  for (const kernels::OpChoice& op : plan) {
    if (op.op == "mla_decode") return op.chosen;
  }
  return {};
}

void write_ops(base::JsonWriter& json, const std::vector<kernels::OpChoice>& plan) {
  json.key("ops").begin_array();
  for (const kernels::OpChoice& op : plan) {
    json.begin_object().field("op", op.op).field("role", op.role);
    json.field("descriptor", op.descriptor).field("count", op.count).field("chosen", op.chosen);
    json.key("rows");
    if (op.logical_rows > 0) {
      json.begin_object()
          .field("logical", op.logical_rows)
          .field("kernel", op.kernel_rows)
          .end_object();
    } else {
      json.null();
    }
    json.key("refused").begin_array();
    for (const kernels::Refusal& refusal : op.refused) {
      json.begin_object()
          .field("kernel", refusal.kernel)
          .field("reason", kernels::reason_text(refusal.reason))
          .end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

}  // namespace

std::string plan_json(const PlanFacts& facts, const std::vector<kernels::OpChoice>& plan) {
  const base::CpuInfo& cpu = base::cpu_info();
  base::JsonWriter json;
  json.begin_object()
      .field("framework", "headroom")
      .field("version", base::kVersion)
      .field("model", facts.model)
      .field("source", facts.source);
  json.key("checkpoint_digest");
  if (facts.checkpoint_digest.empty()) {
    json.null();
  } else {
    json.value(facts.checkpoint_digest);
  }
  json.key("machine")
      .begin_object()
      .field("cpu", cpu.model)
      .field("cores", cpu.cores)
      .field("isa", cpu.isa)
      .field("memory_bytes", cpu.memory_bytes)
      .end_object();
  if (facts.vocab > 0) json.field("vocab_size", facts.vocab);
  if (!facts.precision.empty()) json.field("precision", facts.precision);
  json.field("kv", kernels::kv_type_name(facts.kv))
      .field("attention", chosen_attention(plan))
      .field("attention_asked", facts.attention);
  json.key("settings")
      .begin_object()
      .field("threads", facts.threads)
      .field("page_size", facts.page_size)
      .field("pages", facts.pages)
      .field("cache_bytes", facts.cache_bytes)
      .field("max_context", facts.max_context)
      .field("max_sequences", facts.engine.max_sequences)
      .field("max_step_tokens", facts.engine.max_step_tokens)
      .field("prefill_chunk", facts.engine.prefill_chunk)
      .field("max_waiting", facts.engine.max_waiting)
      .end_object();
  write_ops(json, plan);
  return json.end_object().take();
}

void add_plan(http::Router& router, std::shared_ptr<Service> service) {
  router.add("GET", "/headroom/plan", [service](const auto&, auto responder) {
    responder->reply({200, service->plan_json()});
  });
}

}  // namespace headroom::openai
