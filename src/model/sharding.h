// Sharding: what each rank of a parallel layout holds, as pure functions of (config, tp, ep, rank).
#pragma once

#include <cstdint>

#include "base/result.h"
#include "model/config.h"
#include "model/weight_map.h"

namespace headroom::model {

/// `tp` ranks share each layer. `ep` of them (a divisor of tp) groups hold different experts, and
/// tp / ep ranks divide each expert's width.
struct Parallel {
  int32_t tp = 1, ep = 1, rank = 0;
};

/// Widths of one rank.
struct RankShape {
  int32_t heads = 0;
  int32_t dense_inter = 0;
  int32_t experts = 0, first_expert = 0;  // routed experts that live here
  int32_t expert_inter = 0;
  int32_t shared_inter = 0;
  int32_t vocab = 0, first_vocab = 0;  // rows of embedding and lm_head
};

/// Errors (kInvalidArgument) name the width that does not divide.
base::Result<RankShape> shard(const Config& config, const Parallel& parallel);

/// Rows and columns of a tensor that a rank holds; one-dimensional tensors have one column. Empty
/// when it holds none (an expert of another rank).
struct ShardRange {
  int64_t row_begin = 0, row_end = 0;
  int64_t column_begin = 0, column_end = 0;

  int64_t elements() const { return (row_end - row_begin) * (column_end - column_begin); }
  bool operator==(const ShardRange&) const = default;
};

/// `parallel` must be one that shard() accepts. The ranges of all ranks cover every tensor:
/// replicated ones whole on each, the others each element on exactly one rank.
ShardRange shard_range(const Config& config, const Parallel& parallel, const TensorSpec& spec);

}  // namespace headroom::model
