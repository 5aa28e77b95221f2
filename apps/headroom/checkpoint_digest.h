// A digest that tells one checkpoint from another.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace headroom::apps {

/// "sha256:…" over names, sizes and bytes of config.json, the index and the shards. Above 8 GiB of
/// shards only their heads and evenly spaced blocks are read, and it is "sha256-sampled:…".
base::Result<std::string> checkpoint_digest(const std::filesystem::path& directory);

}  // namespace headroom::apps
