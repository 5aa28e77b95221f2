// Which rows and columns a rank holds.
#include "model/sharding.h"

namespace headroom::model {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

struct Range {
  int64_t begin, end;
};

/// Part `index` of `parts` of [0, size), as even as can be.
Range part(int64_t size, int64_t index, int64_t parts) {
  return {size * index / parts, size * (index + 1) / parts};
}

}  // namespace

Result<RankShape> shard(const Config& config, const Parallel& p) {
  if (p.tp < 1) return fail(ErrorCode::kInvalidArgument, "tp {}: at least 1 rank is needed", p.tp);
  if (p.rank < 0 || p.rank >= p.tp)
    return fail(ErrorCode::kInvalidArgument, "rank {}: tp {} has ranks 0 to {}", p.rank, p.tp,
                p.tp - 1);
  if (p.ep < 1 || p.tp % p.ep != 0)
    return fail(ErrorCode::kInvalidArgument, "ep {}: does not divide tp {}", p.ep, p.tp);
  const auto divides = [&](const char* what, int64_t width, int64_t ranks) -> Result<> {
    if (width % ranks == 0) return {};
    return fail(ErrorCode::kInvalidArgument, "{}: tp {} ep {}: {} {} do not divide by {}",
                config.source, p.tp, p.ep, width, what, ranks);
  };
  const int32_t inner = p.tp / p.ep;  // ranks that divide one expert
  const int32_t shared = config.shared_experts * config.expert_inter;
  HEADROOM_TRY_VOID(divides("heads (num_attention_heads)", config.heads, p.tp));
  HEADROOM_TRY_VOID(divides("dense widths (intermediate_size)", config.dense_inter, p.tp));
  HEADROOM_TRY_VOID(divides("experts (n_routed_experts)", config.experts, p.ep));
  HEADROOM_TRY_VOID(divides("expert widths (moe_intermediate_size)", config.expert_inter, inner));
  HEADROOM_TRY_VOID(divides("shared expert widths", shared, p.tp));
  RankShape shape;
  shape.heads = config.heads / p.tp;
  shape.dense_inter = config.dense_inter / p.tp;
  shape.experts = config.experts / p.ep;
  shape.first_expert = p.rank / inner * shape.experts;
  shape.expert_inter = config.expert_inter / inner;
  shape.shared_inter = shared / p.tp;
  const Range vocab = part(config.vocab, p.rank, p.tp);
  shape.first_vocab = static_cast<int32_t>(vocab.begin);
  shape.vocab = static_cast<int32_t>(vocab.end - vocab.begin);
  return shape;
}

ShardRange shard_range(const Config& config, const Parallel& p, const TensorSpec& spec) {
  const int64_t rows = spec.shape[0];
  const int64_t columns = spec.shape.size() > 1 ? spec.shape[1] : 1;
  int64_t index = p.rank, parts = p.tp;
  if (spec.expert >= 0) {
    const int64_t inner = p.tp / p.ep;
    const int64_t per_group = config.experts / p.ep;
    if (spec.expert / per_group != p.rank / inner) return {};
    index = p.rank % inner;
    parts = inner;
  }
  ShardRange range{0, rows, 0, columns};
  if (spec.split == Split::kRows) {
    const Range r = part(rows, index, parts);
    range.row_begin = r.begin;
    range.row_end = r.end;
  } else if (spec.split == Split::kColumns) {
    const Range r = part(columns, index, parts);
    range.column_begin = r.begin;
    range.column_end = r.end;
  }
  return range;
}

}  // namespace headroom::model
