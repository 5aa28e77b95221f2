// The tensors of a model: their names in public checkpoints, their shapes, and how ranks divide
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace headroom::model {

enum class TensorKind : uint8_t {
  kEmbedding,
  kNorm,
  kAttention,
  kDenseMlp,
  kRouter,
  kRouterBias,
  kExpert,
  kSharedExpert,
  kHead,
};
inline constexpr int kTensorKindCount = 9;
std::string_view tensor_kind_name(TensorKind kind);

/// What a rank of a tensor-parallel group keeps: all of it, a range of rows, or of columns.
enum class Split : uint8_t { kReplicated, kRows, kColumns };

struct TensorSpec {
  std::string name;            // "model.layers.3.mlp.experts.7.up_proj.weight"
  std::vector<int64_t> shape;  // of the whole model; linear weights are [out, in]
  TensorKind kind = TensorKind::kNorm;
  Split split = Split::kReplicated;
  int32_t expert = -1;  // of a routed expert

  int64_t elements() const;
};

/// "model.layers.3."; a config's weight_prefix included.
std::string layer_prefix(const Config& config, int32_t layer);

/// Every tensor that the forward pass needs, MTP layers not included.
std::vector<TensorSpec> tensor_specs(const Config& config);

/// Stored but not needed: MTP layers, and buffers that some writers store (`rotary_emb.inv_freq`),
/// and the other half of a vision model.
bool is_ignored_tensor(const Config& config, std::string_view name);
/// A tensor of an MTP layer (index num_hidden_layers and above).
bool is_mtp_tensor(const Config& config, std::string_view name);

struct ParameterCount {
  int64_t total = 0;
  int64_t active = 0;  // used by one token: experts counted top_k times, the embedding one row
};
ParameterCount count_parameters(const Config& config);

}  // namespace headroom::model
