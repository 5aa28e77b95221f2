// Finds, checks and, where it must, converts the tensors of a checkpoint.
#include "model/weights.h"

#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/log.h"
#include "model/weight_map.h"

namespace headroom::model {

using base::ErrorCode;
using base::fail;
using base::Result;
using tensor::bf16;
using tensor::DType;
using tensor::Tensor;

namespace {

float element(const Tensor& tensor, int64_t i) {
  const std::byte* data = tensor.data.data();
  if (tensor.dtype == DType::kF32) {
    float value;
    std::memcpy(&value, data + i * 4, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, data + i * 2, 2);
  return tensor.dtype == DType::kF16 ? tensor::f16_to_float(bits) : tensor::bf16_to_float(bits);
}

class Loader {
 public:
  Loader(const Config& config, Weights& weights) : config_(config), weights_(weights) {}

  Result<> gather() {
    for (const TensorSpec& spec : tensor_specs(config_)) {
      HEADROOM_TRY_VOID(check(spec));
      specs_.emplace(spec.name, spec.kind);
    }
    HEADROOM_TRY_VOID(look_at_the_rest());
    weights_.embedding = get("model.embed_tokens.weight");
    weights_.final_norm = get("model.norm.weight");
    weights_.head = get("lm_head.weight");
    weights_.layers.resize(static_cast<size_t>(config_.layers));
    for (int32_t l = 0; l < config_.layers; ++l) fill(l, weights_.layers[static_cast<size_t>(l)]);
    if (rounded_ > 0)
      base::log_info(
          "{}: {} tensors in F32 or F16 were rounded to BF16, largest relative error {:.2g}",
          config_.name, rounded_, worst_);
    return {};
  }

 private:
  /// One tensor against what the config says.
  Result<> check(const TensorSpec& spec) {
    const Tensor* tensor = weights_.checkpoint.find(spec.name);
    if (tensor == nullptr)
      return fail(ErrorCode::kDataLoss, "{}: tensor `{}` {} is missing",
                  weights_.checkpoint.source(), spec.name, tensor::shape_text(spec.shape));
    if (tensor->dtype != DType::kBF16 && tensor->dtype != DType::kF16 &&
        tensor->dtype != DType::kF32)
      return fail(ErrorCode::kUnsupported,
                  "{}: tensor `{}`: dtype {}; BF16, F16 or F32 weights are what is served",
                  tensor->file, spec.name, tensor::dtype_name(tensor->dtype));
    if (tensor->shape != spec.shape)
      return fail(ErrorCode::kDataLoss, "{}: tensor `{}`: shape {}, expected {}", tensor->file,
                  spec.name, tensor::shape_text(tensor->shape), tensor::shape_text(spec.shape));
    return {};
  }

  /// Tensors nobody asked for: MTP layers are skipped aloud, others are a sign of another model.
  Result<> look_at_the_rest() {
    int64_t mtp = 0;
    for (const Tensor& tensor : weights_.checkpoint.tensors()) {
      if (specs_.contains(tensor.name)) continue;
      if (is_mtp_tensor(config_, tensor.name)) {
        ++mtp;
      } else if (!is_ignored_tensor(config_, tensor.name)) {
        return fail(ErrorCode::kUnsupported,
                    "{}: tensor `{}` has no place in a {} model: quantised or another architecture",
                    tensor.file, tensor.name, config_.model_type);
      }
    }
    if (mtp > 0)
      base::log_info("{}: {} tensors of the next-token layer {} skipped", config_.name, mtp,
                     config_.layers);
    return {};
  }

  /// Checked before: it is there. BF16 data is used where it lies.
  const bf16* get(const std::string& name) {
    const Tensor& tensor = *weights_.checkpoint.find(config_.weight_prefix + name);
    const auto address = reinterpret_cast<uintptr_t>(tensor.data.data());
    if (tensor.dtype == DType::kBF16 && address % alignof(bf16) == 0)
      return reinterpret_cast<const bf16*>(tensor.data.data());
    std::vector<bf16> copy(static_cast<size_t>(tensor.elements()));
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const float value = element(tensor, i);
      copy[static_cast<size_t>(i)] = tensor::float_to_bf16(value);
      if (value != 0)
        worst_ = std::max(
            worst_, std::fabs(tensor::bf16_to_float(copy[static_cast<size_t>(i)]) / value - 1));
    }
    if (tensor.dtype != DType::kBF16) ++rounded_;
    weights_.owned.push_back(std::move(copy));
    return weights_.owned.back().data();
  }

  kernels::ExpertWeights mlp(const std::string& prefix) {
    return {get(prefix + "gate_proj.weight"), get(prefix + "up_proj.weight"),
            get(prefix + "down_proj.weight")};
  }

  void fill(int32_t index, LayerWeights& layer) {
    const std::string prefix = fmt::format("model.layers.{}.", index);
    const std::string attention = prefix + "self_attn.";
    layer.input_norm = get(prefix + "input_layernorm.weight");
    layer.post_norm = get(prefix + "post_attention_layernorm.weight");
    if (config_.q_lora > 0) {
      layer.q_a = get(attention + "q_a_proj.weight");
      layer.q_a_norm = get(attention + "q_a_layernorm.weight");
      layer.q_b = get(attention + "q_b_proj.weight");
    } else {
      layer.q_b = get(attention + "q_proj.weight");
    }
    layer.kv_a = get(attention + "kv_a_proj_with_mqa.weight");
    layer.kv_a_norm = get(attention + "kv_a_layernorm.weight");
    layer.kv_b = get(attention + "kv_b_proj.weight");
    layer.o = get(attention + "o_proj.weight");
    split_kv_b(layer);
    if (!config_.is_moe(index)) {
      layer.mlp.push_back(mlp(prefix + "mlp."));
      return;
    }
    layer.router = get(prefix + "mlp.gate.weight");
    if (config_.router_bias) {
      const Tensor& bias = *weights_.checkpoint.find(config_.weight_prefix + prefix +
                                                     "mlp.gate.e_score_correction_bias");
      for (int64_t i = 0; i < bias.elements(); ++i) layer.router_bias.push_back(element(bias, i));
    }
    for (int32_t e = 0; e < config_.experts; ++e)
      layer.mlp.push_back(mlp(fmt::format("{}mlp.experts.{}.", prefix, e)));
    if (config_.shared_experts > 0) layer.shared.push_back(mlp(prefix + "mlp.shared_experts."));
  }

  /// The absorbed form multiplies by W_UK from the other side: each head's is transposed once.
  void split_kv_b(LayerWeights& layer) {
    const size_t heads = config_.heads, latent = config_.latent, nope = config_.nope,
                 value = config_.value;
    layer.w_uk.resize(heads * latent * nope);
    layer.w_uv.resize(heads * value * latent);
    for (size_t h = 0; h < heads; ++h) {
      const bf16* head = layer.kv_b + h * (nope + value) * latent;
      bf16* transposed = layer.w_uk.data() + h * latent * nope;
      for (size_t l = 0; l < latent; ++l)
        for (size_t p = 0; p < nope; ++p) transposed[l * nope + p] = head[p * latent + l];
      std::memcpy(layer.w_uv.data() + h * value * latent, head + nope * latent,
                  value * latent * sizeof(bf16));
    }
  }

  const Config& config_;
  Weights& weights_;
  std::unordered_map<std::string, TensorKind> specs_;
  int64_t rounded_ = 0;
  float worst_ = 0;
};

}  // namespace

Result<Weights> load_weights(const std::filesystem::path& directory, const Config& config) {
  if (!config.quantization.empty())
    return fail(ErrorCode::kUnsupported,
                "{}: `quantization_config.quant_method` is `{}`; unquantised BF16, F16 or F32 "
                "weights are what is served",
                config.source, config.quantization);
  Weights weights;
  HEADROOM_TRY(weights.checkpoint, tensor::Checkpoint::open(directory));
  Loader loader(config, weights);
  HEADROOM_TRY_VOID(loader.gather());
  return weights;
}

}  // namespace headroom::model
