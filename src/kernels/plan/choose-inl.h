// The walk down a kernel list (template body of choose()).
#pragma once

#include "kernels/plan/kernel.h"

namespace headroom::kernels {

template <typename Desc, typename Run>
base::Result<const Kernel<Desc, Run>*> choose(std::string_view op, std::string_view asked,
                                              bool allow_reference,
                                              std::span<const Kernel<Desc, Run>> list,
                                              const Desc& desc, OpChoice& choice) {
  choice.op = op;
  choice.descriptor = desc.text();
  const Kernel<Desc, Run>* found = nullptr;
  bool known = asked == "auto";
  for (const Kernel<Desc, Run>& kernel : list) {
    known = known || asked == kernel.name;
    std::optional<Reason> reason = kernel.refuses(desc);
    const bool is_reference = std::string_view(kernel.name) == "reference";
    if (!reason && asked != "auto" && asked != kernel.name) reason = Reason::kNotRequested;
    if (!reason && found != nullptr) reason = Reason::kLowerRank;
    if (!reason && is_reference && asked == "auto" && !allow_reference)
      reason = Reason::kReferenceOnlyOnRequest;
    if (reason) {
      choice.refused.push_back({kernel.name, *reason});
    } else {
      found = &kernel;
      choice.chosen = kernel.name;
    }
  }
  if (!known) {
    std::string names = "auto";
    for (const Kernel<Desc, Run>& kernel : list) names += fmt::format(", {}", kernel.name);
    return base::fail(base::ErrorCode::kInvalidArgument,
                      "{}: no kernel is called `{}`; there are {}", op, asked, names);
  }
  if (found == nullptr) return tl::unexpected<base::Error>(no_kernel(choice));
  return found;
}

}  // namespace headroom::kernels
