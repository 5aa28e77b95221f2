// Fuzz target: any bytes as a config.json; an accepted one must give consistent shapes.
#include <cstdlib>
#include <string_view>

#include "model/config.h"
#include "model/rope.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = headroom::model::parse_config("input", text);
  if (!config) return 0;
  if (config->heads < 1 || config->layers < 1 || config->first_dense > config->layers) std::abort();
  if (config->experts > 0 && config->experts % config->groups != 0) std::abort();
  if (!(headroom::model::softmax_scale(*config) > 0)) std::abort();
  return 0;
}
