// Our own version, compiler and build flags.
#include <cstdlib>

#include "base/version.h"
#include "environment/readers.h"

namespace headroom::environment {

void read_build(Manifest& out) {
  out["headroom.version"] = base::version_line();
  out["headroom.build"] = HEADROOM_BUILD_FLAGS;
}

}  // namespace headroom::environment
