// Service levels: what a request must meet to count as good.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "load/request_record.h"
#include "results/record.h"

namespace headroom::load {

/// "ttft=200,tpot=50,e2e=5000", milliseconds, any of them. kInvalidArgument naming the part.
base::Result<results::Slo> parse_slo(std::string_view text);
/// The same text again; empty when there is no bound.
std::string slo_text(const results::Slo& slo);
bool has_bounds(const results::Slo& slo);

/// True when the request succeeded and no figure of it lies above its bound. A request with one
/// token, or whose tokens came in one piece, has no TPOT and nothing of it to miss; a missing TTFT
/// or E2E misses.
bool meets(const results::Slo& slo, const RequestRecord& record);

}  // namespace headroom::load
