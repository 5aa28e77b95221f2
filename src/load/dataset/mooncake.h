// Rows of a Mooncake trace: when a request came, how long it was, and which blocks it shared.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::load {

struct TraceRow {
  double timestamp_ms = 0;
  int64_t input_length = 0, output_length = 0;
  std::vector<int64_t> hash_ids;  // blocks of kTraceBlock tokens; equal ids are equal tokens
};
inline constexpr int64_t kTraceBlock = 512;

/// A JSON object a line, in the order of their timestamps (stable). Errors (kDataLoss) name line,
/// field and value.
base::Result<std::vector<TraceRow>> parse_mooncake(std::string_view where, std::string_view text);

}  // namespace headroom::load
