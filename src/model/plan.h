// ModelPlan: every op of a model on one rank, its descriptor, and the kernel that will run it.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "kernels/gemm/desc.h"
#include "kernels/kv_cache.h"
#include "kernels/mla_decode/desc.h"
#include "kernels/mla_prefill/desc.h"
#include "kernels/moe/desc.h"
#include "kernels/norm_rope/desc.h"
#include "kernels/plan/kernel.h"
#include "kernels/router/desc.h"
#include "kernels/sample/desc.h"
#include "model/config.h"
#include "model/sharding.h"
#include "model/step_model.h"

namespace headroom::model {

/// What the plan depends on besides the model.
struct PlanOptions {
  kernels::KvType kv = kernels::KvType::kBf16;
  int32_t page_size = 16;
  StepLimits limits;  // max_context 0: the model's own
  kernels::Policy policy;
  Parallel parallel;
};

/// One op of the forward pass: what it is and who runs it. `row` is its line in the plan; null
/// kernel: the model has no such op, or nothing may take it (then ModelPlan::error says so).
template <typename Kernel, typename Desc>
struct PlannedOp {
  Desc desc;
  const Kernel* kernel = nullptr;
  size_t row = 0;
};
using GemmOp = PlannedOp<kernels::GemmKernel, kernels::GemmDesc>;
using MoeOp = PlannedOp<kernels::MoeKernel, kernels::MoeDesc>;
using RmsNormOp = PlannedOp<kernels::RmsNormKernel, kernels::RmsNormDesc>;

struct ModelPlan {
  std::vector<kernels::OpChoice> rows;  // in the order of the forward pass

  RmsNormOp hidden_norm, query_norm;
  GemmOp q_a, q_b, kv_a, absorb, expand, output, router_gemm, head;
  PlannedOp<kernels::RopeQueryKernel, kernels::RopeQueryDesc> rope_query;
  PlannedOp<kernels::KvWriteKernel, kernels::KvWriteDesc> kv_write;
  PlannedOp<kernels::MlaPrefillKernel, kernels::MlaPrefillDesc> prefill;
  PlannedOp<kernels::MlaDecodeKernel, kernels::MlaDecodeDesc> decode;
  PlannedOp<kernels::RouterKernel, kernels::RouterDesc> router;
  MoeOp dense, experts, shared;
  PlannedOp<kernels::SampleKernel, kernels::SampleDesc> sample;

  /// The first op that nothing may take. A model with one does not start.
  std::optional<base::Error> error;
};

/// Errors: an impossible layout or limit, a kernel name that does not exist. An op that no kernel
/// takes is in ModelPlan::error instead, so that the whole plan can still be shown.
base::Result<ModelPlan> make_plan(const Config& config, const PlanOptions& options);

}  // namespace headroom::model
