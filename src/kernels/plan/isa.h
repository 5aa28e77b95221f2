// The refusals that depend on the machine alone.
#pragma once

#include <optional>

#include "base/cpu.h"
#include "kernels/plan/kernel.h"

namespace headroom::kernels {

// A refusal is asked on every machine, so it never lives in a file built for one instruction set.

/// The machine's refusal, or else what `shape` says of the descriptor.
template <typename Desc, std::optional<Reason> (*shape)(const Desc&)>
std::optional<Reason> avx512_refuses(const Desc& desc) {
  if (!base::cpu_features().avx512) return Reason::kNeedsAvx512;
  return shape(desc);
}

template <typename Desc, std::optional<Reason> (*shape)(const Desc&)>
std::optional<Reason> avx2_refuses(const Desc& desc) {
  if (!base::cpu_features().avx2) return Reason::kNeedsAvx2;
  return shape(desc);
}

}  // namespace headroom::kernels
