// Bytes per weight of each precision profile, and bytes per cache row.
#include "limit/precision.h"

namespace headroom::limit {
namespace {

using base::ErrorCode;
using base::fail;

constexpr const char* kPrecisionNames[] = {"bf16", "fp8", "mxfp4", "int4"};
constexpr const char* kRowNames[] = {"fp32", "bf16", "fp8", "fp8-tensor"};

constexpr StoredWeight kBf16Weight{2, Quantity::kFlopsBf16};
constexpr StoredWeight kFp8Weight{1 + 4.0 / (128 * 128), Quantity::kFlopsFp8};
constexpr StoredWeight kMxfp4Weight{4.25 / 8, Quantity::kFlopsFp4};
/// Groups of 32 weights share a BF16 scale; arithmetic is BF16, no device multiplies this form.
constexpr StoredWeight kInt4Weight{4.5 / 8, Quantity::kFlopsBf16};

}  // namespace

Profile profile(Precision precision) {
  switch (precision) {
    case Precision::kFp8:
      return {
          .experts = kFp8Weight, .mlp = kFp8Weight, .attention = kFp8Weight, .rest = kBf16Weight};
    case Precision::kMxfp4:
      return {.experts = kMxfp4Weight,
              .mlp = kMxfp4Weight,
              .attention = kBf16Weight,
              .rest = kBf16Weight};
    case Precision::kInt4:
      return {.experts = kInt4Weight,
              .mlp = kBf16Weight,
              .attention = kBf16Weight,
              .rest = kBf16Weight};
    case Precision::kBf16:
      break;
  }
  return {
      .experts = kBf16Weight, .mlp = kBf16Weight, .attention = kBf16Weight, .rest = kBf16Weight};
}

std::string_view precision_name(Precision precision) {
  return kPrecisionNames[static_cast<size_t>(precision)];
}
std::string_view kv_row_name(KvRow row) {
  return kRowNames[static_cast<size_t>(row)];
}

base::Result<Precision> parse_precision(std::string_view name) {
  for (size_t i = 0; i < std::size(kPrecisionNames); ++i)
    if (name == kPrecisionNames[i]) return static_cast<Precision>(i);
  return fail(ErrorCode::kInvalidArgument, "precision `{}` is unknown; there are {}", name,
              fmt::join(kPrecisionNames, ", "));
}

base::Result<KvRow> parse_kv_row(std::string_view name) {
  for (size_t i = 0; i < std::size(kRowNames); ++i)
    if (name == kRowNames[i]) return static_cast<KvRow>(i);
  return fail(ErrorCode::kInvalidArgument, "kv `{}` is unknown; there are {}", name,
              fmt::join(kRowNames, ", "));
}

double kv_row_bytes(const Shape& shape, KvRow row) {
  const auto latent = static_cast<double>(shape.latent), rope = static_cast<double>(shape.rope);
  switch (row) {
    case KvRow::kFp32:
      return 4 * (latent + rope);
    case KvRow::kFp8:
      return latent + 4 * latent / 128 + 2 * rope;
    case KvRow::kFp8Tensor:
      return latent + rope;
    case KvRow::kBf16:
      break;
  }
  return 2 * (latent + rope);
}

}  // namespace headroom::limit
