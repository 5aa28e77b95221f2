// Validity: what a reader should know before trusting a record.
#pragma once

#include <string>
#include <vector>

#include "results/record.h"

namespace headroom::analysis {

struct Flag {
  std::string code, text;
};

/// Requests that failed, token counts that disagree, a client that was late or busy, chunks with
/// several tokens, a point faster than its limit. Empty: nothing against it.
std::vector<Flag> validity_flags(const results::Record& record);

}  // namespace headroom::analysis
