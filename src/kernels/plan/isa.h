// The refusals that depend on the machine alone.
#pragma once

#include <optional>

#include "base/cpu.h"
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

inline std::optional<Reason> needs_avx512() {
  if (!base::cpu_features().avx512) return Reason::kNeedsAvx512;
  return std::nullopt;
}

inline std::optional<Reason> needs_avx2() {
  if (!base::cpu_features().avx2) return Reason::kNeedsAvx2;
  return std::nullopt;
}

}  // namespace headroom::kernels
