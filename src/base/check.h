// HEADROOM_CHECK: stops the program, with the values, when an invariant of ours is broken.
#pragma once

#include <fmt/format.h>

#include <string>

namespace headroom::base {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const std::string& message);

}  // namespace headroom::base

/// `HEADROOM_CHECK(page < pages, "page {} of {}", page, pages);` The message is required.
#define HEADROOM_CHECK(condition, ...)                                                          \
  do {                                                                                          \
    if (!(condition)) [[unlikely]]                                                              \
      ::headroom::base::check_failed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
