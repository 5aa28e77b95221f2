// Version text with the compiler that built it.
#include "base/version.h"

#include <fmt/format.h>

namespace headroom::base {

std::string version_line() {
#if defined(__clang__)
  return fmt::format("headroom {} (clang {}.{}.{})", kVersion, __clang_major__, __clang_minor__,
                     __clang_patchlevel__);
#else
  return fmt::format("headroom {} (gcc {}.{}.{})", kVersion, __GNUC__, __GNUC_MINOR__,
                     __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace headroom::base
