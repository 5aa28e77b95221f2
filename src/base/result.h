// Result<T>: how code reports what the outside world or the caller did wrong.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace headroom::base {

/// Kinds of failure; each maps to one HTTP status and one exit status.
enum class ErrorCode {
  kInvalidArgument,    // the caller's input is wrong              400, exit 2
  kUnauthorized,       // missing or wrong API key                 401, exit 2
  kNotFound,           // unknown model, missing file              404, exit 1
  kTooLarge,           // body or prompt over a limit              413, exit 1
  kDataLoss,           // a file or stream is corrupt or truncated 500, exit 1
  kUnsupported,        // valid, but nothing here can do it        501, exit 1
  kResourceExhausted,  // queue, memory or disk full               503, exit 1
  kUnavailable,        // a peer refuses or went away              503, exit 1
  kCancelled,          // the other side gave up                   499, exit 1
  kIo,                 // the operating system refused             500, exit 1
  kInternal,           // a bug                                    500, exit 1
};

/// One line that names file, field and value, and says what would be right.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;
};

template <typename T = void>
using Result = tl::expected<T, Error>;

/// `return fail(ErrorCode::kNotFound, "{}: no such file", path);`
template <typename... Args>
[[nodiscard]] tl::unexpected<Error> fail(ErrorCode code, fmt::format_string<Args...> format,
                                         Args&&... args) {
  return tl::unexpected<Error>(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Passes an error on, its message behind `context: `.
[[nodiscard]] inline tl::unexpected<Error> fail_in(std::string_view context, Error error) {
  error.message = fmt::format("{}: {}", context, error.message);
  return tl::unexpected<Error>(std::move(error));
}

int http_status(ErrorCode code);
int exit_status(ErrorCode code);

}  // namespace headroom::base

#define HEADROOM_CONCAT_(a, b) a##b
#define HEADROOM_CONCAT(a, b) HEADROOM_CONCAT_(a, b)

/// `HEADROOM_TRY(auto file, open(path));` declares `file` or returns the error.
#define HEADROOM_TRY(decl, expr) HEADROOM_TRY_(decl, expr, HEADROOM_CONCAT(try_result_, __LINE__))
#define HEADROOM_TRY_(decl, expr, tmp)                                                \
  auto tmp = (expr);                                                                  \
  if (!tmp) return ::tl::unexpected<::headroom::base::Error>(std::move(tmp).error()); \
  decl = std::move(*tmp)

/// The same for Result<void>.
#define HEADROOM_TRY_VOID(expr)                                                             \
  do {                                                                                      \
    auto try_void_result = (expr);                                                          \
    if (!try_void_result)                                                                   \
      return ::tl::unexpected<::headroom::base::Error>(std::move(try_void_result).error()); \
  } while (false)
