// The safetensors header: parsed strictly, every claim checked against the bytes there are.
#include "tensor/safetensors.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <unordered_set>

#include "tensor/json_document.h"

namespace headroom::tensor {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

// Kimi K2's header, the largest published (140 k tensors in 61 shards), stays far below.
constexpr uint64_t kLargestHeader = 100'000'000;

/// Product of the dimensions times `bytes`, or -1 when it does not fit 63 bits.
int64_t checked_bytes(std::span<const int64_t> shape, int64_t bytes) {
  int64_t total = bytes;
  for (const int64_t dim : shape)
    if (__builtin_mul_overflow(total, dim, &total)) return -1;
  return total;
}

/// Where a tensor's problem is: "FILE: tensor `NAME`".
std::string at(std::string_view file, std::string_view name) {
  return fmt::format("{}: tensor `{}`", file, name);
}

Result<Tensor> read_entry(std::string_view file, std::string_view name,
                          simdjson::dom::element value, std::span<const std::byte> data) {
  Tensor tensor;
  tensor.name = name;
  tensor.file = file;
  simdjson::dom::object entry;
  if (value.get(entry))
    return fail(ErrorCode::kDataLoss, "{}: is {}, not an object", at(file, name),
                describe_json(value));
  std::string_view dtype;
  if (entry["dtype"].get(dtype))
    return fail(ErrorCode::kDataLoss, "{}: no text field `dtype`", at(file, name));
  const auto type = parse_dtype(dtype);
  if (!type) return fail(ErrorCode::kDataLoss, "{}: unknown dtype `{}`", at(file, name), dtype);
  tensor.dtype = *type;

  simdjson::dom::array shape;
  if (entry["shape"].get(shape))
    return fail(ErrorCode::kDataLoss, "{}: no array field `shape`", at(file, name));
  for (const simdjson::dom::element dim : shape) {
    int64_t size = 0;
    if (dim.get(size) || size < 0)
      return fail(ErrorCode::kDataLoss, "{}: shape holds {}, which is no size", at(file, name),
                  describe_json(dim));
    tensor.shape.push_back(size);
  }

  simdjson::dom::array offsets;
  uint64_t begin = 0, end = 0;
  if (entry["data_offsets"].get(offsets) || offsets.size() != 2 || offsets.at(0).get(begin) ||
      offsets.at(1).get(end))
    return fail(ErrorCode::kDataLoss, "{}: `data_offsets` is not a pair of byte offsets",
                at(file, name));
  if (begin > end)
    return fail(ErrorCode::kDataLoss, "{}: data_offsets [{}, {}] run backwards", at(file, name),
                begin, end);
  if (end > data.size())
    return fail(ErrorCode::kDataLoss,
                "{}: data_offsets [{}, {}] reach past the {} data bytes of the file, which is "
                "truncated or corrupt",
                at(file, name), begin, end, data.size());
  const int64_t expected = checked_bytes(tensor.shape, dtype_bytes(tensor.dtype));
  if (expected < 0 || static_cast<uint64_t>(expected) != end - begin)
    return fail(ErrorCode::kDataLoss, "{}: {} {} needs {} bytes, data_offsets [{}, {}] give {}",
                at(file, name), dtype, shape_text(tensor.shape),
                expected < 0 ? "too many" : std::to_string(expected), begin, end, end - begin);
  tensor.data = data.subspan(begin, end - begin);
  return tensor;
}

/// The data must be covered exactly: a hole or a tail means that the header is not this file's.
Result<> check_cover(std::string_view file, std::vector<Tensor>& tensors,
                     std::span<const std::byte> data) {
  std::sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return std::tuple(a.data.data(), a.data.size(), std::string_view(a.name)) <
           std::tuple(b.data.data(), b.data.size(), std::string_view(b.name));
  });
  const std::byte* next = data.data();
  const Tensor* before = nullptr;
  for (const Tensor& tensor : tensors) {
    const auto offset = tensor.data.data() - data.data();
    if (tensor.data.data() < next)
      return fail(ErrorCode::kDataLoss, "{}: begins at byte {}, inside tensor `{}`",
                  at(file, tensor.name), offset, before->name);
    if (tensor.data.data() > next)
      return fail(ErrorCode::kDataLoss, "{}: begins at byte {}, {} bytes after the tensor before",
                  at(file, tensor.name), offset, tensor.data.data() - next);
    next = tensor.data.data() + tensor.data.size();
    before = &tensor;
  }
  const auto used = static_cast<size_t>(next - data.data());
  if (used != data.size())
    return fail(ErrorCode::kDataLoss, "{}: {} bytes after the last tensor belong to nothing", file,
                data.size() - used);
  return {};
}

}  // namespace

int64_t Tensor::elements() const {
  return static_cast<int64_t>(data.size()) / dtype_bytes(dtype);
}

std::string shape_text(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<std::vector<Tensor>> read_safetensors(std::string_view file_name,
                                             std::span<const std::byte> file) {
  if (file.size() < 8)
    return fail(ErrorCode::kDataLoss, "{}: {} bytes are too few for a safetensors file", file_name,
                file.size());
  uint64_t length = 0;
  for (int i = 7; i >= 0; --i) length = length << 8 | static_cast<uint8_t>(file[i]);
  if (length > kLargestHeader || length > file.size() - 8)
    return fail(ErrorCode::kDataLoss,
                "{}: header length {} is more than the file holds ({} bytes): truncated or not a "
                "safetensors file",
                file_name, length, file.size());
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + 8, length);
  HEADROOM_TRY(const auto document, parse_json(fmt::format("{}: header", file_name), header));
  simdjson::dom::object entries;
  if (document->root.get(entries))
    return fail(ErrorCode::kDataLoss, "{}: header is {}, not an object", file_name,
                describe_json(document->root));

  const std::span<const std::byte> data = file.subspan(8 + length);
  std::vector<Tensor> tensors;
  std::unordered_set<std::string_view> names;
  for (const auto& [name, value] : entries) {
    if (!names.insert(name).second)
      return fail(ErrorCode::kDataLoss, "{}: named twice", at(file_name, name));
    if (name == "__metadata__") continue;
    HEADROOM_TRY(Tensor tensor, read_entry(file_name, name, value, data));
    tensors.push_back(std::move(tensor));
  }
  HEADROOM_TRY_VOID(check_cover(file_name, tensors, data));
  return tensors;
}

}  // namespace headroom::tensor
