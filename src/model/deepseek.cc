// The forward pass: embed, layers of attention and experts, logits of the rows that need them.
#include "model/deepseek.h"

#include <cstring>

#include "base/check.h"

namespace headroom::model {

using kernels::SequenceView;
using tensor::bf16;

std::span<const float> Deepseek::step(std::span<const StepSequence> sequences) {
  gather(sequences);
  embed();
  for (int32_t layer = 0; layer < config_.layers; ++layer) {
    attention(layer);
    feed_forward(layer);
  }
  return output();
}

/// Lays out the step's rows: generated tokens first, so that the absorbed form sees one block.
void Deepseek::gather(std::span<const StepSequence> sequences) {
  StepBuffers& b = buffers_;
  HEADROOM_CHECK(std::ssize(sequences) <= limits_.max_sequences, "{} sequences, at most {}",
                 sequences.size(), limits_.max_sequences);
  b.decode.clear();
  b.prefill.clear();
  b.all.clear();
  b.first_rows.resize(sequences.size());
  int32_t row = 0;
  for (const bool decode : {true, false}) {
    for (size_t i = 0; i < sequences.size(); ++i) {
      const StepSequence& s = sequences[i];
      if (s.decode != decode) continue;
      const auto count = static_cast<int32_t>(s.tokens.size());
      HEADROOM_CHECK(row + count <= limits_.max_tokens, "{} new tokens, at most {}", row + count,
                     limits_.max_tokens);
      HEADROOM_CHECK(!decode || count <= plan_.decode.desc.max_query, "{} tokens to decode", count);
      HEADROOM_CHECK(s.position >= 0 && s.position + count <= limits_.max_context,
                     "positions {} to {} of a context of {}", s.position, s.position + count,
                     limits_.max_context);
      const SequenceView view{s.pages, s.position + count, count, row};
      (decode ? b.decode : b.prefill).push_back(view);
      b.all.push_back(view);
      b.first_rows[i] = row;
      for (int32_t t = 0; t < count; ++t) {
        const int32_t id = s.tokens[static_cast<size_t>(t)];
        HEADROOM_CHECK(id >= 0 && id < config_.vocab, "token {} of {}", id, config_.vocab);
        b.ids[static_cast<size_t>(row + t)] = id;
        b.positions[static_cast<size_t>(row + t)] = s.position + t;
      }
      row += count;
    }
    if (decode) decode_tokens_ = row;
  }
  tokens_ = row;

  b.logits_rows.clear();
  for (size_t i = 0; i < sequences.size(); ++i) {
    const auto count = static_cast<int32_t>(sequences[i].tokens.size());
    if (sequences[i].logits == StepSequence::Logits::kNone) continue;
    const bool all = sequences[i].logits == StepSequence::Logits::kAll;
    for (int32_t t = all ? 0 : count - 1; t < count; ++t)
      b.logits_rows.push_back(b.first_rows[i] + t);
  }
  HEADROOM_CHECK(std::ssize(b.logits_rows) <= limits_.max_logits_rows, "{} logits rows, at most {}",
                 b.logits_rows.size(), limits_.max_logits_rows);
}

void Deepseek::embed() {
  const int64_t hidden = config_.hidden;
  pool_.parallel_for(tokens_, [&](int64_t row, int) {
    const bf16* from = weights_.embedding + buffers_.ids[static_cast<size_t>(row)] * hidden;
    float* to = buffers_.hidden.data() + row * hidden;
    for (int64_t i = 0; i < hidden; ++i) to[i] = tensor::bf16_to_float(from[i]);
  });
}

void Deepseek::attention(int32_t layer) {
  StepBuffers& b = buffers_;
  const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
  const int64_t hidden = config_.hidden, heads = rank_.heads, latent = config_.latent,
                rope = config_.rope, query = config_.query_width(), value = config_.value;

  norm(plan_.hidden_norm, w.input_norm, b.hidden.data(), b.normed.data(), tokens_);
  const float* q_in = b.normed.data();
  int64_t q_width = hidden;
  if (config_.q_lora > 0) {
    q_width = config_.q_lora;
    gemm(plan_.q_a, w.q_a,
         {.x = b.normed.data(),
          .x_stride = hidden,
          .y = b.q_a.data(),
          .y_stride = q_width,
          .m = tokens_});
    norm(plan_.query_norm, w.q_a_norm, b.q_a.data(), b.q_a.data(), tokens_);
    q_in = b.q_a.data();
  }
  gemm(plan_.q_b, w.q_b,
       {.x = q_in, .x_stride = q_width, .y = b.q.data(), .y_stride = heads * query, .m = tokens_});
  gemm(plan_.kv_a, w.kv_a,
       {.x = b.normed.data(),
        .x_stride = hidden,
        .y = b.kv_a.data(),
        .y_stride = latent + rope,
        .m = tokens_});

  count(plan_.rope_query.row);
  plan_.rope_query.kernel->run(
      plan_.rope_query.desc,
      {.q = b.q.data(), .positions = b.positions.data(), .tables = rope_.view(), .rows = tokens_},
      pool_);
  const kernels::CacheView cache_view = cache(layer);
  count(plan_.kv_write.row);
  plan_.kv_write.kernel->run(plan_.kv_write.desc,
                             {.kv_a = b.kv_a.data(),
                              .kv_a_stride = latent + rope,
                              .weight = w.kv_a_norm,
                              .eps = config_.rms_eps,
                              .tables = rope_.view(),
                              .cache = cache_view,
                              .sequences = b.all},
                             pool_);
  if (!b.prefill.empty()) {
    count(plan_.prefill.row);
    plan_.prefill.kernel->run(plan_.prefill.desc,
                              {.q = b.q.data(),
                               .kv_b = w.kv_b,
                               .out = b.attention.data(),
                               .cache = cache_view,
                               .sequences = b.prefill,
                               .scale = scale_},
                              pool_);
  }
  if (!b.decode.empty()) {
    gemm(plan_.absorb, w.w_uk.data(),
         {.x = b.q.data(),
          .x_stride = heads * query,
          .x_batch = query,
          .y = b.q_latent.data(),
          .y_stride = heads * (latent + rope),
          .y_batch = latent + rope,
          .m = decode_tokens_});
    pool_.parallel_for(decode_tokens_, [&](int64_t row, int) {
      for (int64_t h = row * heads; h < (row + 1) * heads; ++h)
        std::memcpy(b.q_latent.data() + h * (latent + rope) + latent,
                    b.q.data() + h * query + config_.nope,
                    static_cast<size_t>(rope) * sizeof(float));
    });
    count(plan_.decode.row);
    plan_.decode.kernel->run(plan_.decode.desc,
                             {.q = b.q_latent.data(),
                              .out = b.o_latent.data(),
                              .cache = cache_view,
                              .sequences = b.decode,
                              .scale = scale_},
                             pool_);
    gemm(plan_.expand, w.w_uv.data(),
         {.x = b.o_latent.data(),
          .x_stride = heads * latent,
          .x_batch = latent,
          .y = b.attention.data(),
          .y_stride = heads * value,
          .y_batch = value,
          .m = decode_tokens_});
  }
  gemm(plan_.output, w.o,
       {.x = b.attention.data(),
        .x_stride = heads * value,
        .y = b.projected.data(),
        .y_stride = hidden,
        .m = tokens_});
  add(b.projected.data(), b.hidden.data(), tokens_ * hidden);
}

void Deepseek::feed_forward(int32_t layer) {
  StepBuffers& b = buffers_;
  const LayerWeights& w = weights_.layers[static_cast<size_t>(layer)];
  norm(plan_.hidden_norm, w.post_norm, b.hidden.data(), b.normed.data(), tokens_);
  kernels::MoeArgs args{
      .x = b.normed.data(), .y = b.hidden.data(), .add = true, .experts = w.mlp, .tokens = tokens_};
  if (!config_.is_moe(layer)) return mlp(plan_.dense, args);

  const int64_t experts = config_.experts;
  const float* bias = w.router_bias.empty() ? nullptr : w.router_bias.data();
  gemm(plan_.router_gemm, w.router,
       {.x = b.normed.data(),
        .x_stride = config_.hidden,
        .y = b.router_logits.data(),
        .y_stride = experts,
        .m = tokens_});
  count(plan_.router.row);
  plan_.router.kernel->run(plan_.router.desc,
                           {.logits = b.router_logits.data(),
                            .bias = bias,
                            .ids = b.expert_ids.data(),
                            .weights = b.expert_weights.data(),
                            .tokens = tokens_},
                           pool_);
  if (trace_ != nullptr) {
    for (int64_t t = 0; t < tokens_; ++t) {
      const int32_t* ids = b.expert_ids.data() + t * config_.top_k;
      RoutingRow row{.layer = layer, .position = b.positions[static_cast<size_t>(t)]};
      row.experts.assign(ids, ids + config_.top_k);
      std::sort(row.experts.begin(), row.experts.end());
      row.choice = choice_values(plan_.router.desc, b.router_logits.data() + t * experts, bias);
      row.gap = routing_gap(plan_.router.desc, row.choice);
      trace_->push_back(std::move(row));
    }
  }
  args.ids = b.expert_ids.data();
  args.weights = b.expert_weights.data();
  mlp(plan_.experts, args);
  if (w.shared.empty()) return;
  args.ids = nullptr;
  args.weights = nullptr;
  args.experts = w.shared;
  mlp(plan_.shared, args);
}

std::span<const float> Deepseek::output() {
  StepBuffers& b = buffers_;
  const int64_t rows = std::ssize(b.logits_rows), hidden = config_.hidden;
  if (rows == 0) return {};
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(b.last.data() + i * hidden,
                b.hidden.data() + b.logits_rows[static_cast<size_t>(i)] * hidden,
                static_cast<size_t>(hidden) * sizeof(float));
  head(b.last.data(), b.logits.data(), rows);
  return {b.logits.data(), static_cast<size_t>(rows) * static_cast<size_t>(config_.vocab)};
}

/// Logits of `rows` hidden rows, which are normed in place.
void Deepseek::head(float* hidden, float* logits, int64_t rows) {
  norm(plan_.hidden_norm, weights_.final_norm, hidden, hidden, rows);
  gemm(
      plan_.head, weights_.head,
      {.x = hidden, .x_stride = config_.hidden, .y = logits, .y_stride = config_.vocab, .m = rows});
}

void Deepseek::score(size_t sequence, int32_t first, std::span<const int32_t> targets, int32_t top,
                     std::span<TokenScore> scores) {
  StepBuffers& b = buffers_;
  HEADROOM_CHECK(sequence < b.first_rows.size() && first >= 0 && scores.size() == targets.size(),
                 "sequence {}, token {}, {} scores for {} targets", sequence, first, scores.size(),
                 targets.size());
  const int64_t start = b.first_rows[sequence] + first, count = std::ssize(targets);
  HEADROOM_CHECK(start + count <= tokens_, "rows {} to {} of {}", start, start + count, tokens_);
  const int64_t hidden = config_.hidden, vocab = config_.vocab;
  const int64_t most = std::min<int64_t>(kScoreRows, limits_.max_tokens);
  for (int64_t begin = 0; begin < count; begin += most) {
    const int64_t rows = std::min(most, count - begin);
    std::memcpy(b.scored.data(), b.hidden.data() + (start + begin) * hidden,
                static_cast<size_t>(rows * hidden) * sizeof(float));
    head(b.scored.data(), b.score_logits.data(), rows);
    pool_.parallel_for(rows, [&](int64_t row, int) {
      const auto at = static_cast<size_t>(begin + row);
      scores[at] = score_token({b.score_logits.data() + row * vocab, static_cast<size_t>(vocab)},
                               targets[at], top);
    });
  }
}

void Deepseek::sample(const float* logits, std::span<const kernels::SampleParams> params,
                      std::span<kernels::SampleResult> results) {
  HEADROOM_CHECK(params.size() == results.size(), "{} params for {} results", params.size(),
                 results.size());
  count(plan_.sample.row);
  plan_.sample.kernel->run(plan_.sample.desc,
                           {.logits = logits,
                            .params = params.data(),
                            .results = results.data(),
                            .rows = std::ssize(params)},
                           pool_);
}

void Deepseek::norm(const RmsNormOp& op, const bf16* weight, const float* x, float* y,
                    int64_t rows) {
  count(op.row);
  op.kernel->run(op.desc,
                 {.x = x,
                  .x_stride = op.desc.width,
                  .weight = weight,
                  .y = y,
                  .y_stride = op.desc.width,
                  .rows = rows,
                  .eps = config_.rms_eps},
                 pool_);
}

void Deepseek::gemm(const GemmOp& op, const void* w, kernels::GemmArgs args) {
  count(op.row);
  args.w = w;
  op.kernel->run(op.desc, args, pool_);
}

void Deepseek::mlp(const MoeOp& op, const kernels::MoeArgs& args) {
  count(op.row);
  op.kernel->run(op.desc, args, pool_);
}

void Deepseek::add(const float* x, float* y, int64_t count) {
  constexpr int64_t kBlock = 16384;  // 64 KiB of each: more than a task costs to hand out
  pool_.parallel_for((count + kBlock - 1) / kBlock, [&](int64_t task, int) {
    const int64_t end = std::min(count, (task + 1) * kBlock);
    for (int64_t i = task * kBlock; i < end; ++i) y[i] += x[i];
  });
}

}  // namespace headroom::model
