// Walks the forward pass once and asks each op's kernel list.
#include "model/plan.h"

namespace headroom::model {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

class Planner {
 public:
  Planner(const PlanOptions& options, ModelPlan& plan) : options_(options), plan_(plan) {}

  template <typename Kernel, typename Desc>
  void add(std::string_view op, std::string_view role, int count, std::span<const Kernel> list,
           PlannedOp<Kernel, Desc>& planned, bool attention = false) {
    if (count == 0) return;
    kernels::OpChoice choice;
    choice.count = count;
    choice.role = role;
    const std::string& asked = attention ? options_.policy.attention : options_.policy.others;
    auto chosen =
        kernels::choose(op, asked, options_.policy.allow_reference, list, planned.desc, choice);
    planned.row = plan_.rows.size();
    if (chosen) {
      planned.kernel = *chosen;
    } else if (chosen.error().code == ErrorCode::kInvalidArgument) {
      if (!bad_name_) bad_name_ = chosen.error();
    } else if (!plan_.error) {
      plan_.error = chosen.error();
    }
    plan_.rows.push_back(std::move(choice));
  }

  void gemm(std::string_view role, int count, int32_t n, int32_t k, int32_t batch, GemmOp& op) {
    op.desc = {.n = n, .k = k, .batch = batch};
    add("gemm", role, count, kernels::gemm_kernels(), op);
  }

  void moe(std::string_view role, int count, kernels::MoeDesc desc, MoeOp& op) {
    desc.max_tokens = options_.limits.max_tokens;
    op.desc = desc;
    add("moe", role, count, kernels::moe_kernels(), op);
  }

  /// Attention rows say how many heads there are and how many rows the kernel computes for them.
  template <typename Op, typename Rows>
  void set_rows(Op& op, Rows rows_of) {
    kernels::OpChoice& choice = plan_.rows[op.row];
    choice.logical_rows = op.desc.heads;
    if (op.kernel == nullptr) return;
    op.desc.kernel_rows = rows_of(op.kernel->name, op.desc);
    choice.kernel_rows = op.desc.kernel_rows;
    choice.descriptor = op.desc.text();  // now with the kernel's rows
  }

  const std::optional<base::Error>& bad_name() const { return bad_name_; }

 private:
  const PlanOptions& options_;
  ModelPlan& plan_;
  std::optional<base::Error> bad_name_;
};

void plan_attention(Planner& planner, const Config& c, const RankShape& rank,
                    const PlanOptions& options, ModelPlan& plan) {
  const int32_t query = rank.heads * c.query_width();
  if (c.q_lora > 0) {
    planner.gemm("q_a", c.layers, c.q_lora, c.hidden, 1, plan.q_a);
    plan.query_norm.desc = {.width = c.q_lora};
    planner.add("rms_norm", "q_a_norm", c.layers, kernels::rms_norm_kernels(), plan.query_norm);
  }
  planner.gemm(c.q_lora > 0 ? "q_b" : "q", c.layers, query, c.q_lora > 0 ? c.q_lora : c.hidden, 1,
               plan.q_b);
  planner.gemm("kv_a", c.layers, c.latent + c.rope, c.hidden, 1, plan.kv_a);
  plan.rope_query.desc = {.heads = rank.heads, .nope = c.nope, .rope = c.rope};
  planner.add("rope_query", "queries", c.layers, kernels::rope_query_kernels(), plan.rope_query);
  plan.kv_write.desc = {
      .latent = c.latent, .rope = c.rope, .kv = options.kv, .page_size = options.page_size};
  planner.add("kv_write", "cache rows", c.layers, kernels::kv_write_kernels(), plan.kv_write);
  plan.prefill.desc = {.heads = rank.heads,
                       .latent = c.latent,
                       .nope = c.nope,
                       .rope = c.rope,
                       .value = c.value,
                       .kv = options.kv,
                       .page_size = options.page_size,
                       .max_tokens = options.limits.max_tokens,
                       .max_length = options.limits.max_context};
  planner.add("mla_prefill", "prompt tokens", c.layers, kernels::mla_prefill_kernels(),
              plan.prefill, true);
  planner.set_rows(plan.prefill, kernels::mla_prefill_kernel_rows);
  planner.gemm("absorb W_UK", c.layers, c.latent, c.nope, rank.heads, plan.absorb);
  plan.decode.desc = {.heads = rank.heads,
                      .latent = c.latent,
                      .rope = c.rope,
                      .kv = options.kv,
                      .page_size = options.page_size,
                      .max_query = 1,
                      .max_batch = options.limits.max_sequences,
                      .max_length = options.limits.max_context};
  planner.add("mla_decode", "generated tokens", c.layers, kernels::mla_decode_kernels(),
              plan.decode, true);
  planner.set_rows(plan.decode, kernels::mla_decode_kernel_rows);
  planner.gemm("expand W_UV", c.layers, c.value, c.latent, rank.heads, plan.expand);
  planner.gemm("o", c.layers, c.hidden, rank.heads * c.value, 1, plan.output);
}

}  // namespace

Result<ModelPlan> make_plan(const Config& c, const PlanOptions& asked) {
  PlanOptions options = asked;
  StepLimits& limits = options.limits;
  if (limits.max_context == 0) limits.max_context = c.max_positions;
  if (limits.max_context < 1 || limits.max_context > c.max_positions)
    return fail(ErrorCode::kInvalidArgument,
                "context {}: {} allows 1 to {} (`max_position_embeddings`)", limits.max_context,
                c.source, c.max_positions);
  if (options.page_size < 1)
    return fail(ErrorCode::kInvalidArgument, "page size {}: at least 1 row", options.page_size);
  if (options.kv == kernels::KvType::kFp8 && c.latent % 128 != 0)
    return fail(ErrorCode::kUnsupported,
                "{}: fp8 cache rows need `kv_lora_rank` to be a multiple of 128, it is {}",
                c.source, c.latent);
  HEADROOM_TRY(const RankShape rank, shard(c, options.parallel));

  ModelPlan plan;
  Planner planner(options, plan);
  const int moe_layers = c.moe_layers();
  plan.hidden_norm.desc = {.width = c.hidden};
  planner.add("rms_norm", "hidden", 2 * c.layers + 1, kernels::rms_norm_kernels(),
              plan.hidden_norm);
  plan_attention(planner, c, rank, options, plan);
  planner.moe("dense MLP", c.layers - moe_layers, {.hidden = c.hidden, .inter = rank.dense_inter},
              plan.dense);
  if (moe_layers > 0) {
    planner.gemm("router", moe_layers, c.experts, c.hidden, 1, plan.router_gemm);
    plan.router.desc = c.router();
    planner.add("router", "choice", moe_layers, kernels::router_kernels(), plan.router);
    planner.moe(
        "experts", moe_layers,
        {.hidden = c.hidden, .inter = rank.expert_inter, .experts = rank.experts, .top_k = c.top_k},
        plan.experts);
    if (c.shared_experts > 0)
      planner.moe("shared expert", moe_layers, {.hidden = c.hidden, .inter = rank.shared_inter},
                  plan.shared);
  }
  planner.gemm("lm_head", 1, rank.vocab, c.hidden, 1, plan.head);
  plan.sample.desc = {.vocab = c.vocab};
  planner.add("sample", "tokens", 1, kernels::sample_kernels(), plan.sample);
  if (planner.bad_name()) return tl::unexpected<base::Error>(*planner.bad_name());
  return plan;
}

}  // namespace headroom::model
