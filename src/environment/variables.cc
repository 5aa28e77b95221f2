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
constexpr std::array<std::string_view, 9> kSecret = {
    "KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE"};
constexpr size_t kMostBytes = 1024;

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return result;
}

/// "HF_TOKEN", but neither "SGLANG_MAX_TOKENS" nor "TOKENIZERS_PARALLELISM".
bool names_secret(std::string_view name) {
  for (const std::string_view word : kSecret)
    for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
      const std::string_view rest = name.substr(at + word.size());
      if (word != "TOKEN" || (!rest.starts_with('S') && !rest.starts_with("IZER"))) return true;
    }
  return false;
}

bool is_wanted(std::string_view name) {
  for (const char* prefix : kPrefixes)
    if (name.starts_with(prefix)) return true;
  return false;
}

/// scheme://user:word@host, or a parameter …password=word
bool holds_credentials(std::string_view value) {
  if (upper(value).find("PASSWORD=") != std::string::npos) return true;
  for (size_t at = value.find("://"); at != std::string_view::npos;
       at = value.find("://", at + 3)) {
    const std::string_view authority =
        value.substr(at + 3, value.find_first_of("/ ,;", at + 3) - (at + 3));
    if (authority.find('@') != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

bool is_secret(std::string_view name, std::string_view value) {
  return names_secret(upper(name)) || holds_credentials(value);
}

void read_variables(const Variables& variables, Manifest& out) {
  for (const std::string& entry : variables) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
    if (is_wanted(upper(name)) && !is_secret(name, value))
      out["env." + name] = value.substr(0, kMostBytes);
  }
}

}  // namespace headroom::environment
