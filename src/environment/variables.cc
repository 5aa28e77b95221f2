// Environment variables that change how fast a server or a client is; never secrets.
#include <array>

#include "environment/readers.h"

namespace headroom::environment {
namespace {

constexpr std::array kPrefixes = {
    "CUDA_",      "NCCL_",     "NVIDIA_", "CUBLAS",   "CUDNN_",   "HIP_",           "ROCR_",
    "ROCM_",      "HSA_",      "RCCL_",   "AITER_",   "MIOPEN_",  "VLLM_",          "SGLANG_",
    "SGL_",       "TRTLLM_",   "TLLM_",   "TORCH",    "PYTORCH_", "TRITON_",        "FLASHINFER_",
    "DG_",        "OMP_",      "KMP_",    "GOMP_",    "MKL_",     "OPENBLAS_",      "UCX_",
    "NIXL_",      "MOONCAKE_", "MORI_",   "DYN_",     "NVSHMEM_", "GLIBC_TUNABLES", "MALLOC_",
    "LD_PRELOAD", "GPU_",      "GGML_",   "HEADROOM_"};
constexpr std::array kSecret = {"KEY",    "TOKEN",      "SECRET", "PASSWORD",
                                "PASSWD", "CREDENTIAL", "AUTH",   "COOKIE"};
constexpr size_t kMostBytes = 1024;

bool is_wanted(std::string_view name) {
  for (const char* secret : kSecret)
    if (name.find(secret) != std::string_view::npos) return false;
  for (const char* prefix : kPrefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

/// scheme://user:word@host
bool holds_credentials(std::string_view value) {
  for (size_t at = value.find("://"); at != std::string_view::npos;
       at = value.find("://", at + 3)) {
    const std::string_view authority =
        value.substr(at + 3, value.find_first_of("/ ,;", at + 3) - (at + 3));
    if (authority.find('@') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

void read_variables(const Variables& variables, Manifest& out) {
  for (const std::string& entry : variables) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    std::string name = entry.substr(0, equals);
    std::string upper = name;
    for (char& c : upper)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    const std::string value = entry.substr(equals + 1, kMostBytes);
    if (is_wanted(upper) && !holds_credentials(value)) out["env." + name] = value;
  }
}

}  // namespace headroom::environment
