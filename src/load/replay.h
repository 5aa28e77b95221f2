// Replay: the command line that measures a point again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "load/bench.h"

namespace headroom::load {

/// "headroom bench --url …", every option of `options` spelled out, quoted for a POSIX shell. A
/// salt that was drawn is left out, so that a new one is; values of headers that look like secrets,
/// and the key, are replaced by variables.
std::string replay_command(const BenchOptions& options);

/// Splits a line that replay_command wrote into its arguments; variables stay as they are.
std::vector<std::string> split_command(std::string_view line);

}  // namespace headroom::load
