// A plan as text for a terminal: who runs each op, and below it why the other kernels do not.
#pragma once

#include <string>
#include <vector>

#include "kernels/plan/kernel.h"

namespace headroom::apps {

/// At most 120 columns wide: long shapes go on in the next line, refusals are grouped below.
/// `all_refusals` counts kernels that were merely not needed among them.
std::string plan_text(const std::vector<kernels::OpChoice>& plan, bool all_refusals);

}  // namespace headroom::apps
