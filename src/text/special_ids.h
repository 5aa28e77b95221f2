// SpecialIds: the tokens that begin and end a sequence, gathered from a model folder's files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::text {

struct SpecialIds {
  std::optional<int32_t> bos;
  std::vector<int32_t> eos;  // any of them ends a sequence; ascending
  bool add_bos = false;      // text prompts get a BOS
};

/// From config.json and generation_config.json (bos_token_id, eos_token_id: a number or a list) and
/// tokenizer_config.json (add_bos_token, bos_token, eos_token); files may be missing. All stop ids
/// that any file names count: Kimi's lie in two. `id_of` translates a spelling.
base::Result<SpecialIds> read_special_ids(
    const std::filesystem::path& directory,
    const std::function<std::optional<int32_t>(std::string_view)>& id_of = {});

}  // namespace headroom::text
