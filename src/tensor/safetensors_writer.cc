// Builds the header and appends the data.
#include "tensor/safetensors_writer.h"

#include "base/file.h"
#include "base/json_writer.h"

namespace headroom::tensor {

std::string encode_safetensors(std::span<const Tensor> tensors) {
  base::JsonWriter json;
  json.begin_object();
  json.key("__metadata__").begin_object().field("format", "pt").end_object();
  uint64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    json.key(tensor.name).begin_object().field("dtype", dtype_name(tensor.dtype));
    json.key("shape").begin_array();
    for (const int64_t dim : tensor.shape) json.value(dim);
    json.end_array().key("data_offsets").begin_array();
    json.value(offset);
    offset += tensor.data.size();
    json.value(offset).end_array().end_object();
  }
  std::string header = json.end_object().take();
  header.resize((header.size() + 8 + 63) / 64 * 64 - 8, ' ');
  std::string file;
  file.reserve(8 + header.size() + offset);
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  for (const Tensor& tensor : tensors)
    file.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return file;
}

base::Result<> write_safetensors(const std::filesystem::path& path,
                                 std::span<const Tensor> tensors) {
  return base::write_file_atomic(path, encode_safetensors(tensors));
}

}  // namespace headroom::tensor
