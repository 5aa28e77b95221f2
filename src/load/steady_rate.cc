// Searching the span.
#include "load/steady_rate.h"

#include <algorithm>
#include <cmath>

namespace headroom::load {

std::optional<Span> steady_rate_window(const std::vector<RequestRecord>& records, double rate,
                                       int64_t from) {
  constexpr size_t kLeast = 10;
  constexpr size_t kMost = 2000;  // candidates: pairs of them are tried
  std::vector<int64_t> ends;
  for (const RequestRecord& r : records)
    if (!r.warmup && r.ok() && r.done >= from) ends.push_back(r.done);
  std::sort(ends.begin(), ends.end());
  const size_t stride = std::max<size_t>(1, ends.size() / kMost);
  // From the most requests to fewer: within 1 % of one rate, more requests are more time.
  for (size_t count = ends.empty() ? 0 : (ends.size() - 1) / stride * stride; count >= kLeast;
       count -= std::min(count, stride))
    for (size_t first = 0; first + count < ends.size(); first += stride) {
      const Span span{ends[first], ends[first + count]};
      const double seconds = static_cast<double>(span.length()) * 1e-9;
      if (seconds > 0 && std::abs(static_cast<double>(count) / seconds / rate - 1) <= 0.01)
        return span;
    }
  return std::nullopt;
}

}  // namespace headroom::load
