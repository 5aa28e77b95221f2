// Reads safetensors files, alone or sharded by an index, as views into memory maps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "tensor/dtype.h"

namespace headroom::tensor {

/// One stored tensor: row-major, linear weights are [out, in]. `data` lives as long as what it was
/// read from and has no alignment beyond the file's.
struct Tensor {
  std::string name;
  std::string file;  // shown in errors
  DType dtype = DType::kBF16;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;

  int64_t elements() const;
};

/// "[16, 256]"
std::string shape_text(std::span<const int64_t> shape);

/// The tensors of one file: 8 bytes little-endian header length, JSON header
/// {name: {dtype, shape, data_offsets}}, data. kDataLoss, naming file, tensor and value, unless the
/// header is sound, names are unique, every tensor's bytes are its shape times its type, and the
/// tensors cover the data exactly, without overlap or hole.
base::Result<std::vector<Tensor>> read_safetensors(std::string_view file_name,
                                                   std::span<const std::byte> file);

/// A model folder's weights: model.safetensors, or the shards that model.safetensors.index.json
/// names.
class Checkpoint {
 public:
  static base::Result<Checkpoint> open(const std::filesystem::path& directory);

  /// Null when there is none.
  const Tensor* find(std::string_view name) const;
  /// In the order of the files.
  const std::vector<Tensor>& tensors() const { return tensors_; }
  /// Where it was read from; starts error messages about missing tensors.
  const std::string& source() const { return source_; }

 private:
  std::string source_;
  std::vector<base::MappedFile> maps_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;  // keys point into tensors_
};

}  // namespace headroom::tensor
