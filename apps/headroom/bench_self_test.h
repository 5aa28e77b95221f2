// headroom bench --self-test: the client's own error, measured against a mock in its own process.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "commands.h"

namespace headroom::apps {

struct SelfTestFlags {
  bool wanted = false, hog = false, quick = false;
  std::string only;
  std::optional<int64_t> streams, rounds, many_streams;
  std::optional<double> interval_ms;
};

void add_self_test_options(CLI::App& bench, SelfTestFlags& flags);

/// 0: every target held; 1: one was missed, and which is printed.
CommandResult run_self_test(const SelfTestFlags& flags, bool json, const std::atomic<bool>& stop);

}  // namespace headroom::apps
