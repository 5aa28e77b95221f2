// The sampling defaults that a model's generation_config.json asks for.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "openai/service.h"

namespace headroom::openai {

/// OpenAI's defaults where DIR/generation_config.json is missing or silent. `do_sample: false`
/// means temperature 0. kDataLoss naming file, field and value when it is malformed.
base::Result<SamplingDefaults> read_generation_config(const std::filesystem::path& directory);

}  // namespace headroom::openai
