// Maps error codes to HTTP and exit statuses.
#include "base/result.h"

namespace headroom::base {

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kUnauthorized:
      return 401;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kTooLarge:
      return 413;
    case ErrorCode::kUnsupported:
      return 501;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kCancelled:
      return 499;
    case ErrorCode::kDataLoss:
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return 500;
  }
  return 500;
}

int exit_status(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnauthorized ? 2 : 1;
}

}  // namespace headroom::base
