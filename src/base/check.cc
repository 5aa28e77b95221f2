// Prints the broken invariant and aborts.
#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace headroom::base {

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  fmt::print(stderr, "headroom: {}:{}: broken invariant `{}`: {}\n", file, line, condition,
             message);
  std::abort();
}

}  // namespace headroom::base
