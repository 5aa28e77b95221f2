// Words for refusals.
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

std::string_view reason_text(Reason reason) {
  switch (reason) {
    case Reason::kNeedsAvx2:
      return "needs AVX2 with FMA";
    case Reason::kNeedsAvx512:
      return "needs AVX-512 (F, BW, DQ, VL)";
    case Reason::kNeedsAvx512Bf16:
      return "needs AVX-512 BF16";
    case Reason::kNeedsCuda:
      return "needs a CUDA device";
    case Reason::kCacheType:
      return "does not handle this KV row type";
    case Reason::kHeadCount:
      return "does not handle this head count";
    case Reason::kLatentWidth:
      return "written for another latent width";
    case Reason::kRopeWidth:
      return "written for another rope width";
    case Reason::kQueryLength:
      return "does not handle this query length";
    case Reason::kPageSize:
      return "does not handle this page size";
    case Reason::kWeightType:
      return "does not handle this weight type";
    case Reason::kWidthAlignment:
      return "a width is not a multiple of what it needs";
    case Reason::kNotRequested:
      return "another kernel was asked for";
    case Reason::kReferenceOnlyOnRequest:
      return "the portable reference serves only with --allow-reference";
    case Reason::kLowerRank:
      return "could take it, a better one was chosen";
  }
  return "unknown";
}

base::Error no_kernel(const OpChoice& choice) {
  std::string why;
  for (const Refusal& refusal : choice.refused)
    why += fmt::format("{}{}: {}", why.empty() ? "" : "; ", refusal.kernel,
                       reason_text(refusal.reason));
  return {base::ErrorCode::kUnsupported,
          fmt::format("op {} ({}): no kernel may take it: {}", choice.op, choice.descriptor, why)};
}

}  // namespace headroom::kernels
