// The subcommands of `headroom`: each adds its options to the app and returns its exit status.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace headroom::apps {

/// What a subcommand yields: an exit status (0 done, 1 failed work, 2 wrong usage) or an Error that
/// main prints as one line `headroom NAME: message` before it leaves with the error's exit status.
using CommandResult = base::Result<int>;

/// Registers `name`; `run` is called after parsing when the user chose it.
using AddCommand = void (*)(CLI::App& app, std::function<CommandResult()>& run);

#define HEADROOM_COMMANDS(X) \
  X(bench) \
  X(compare) \
  X(demo) \
  X(eval) \
  X(export) \
  X(frontier) \
  X(generate) \
  X(import) \
  X(inspect) \
  X(limit) \
  X(mock) \
  X(plan) \
  X(report) \
  X(serve) \
  X(store) \
  X(sweep) \
  X(watch)

#define HEADROOM_DECLARE(name) void add_##name(CLI::App& app, std::function<CommandResult()>& run);
HEADROOM_COMMANDS(HEADROOM_DECLARE)
#undef HEADROOM_DECLARE

}  // namespace headroom::apps
