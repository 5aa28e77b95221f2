// Runner: one sequence through a model, its pages in a scrambled order, for golden comparisons.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "model/deepseek.h"

namespace headroom::golden {

/// The all-reference path with fp32 cache rows.
model::LoadOptions reference_options();
/// The path that is chosen by itself.
model::LoadOptions fast_options(kernels::KvType kv);

base::ThreadPool& pool();

/// Aborts the test program when the model cannot be loaded; tests check existence first.
class Runner {
 public:
  Runner(const std::string& directory, const model::LoadOptions& options);

  model::Deepseek& model() { return *model_; }
  /// Starts again at position 0.
  void reset() { position_ = 0; }
  /// Feeds prompt tokens and gives the logits of each, [ids, vocab]. Parts of at most `chunk` (0:
  /// the limit of a step).
  std::vector<float> prefill(std::span<const int32_t> ids, int chunk = 0);
  /// Feeds one generated token and gives its logits.
  std::span<const float> decode(int32_t id);

 private:
  std::unique_ptr<model::Deepseek> model_;
  std::vector<int32_t> pages_;
  int32_t position_ = 0;
};

/// log softmax of a row at `id`, in double.
double logprob(std::span<const float> logits, int32_t id);
int32_t argmax(std::span<const float> logits);
/// KL divergence of softmax(q) from softmax(p), Σ p (log p - log q).
double kl(std::span<const float> p, std::span<const float> q);

}  // namespace headroom::golden
