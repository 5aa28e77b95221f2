// Fuzz target: any bytes as a safetensors file; accepted tensors must lie within them.
#include <cstdlib>

#include "tensor/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span file(reinterpret_cast<const std::byte*>(data), size);
  const auto tensors = headroom::tensor::read_safetensors("input", file);
  if (!tensors) return 0;
  for (const auto& tensor : *tensors) {
    if (tensor.data.empty()) continue;
    if (tensor.data.data() < file.data() ||
        tensor.data.data() + tensor.data.size() > file.data() + file.size())
      std::abort();
  }
  return 0;
}
