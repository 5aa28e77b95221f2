// Feeds one sequence and reads its logits.
#include "runner.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/rng.h"

namespace headroom::golden {

namespace {

constexpr int32_t kMaxTokens = 1024;

double log_sum_exp(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return top + std::log(sum);
}

}  // namespace

model::LoadOptions fast_options(kernels::KvType kv) {
  model::LoadOptions options;
  options.kv = kv;
  options.limits = {.max_tokens = kMaxTokens,
                    .max_sequences = 4,
                    .max_logits_rows = kMaxTokens,
                    .max_context = 1536};
  options.policy.allow_reference = true;  // so that the tests run on a machine without AVX2 too
  return options;
}

model::LoadOptions reference_options() {
  model::LoadOptions options = fast_options(kernels::KvType::kFp32);
  options.policy = {.attention = "reference", .others = "reference", .allow_reference = true};
  return options;
}

base::ThreadPool& pool() {
  static base::ThreadPool threads(1);  // ctest runs programs side by side
  return threads;
}

Runner::Runner(const std::string& directory, const model::LoadOptions& options) {
  auto loaded = model::Deepseek::load(directory, options, pool());
  HEADROOM_CHECK(loaded, "{}", loaded.error().message);
  model_ = std::move(*loaded);
  for (int32_t page = 0; page < model_->page_count(); ++page) pages_.push_back(page);
  base::Rng rng(5);  // a sequence's pages lie anywhere
  for (size_t i = pages_.size(); i > 1; --i) std::swap(pages_[i - 1], pages_[rng.below(i)]);
}

std::vector<float> Runner::prefill(std::span<const int32_t> ids, int chunk) {
  const auto most = static_cast<size_t>(chunk > 0 ? chunk : kMaxTokens);
  std::vector<float> logits;
  for (size_t begin = 0; begin < ids.size(); begin += most) {
    const auto part = ids.subspan(begin, std::min(most, ids.size() - begin));
    const model::StepSequence sequence{.tokens = part,
                                       .position = position_,
                                       .pages = pages_.data(),
                                       .logits = model::StepSequence::Logits::kAll};
    const auto rows = model_->step({&sequence, 1});
    logits.insert(logits.end(), rows.begin(), rows.end());
    position_ += static_cast<int32_t>(part.size());
  }
  return logits;
}

std::span<const float> Runner::decode(int32_t id) {
  const model::StepSequence sequence{.tokens = {&id, 1},
                                     .position = position_++,
                                     .pages = pages_.data(),
                                     .decode = true,
                                     .logits = model::StepSequence::Logits::kLast};
  return model_->step({&sequence, 1});
}

double logprob(std::span<const float> logits, int32_t id) {
  return logits[static_cast<size_t>(id)] - log_sum_exp(logits);
}

int32_t argmax(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double kl(std::span<const float> p, std::span<const float> q) {
  const double p_sum = log_sum_exp(p), q_sum = log_sum_exp(q);
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i)
    sum += std::exp(p[i] - p_sum) * ((p[i] - p_sum) - (q[i] - q_sum));
  return sum;
}

}  // namespace headroom::golden
