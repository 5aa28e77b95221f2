// The validation stream: windows of the held-out text, scored as the golden file's protocol says.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runner.h"

namespace headroom::golden {

/// BOS and the ids of models/tiny-mla/validation.txt.
const std::vector<int32_t>& validation_ids();

/// Ids of window `index`: window + 1 of them, stepping by window.
std::span<const int32_t> window_ids(int window, int index);

/// Mean negative log-likelihood of the window's ids 1…, no state carried over.
double window_nll(Runner& runner, std::span<const int32_t> ids);

/// Mean NLL of the embedded model over the first `windows` windows, minus the golden mean over the
/// same ones.
double validation_difference(Runner& runner, int windows);

/// HEADROOM_SLOW=1: all windows instead of a few.
bool slow();

}  // namespace headroom::golden
