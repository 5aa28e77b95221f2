// What every op's kernel list is made of: a name, the question "can you take this?", and the
// function.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::kernels {

/// Why a kernel declines a descriptor. The fixed table; reason_text() gives the words.
enum class Reason : uint8_t {
  kNeedsAvx2,
  kNeedsAvx512,
  kNeedsAvx512Bf16,
  kNeedsCuda,
  kCacheType,  // cannot read or write this KV row type
  kHeadCount,
  kLatentWidth,  // latent or rope width not the one the kernel is written for
  kRopeWidth,
  kQueryLength,
  kPageSize,
  kWeightType,
  kWidthAlignment,  // a reduction or output width is not a multiple of what the kernel needs
  kNotRequested,    // another kernel was asked for by name
  kReferenceOnlyOnRequest,  // the portable reference serves only when it is allowed
  kLowerRank,               // could take it; a better one was chosen
};
std::string_view reason_text(Reason reason);

/// One implementation of an op. `refuses` looks at the whole descriptor and the machine.
template <typename Desc, typename Run>
struct Kernel {
  const char* name;  // "avx512", "avx2", "reference"; the last of a list is always "reference"
  std::optional<Reason> (*refuses)(const Desc& desc);
  Run run;
};

struct Refusal {
  std::string kernel;
  Reason reason;
};

/// One line of the plan.
struct OpChoice {
  std::string op;          // "mla_decode"
  std::string descriptor;  // the descriptor's text form
  int count = 1;           // how often a step runs it (layers, usually)
  std::string chosen;      // empty when nothing may take it
  int logical_rows = 0;    // attention: heads per rank; 0 where the word has no meaning
  int kernel_rows = 0;     // attention: rows the kernel computes, ≥ logical_rows
  std::vector<Refusal> refused;
  std::string role;  // the part of the model it plays: "q_a", "experts"
};

/// What the user asked for.
struct Policy {
  std::string attention =
      "auto";  // auto | reference | avx2 | avx512 | cuda: mla_decode and mla_prefill
  std::string others = "auto";   // the same for every other op
  bool allow_reference = false;  // may an op fall to its reference although nobody asked for it?
};

/// First kernel of `list` that takes `desc` under `asked` ("auto" or a kernel's name). Records the
/// walk in `choice`. Error (kUnsupported) names the op, the descriptor and every refusal; a name
/// that the list does not hold is kInvalidArgument and lists the names there are.
template <typename Desc, typename Run>
base::Result<const Kernel<Desc, Run>*> choose(std::string_view op, std::string_view asked,
                                              bool allow_reference,
                                              std::span<const Kernel<Desc, Run>> list,
                                              const Desc& desc, OpChoice& choice);

/// "mla_decode heads=8 ...: no kernel takes it: avx512: needs AVX-512; reference: ..."
base::Error no_kernel(const OpChoice& choice);

}  // namespace headroom::kernels

#include "kernels/plan/choose-inl.h"
