// Fuzzes the plan that a server tells of itself: read or refused, never worse.
#include <cstdint>
#include <cstdlib>

#include "load/server_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto facts = headroom::load::parse_plan({reinterpret_cast<const char*>(data), size});
  if (!facts && facts.error().message.empty()) std::abort();
  return 0;
}
