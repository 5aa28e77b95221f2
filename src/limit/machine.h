// machine: this computer as a Hardware entry, measured once by a short probe and remembered.
#pragma once

#include <string>
#include <string_view>

#include "limit/hardware.h"

namespace headroom::limit {

/// All cores together count as one device. The entry holds: the rate at which all cores read memory
/// (a buffer of at least four times the last cache) and each cache level (sizes from the system,
/// over all cores), the peak of fp32 multiply-adds in the widest instruction set, and where there
/// is one that of BF16 dot products, which bounds BF16 weights whether or not our kernels use it.
/// Each is the best of several short runs: other programs and the host of a virtual machine can
/// only slow a run down.
///
/// The result is kept in base::cache_directory() for the same processor, core count and boot, for a
/// day. With `again` it is measured anew and the better of old and new is kept: a limit that was
/// reached once was reachable. Takes up to 3 s when it measures.
base::Result<Hardware> this_machine(bool again = false);

/// Reads what this_machine wrote; `file` names it in errors. Exposed for its tests.
base::Result<Hardware> parse_machine(std::string_view text, std::string_view file);
std::string machine_text(const Hardware& hardware);

}  // namespace headroom::limit
