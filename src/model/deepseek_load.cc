// Bringing a model up: config, plan, weights, buffers, cache.
#include <cstdlib>
#include <cstring>

#include "base/cpu.h"
#include "model/deepseek.h"

namespace headroom::model {

using base::ErrorCode;
using base::fail;
using base::Result;

void Deepseek::Free::operator()(std::byte* p) const {
  std::free(p);
}

Deepseek::Deepseek(Config config, const LoadOptions& options, base::ThreadPool& pool)
    : config_(std::move(config)), options_(options), limits_(options.limits), pool_(pool) {
  if (limits_.max_context == 0) limits_.max_context = config_.max_positions;
  options_.limits = limits_;
}

Result<std::unique_ptr<Deepseek>> Deepseek::load(const std::filesystem::path& directory,
                                                 const LoadOptions& options,
                                                 base::ThreadPool& pool) {
  HEADROOM_TRY(Config config, load_config(directory));
  if (options.parallel.tp != 1 || options.parallel.ep != 1)
    return fail(ErrorCode::kUnsupported,
                "tp {} ep {}: this build runs one rank; `headroom plan --tp N` shows any layout",
                options.parallel.tp, options.parallel.ep);
  const StepLimits& limits = options.limits;
  if (limits.max_tokens < 1 || limits.max_sequences < 1 || limits.max_logits_rows < 1)
    return fail(ErrorCode::kInvalidArgument,
                "limits of {} tokens, {} sequences, {} logits rows: each is at least 1",
                limits.max_tokens, limits.max_sequences, limits.max_logits_rows);
  std::unique_ptr<Deepseek> model(new Deepseek(std::move(config), options, pool));
  HEADROOM_TRY(model->plan_, make_plan(model->config_, model->options_));
  if (model->plan_.error) return tl::unexpected<base::Error>(*model->plan_.error);
  HEADROOM_TRY(model->rank_, shard(model->config_, options.parallel));
  HEADROOM_TRY(model->weights_, load_weights(directory, model->config_));
  HEADROOM_TRY_VOID(model->allocate());
  return model;
}

Result<> Deepseek::allocate() {
  runs_.assign(plan_.rows.size(), 0);
  rope_ = RopeTable(config_, limits_.max_context);
  scale_ = static_cast<float>(softmax_scale(config_));
  const int64_t page = options_.page_size;
  const int64_t pages_of_one = (limits_.max_context + page - 1) / page;
  const int64_t pages =
      options_.page_count > 0 ? options_.page_count : pages_of_one * limits_.max_sequences;
  const int64_t bytes = pages * page * config_.layers *
                        kernels::kv_row_bytes(options_.kv, config_.latent, config_.rope);
  const int64_t memory = base::cpu_info().memory_bytes;
  constexpr double kGiB = 1 << 30;
  const auto too_large = [&] {
    return fail(ErrorCode::kResourceExhausted,
                "cache of {} pages of {} rows needs {:.1f} GiB, this machine has {:.1f}; lower the "
                "sequences, the context or the pages",
                pages, page, static_cast<double>(bytes) / kGiB, static_cast<double>(memory) / kGiB);
  };
  if (pages > INT32_MAX || (memory > 0 && bytes > memory)) return too_large();
  options_.page_count = static_cast<int32_t>(pages);
  const auto size = static_cast<size_t>((bytes + 63) / 64 * 64);
  cache_.reset(static_cast<std::byte*>(std::aligned_alloc(64, size)));
  if (cache_ == nullptr) return too_large();
  // Touching it now makes sure of the memory; all ones are NaN in every row format, so a kernel
  // that reads a row it should not is heard.
  constexpr int64_t kBlock = int64_t{8} << 20;
  pool_.parallel_for((bytes + kBlock - 1) / kBlock, [&](int64_t task, int) {
    std::memset(cache_.get() + task * kBlock, 0xFF,
                static_cast<size_t>(std::min(kBlock, bytes - task * kBlock)));
  });

  StepBuffers& b = buffers_;
  const auto size_of = [](auto& vector, int64_t rows, int64_t width) {
    vector.resize(static_cast<size_t>(rows * width));
  };
  const int64_t tokens = limits_.max_tokens, heads = rank_.heads;
  size_of(b.hidden, tokens, config_.hidden);
  size_of(b.normed, tokens, config_.hidden);
  size_of(b.q_a, tokens, config_.q_lora);
  size_of(b.q, tokens, heads * config_.query_width());
  size_of(b.kv_a, tokens, config_.latent + config_.rope);
  // A sequence decodes at most max_query tokens a step.
  const int64_t decode =
      std::min<int64_t>(tokens, int64_t{limits_.max_sequences} * plan_.decode.desc.max_query);
  size_of(b.q_latent, decode, heads * (config_.latent + config_.rope));
  size_of(b.o_latent, decode, heads * config_.latent);
  size_of(b.attention, tokens, heads * config_.value);
  size_of(b.projected, tokens, config_.hidden);
  size_of(b.router_logits, tokens, config_.experts);
  size_of(b.expert_ids, tokens, config_.top_k);
  size_of(b.expert_weights, tokens, config_.top_k);
  size_of(b.last, limits_.max_logits_rows, config_.hidden);
  size_of(b.logits, limits_.max_logits_rows, config_.vocab);
  const int64_t scored = std::min(tokens, kScoreRows);
  size_of(b.scored, scored, config_.hidden);
  size_of(b.score_logits, scored, config_.vocab);
  size_of(b.ids, tokens, 1);
  size_of(b.positions, tokens, 1);
  b.logits_rows.reserve(static_cast<size_t>(limits_.max_logits_rows));
  for (auto* views : {&b.decode, &b.prefill, &b.all})
    views->reserve(static_cast<size_t>(limits_.max_sequences));
  b.first_rows.reserve(static_cast<size_t>(limits_.max_sequences));
  return {};
}

int64_t Deepseek::cache_bytes() const {
  return int64_t{options_.page_count} * options_.page_size * config_.layers *
         kernels::kv_row_bytes(options_.kv, config_.latent, config_.rope);
}

kernels::CacheView Deepseek::cache(int32_t layer) const {
  const int64_t row = kernels::kv_row_bytes(options_.kv, config_.latent, config_.rope);
  const int64_t layer_bytes = int64_t{options_.page_count} * options_.page_size * row;
  return {.base = cache_.get() + layer * layer_bytes,
          .row_bytes = row,
          .page_size = options_.page_size,
          .type = options_.kv,
          .latent = config_.latent,
          .rope = config_.rope};
}

Result<std::unique_ptr<StepModel>> load(const std::filesystem::path& directory,
                                        const LoadOptions& options, base::ThreadPool& pool) {
  HEADROOM_TRY(std::unique_ptr<StepModel> model, Deepseek::load(directory, options, pool));
  return model;
}

}  // namespace headroom::model
