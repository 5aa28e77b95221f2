// Writes a safetensors file.
#pragma once

#include <filesystem>
#include <span>

#include "tensor/safetensors.h"

namespace headroom::tensor {

/// The file's bytes: tensors in the order given, header padded so that data begins at a multiple
/// of 64. Each tensor's data must be its shape times its type.
std::string encode_safetensors(std::span<const Tensor> tensors);

/// Atomic: either the whole file or no change.
base::Result<> write_safetensors(const std::filesystem::path& path,
                                 std::span<const Tensor> tensors);

}  // namespace headroom::tensor
