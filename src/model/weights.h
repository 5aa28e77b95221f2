// Weights: a checkpoint's tensors as the forward pass wants them, each checked for shape and type.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "base/result.h"
#include "kernels/moe/desc.h"
#include "model/config.h"
#include "tensor/dtype.h"
#include "tensor/safetensors.h"

namespace headroom::model {

/// All BF16, [out, in] row-major; pointers into the checkpoint's map or into `Weights::owned`.
struct LayerWeights {
  const tensor::bf16* input_norm = nullptr;  // [hidden]
  const tensor::bf16* post_norm = nullptr;   // [hidden]
  const tensor::bf16* q_a = nullptr;         // [q_lora, hidden], null without q_lora
  const tensor::bf16* q_a_norm = nullptr;    // [q_lora], null without q_lora
  const tensor::bf16* q_b = nullptr;        // [heads (nope + rope), q_lora], or q_proj [.., hidden]
  const tensor::bf16* kv_a = nullptr;       // [latent + rope, hidden]
  const tensor::bf16* kv_a_norm = nullptr;  // [latent]
  const tensor::bf16* kv_b = nullptr;       // [heads, nope + value, latent]
  const tensor::bf16* o = nullptr;          // [hidden, heads · value]
  std::vector<tensor::bf16> w_uk;           // [heads, latent, nope]: W_UK transposed per head
  std::vector<tensor::bf16> w_uv;           // [heads, value, latent]
  std::vector<kernels::ExpertWeights> mlp;  // one dense MLP, or the routed experts
  std::vector<kernels::ExpertWeights> shared;  // one, wide; empty without
  const tensor::bf16* router = nullptr;        // [experts, hidden]
  std::vector<float> router_bias;              // [experts] or empty
};

struct Weights {
  const tensor::bf16* embedding = nullptr;  // [vocab, hidden]
  const tensor::bf16* final_norm = nullptr;
  const tensor::bf16* head = nullptr;  // [vocab, hidden]
  std::vector<LayerWeights> layers;

  tensor::Checkpoint checkpoint;
  std::vector<std::vector<tensor::bf16>> owned;  // converted copies
};

/// Opens DIR and gathers every tensor. Errors name file, tensor, what was found and what is due:
/// missing or misshapen tensors are kDataLoss, quantised ones kUnsupported. F32 and F16 weights are
/// rounded to BF16 (one log line says how many and how exactly); the router's bias stays fp32.
base::Result<Weights> load_weights(const std::filesystem::path& directory, const Config& config);

}  // namespace headroom::model
