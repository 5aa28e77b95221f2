// Deepseek: the forward pass of DeepSeek-V2/V3 and Kimi-K2 models on one rank.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/config.h"
#include "model/plan.h"
#include "model/rope.h"
#include "model/routing_trace.h"
#include "model/step_model.h"
#include "model/weights.h"

namespace headroom::model {

struct LoadOptions : PlanOptions {
  /// Pages of the cache; 0: enough for max_sequences sequences of max_context tokens.
  int32_t page_count = 0;
};

/// Prompt tokens that are scored at once: a block reads the whole output matrix.
inline constexpr int64_t kScoreRows = 64;

/// Buffers of one step, sized once; matrices are row-major with one row per new token.
struct StepBuffers {
  std::vector<float> hidden, normed;        // [tokens, hidden]
  std::vector<float> q_a;                   // [tokens, q_lora]
  std::vector<float> q;                     // [tokens, heads, nope + rope]
  std::vector<float> kv_a;                  // [tokens, latent + rope]
  std::vector<float> q_latent;              // [tokens, heads, latent + rope]
  std::vector<float> o_latent;              // [tokens, heads, latent]
  std::vector<float> attention;             // [tokens, heads, value]
  std::vector<float> projected;             // [tokens, hidden]
  std::vector<float> router_logits;         // [tokens, experts]
  std::vector<int32_t> expert_ids;          // [tokens, top_k]
  std::vector<float> expert_weights;        // [tokens, top_k]
  std::vector<float> last, logits;          // [logits rows, hidden], [logits rows, vocab]
  std::vector<float> scored, score_logits;  // the same for a block of prompt tokens to score
  std::vector<int32_t> ids, positions;      // [tokens]
  std::vector<int32_t> logits_rows;         // step rows that need logits, in the caller's order
  std::vector<int32_t> first_rows;          // [sequences]
  std::vector<kernels::SequenceView> decode, prefill, all;
};

class Deepseek final : public StepModel {
 public:
  /// Checks the config, makes the plan, loads the weights, allocates and touches the cache. `pool`
  /// must outlive the model.
  static base::Result<std::unique_ptr<Deepseek>> load(const std::filesystem::path& directory,
                                                      const LoadOptions& options,
                                                      base::ThreadPool& pool);

  int32_t vocab_size() const override { return config_.vocab; }
  const StepLimits& limits() const override { return limits_; }
  int32_t page_size() const override { return options_.page_size; }
  int32_t page_count() const override { return options_.page_count; }
  const std::vector<kernels::OpChoice>& plan() const override { return plan_.rows; }
  std::span<const uint64_t> op_runs() const override { return runs_; }
  std::span<const float> step(std::span<const StepSequence> sequences) override;
  void score(size_t sequence, int32_t first, std::span<const int32_t> targets, int32_t top,
             std::span<TokenScore> scores) override;
  void sample(const float* logits, std::span<const kernels::SampleParams> params,
              std::span<kernels::SampleResult> results) override;

  const Config& config() const { return config_; }
  /// Bytes of the whole cache.
  int64_t cache_bytes() const;
  /// Diagnostics: while set, every router run appends to `trace` (and allocates). Null ends it.
  void trace_routing(RoutingTrace* trace) { trace_ = trace; }

 private:
  Deepseek(Config config, const LoadOptions& options, base::ThreadPool& pool);
  base::Result<> allocate();

  void gather(std::span<const StepSequence> sequences);
  void embed();
  void attention(int32_t layer);
  void feed_forward(int32_t layer);
  std::span<const float> output();
  void head(float* hidden, float* logits, int64_t rows);

  kernels::CacheView cache(int32_t layer) const;
  void norm(const RmsNormOp& op, const tensor::bf16* weight, const float* x, float* y,
            int64_t rows);
  void gemm(const GemmOp& op, const void* w, kernels::GemmArgs args);
  void mlp(const MoeOp& op, const kernels::MoeArgs& args);
  void add(const float* x, float* y, int64_t count);
  void count(size_t row) { ++runs_[row]; }

  Config config_;
  LoadOptions options_;
  StepLimits limits_;
  RankShape rank_;
  base::ThreadPool& pool_;
  ModelPlan plan_;
  std::vector<uint64_t> runs_;
  Weights weights_;
  RopeTable rope_;
  float scale_ = 0;
  struct Free {
    void operator()(std::byte* p) const;
  };
  std::unique_ptr<std::byte[], Free> cache_;
  StepBuffers buffers_;
  int64_t tokens_ = 0;         // of the step at hand
  int64_t decode_tokens_ = 0;  // its first rows
  RoutingTrace* trace_ = nullptr;
};

/// The model in `directory`, ready to run.
base::Result<std::unique_ptr<StepModel>> load(const std::filesystem::path& directory,
                                              const LoadOptions& options, base::ThreadPool& pool);

}  // namespace headroom::model
