// Names of failures.
#include "load/request_record.h"

#include <fmt/format.h>

namespace headroom::load {

std::string failure_name(Failure failure, int http_status) {
  switch (failure) {
    case Failure::kNone:
      return "none";
    case Failure::kConnect:
      return "connect";
    case Failure::kReset:
      return "reset";
    case Failure::kCut:
      return "cut";
    case Failure::kTimeout:
      return "timeout";
    case Failure::kHttp:
      return fmt::format("http {}", http_status);
    case Failure::kStreamError:
      return "stream error";
    case Failure::kTruncated:
      return "truncated";
    case Failure::kEmpty:
      return "empty";
    case Failure::kBadStream:
      return "bad stream";
  }
  return "unknown";
}

}  // namespace headroom::load
