// The plan: complete, exact for any rank, and honest about what nothing takes.
#include "model/plan.h"

#include <gmock/gmock.h>

#include <map>

#include "base/cpu.h"

namespace headroom::model {
namespace {

using ::testing::HasSubstr;

Config shape(const std::string& path) {
  return *load_config(std::string(HEADROOM_SOURCE_DIR) + "/" + path);
}

PlanOptions options(int32_t tp = 1) {
  PlanOptions out;
  out.limits = {.max_tokens = 512, .max_sequences = 64, .max_logits_rows = 64};
  out.policy.allow_reference = true;
  out.parallel.tp = tp;
  return out;
}

TEST(Plan, HasEveryOpOfTheForwardPass) {
  const auto plan = make_plan(shape("models/tiny-mla"), options());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_FALSE(plan->error);
  std::map<std::string, int> counts;
  for (const kernels::OpChoice& row : plan->rows) {
    counts[row.op] += row.count;
    EXPECT_FALSE(row.chosen.empty());
    EXPECT_THAT(row.descriptor, HasSubstr(row.op));
  }
  const std::map<std::string, int> expected = {
      {"rms_norm", 9 + 4}, {"gemm", 4 * 6 + 3 + 1}, {"rope_query", 4},
      {"kv_write", 4},     {"mla_prefill", 4},      {"mla_decode", 4},
      {"moe", 1 + 3 + 3},  {"router", 3},           {"sample", 1}};
  EXPECT_EQ(counts, expected);
}

TEST(Plan, QueryWithoutRankHasOneProjection) {
  const auto plan = make_plan(shape("perf/shapes/deepseek-v2-lite.json"), options());
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->q_a.kernel, nullptr);
  EXPECT_EQ(plan->q_b.desc.k, 2048);
  EXPECT_EQ(plan->q_b.desc.n, 16 * 192);
  EXPECT_EQ(plan->shared.desc.inter, 2 * 1408);  // two shared experts fused into one
}

TEST(Plan, DescriptorsAreExactForEveryRankCount) {
  for (const auto& [name, heads] : {std::pair("deepseek-v3", 128), std::pair("kimi-k2.5", 64)}) {
    const Config config = shape(fmt::format("perf/shapes/{}.json", name));
    for (int32_t tp = 1; tp <= 16; ++tp) {
      const auto plan = make_plan(config, options(tp));
      ASSERT_EQ(plan.has_value(), heads % tp == 0) << name << " tp " << tp;
      if (!plan) continue;
      EXPECT_EQ(plan->decode.desc.heads, heads / tp);
      EXPECT_EQ(plan->prefill.desc.heads, heads / tp);
      EXPECT_EQ(plan->q_b.desc.n, heads / tp * 192);
      EXPECT_EQ(plan->kv_a.desc.n, 576);  // replicated
      EXPECT_EQ(plan->output.desc.k, heads / tp * 128);
      EXPECT_EQ(plan->experts.desc.inter, 2048 / tp);
      EXPECT_EQ(plan->experts.desc.experts, config.experts);
      EXPECT_EQ(plan->router_gemm.desc.n, config.experts);
      const kernels::OpChoice& decode = plan->rows[plan->decode.row];
      EXPECT_EQ(decode.logical_rows, heads / tp);
      EXPECT_GE(decode.kernel_rows, decode.logical_rows);
    }
  }
}

TEST(Plan, ExplicitReferenceForcesTheTwoAttentionOpsOnly) {
  PlanOptions o = options();
  o.policy.attention = "reference";
  const auto plan = make_plan(shape("models/tiny-mla"), o);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->rows[plan->decode.row].chosen, "reference");
  EXPECT_EQ(plan->rows[plan->prefill.row].chosen, "reference");
  if (base::cpu_features().avx2) {
    EXPECT_NE(plan->rows[plan->head.row].chosen, "reference");
  }
}

TEST(Plan, AnOpThatNothingTakesIsNamedAndTheRestStillPlanned) {
  PlanOptions o = options();
  o.policy.allow_reference = false;
  Config config = shape("models/tiny-mla");
  config.rope = 40;  // no tuned kernel rotates it
  const auto plan = make_plan(config, o);
  ASSERT_TRUE(plan);
  ASSERT_TRUE(plan->error);
  EXPECT_EQ(plan->error->code, base::ErrorCode::kUnsupported);
  EXPECT_THAT(plan->error->message, HasSubstr("reference: the portable reference serves only"));
  EXPECT_THAT(plan->error->message, HasSubstr("rope=40"));
  EXPECT_EQ(plan->rows.back().op, "sample");
  EXPECT_TRUE(plan->rows[plan->decode.row].chosen.empty());
  o.policy.allow_reference = true;
  EXPECT_FALSE(make_plan(config, o)->error);
}

/// The promise: no published model, at no rank count, with no cache type, falls to the reference.
TEST(Plan, NothingPublishedFallsToTheReference) {
  if (!base::cpu_features().avx2) GTEST_SKIP() << "this machine has no AVX2";
  int plans = 0;
  for (const char* name :
       {"deepseek-v2-lite", "deepseek-v3", "kimi-k2", "kimi-k2.5", "moonlight"}) {
    const Config config = shape(fmt::format("perf/shapes/{}.json", name));
    for (int32_t tp = 1; tp <= 16; ++tp) {
      for (const auto kv :
           {kernels::KvType::kFp32, kernels::KvType::kBf16, kernels::KvType::kFp8}) {
        PlanOptions o = options(tp);
        o.policy.allow_reference = false;
        o.kv = kv;
        const auto plan = make_plan(config, o);
        if (!plan) continue;  // heads do not divide
        EXPECT_FALSE(plan->error) << name << " tp " << tp << ": " << plan->error->message;
        ++plans;
      }
    }
  }
  EXPECT_EQ(plans, 5 * 5 * 3);  // tp 1, 2, 4, 8, 16
}

TEST(Plan, UnknownKernelNamesAndLimitsAreRefused) {
  const Config config = shape("models/tiny-mla");
  PlanOptions o = options();
  o.policy.attention = "avx9000";
  EXPECT_THAT(make_plan(config, o).error().message, HasSubstr("no kernel is called `avx9000`"));
  o = options();
  o.limits.max_context = 4097;
  EXPECT_THAT(make_plan(config, o).error().message, HasSubstr("context 4097"));
  o = options(3);
  EXPECT_THAT(make_plan(config, o).error().message, HasSubstr("8 heads"));
}

}  // namespace
}  // namespace headroom::model
