// A model folder's weight files: one, or the shards of an index.
#include <map>
#include <set>

#include "tensor/json_document.h"
#include "tensor/safetensors.h"

namespace headroom::tensor {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// Shard → names of its tensors, from the index file.
Result<std::map<std::string, std::set<std::string>>> read_index(const std::filesystem::path& path) {
  const std::string where = path.string();
  HEADROOM_TRY(const auto document, read_json(path));
  simdjson::dom::object weight_map;
  if (document->root["weight_map"].get(weight_map))
    return fail(ErrorCode::kDataLoss, "{}: no object field `weight_map`", where);
  std::map<std::string, std::set<std::string>> shards;
  std::set<std::string_view> names;
  for (const auto& [name, value] : weight_map) {
    std::string_view shard;
    if (value.get(shard))
      return fail(ErrorCode::kDataLoss, "{}: weight_map: `{}` names no file but {}", where, name,
                  describe_json(value));
    // An index comes with a download: it may name files of its own folder only.
    if (shard.empty() || shard.find('/') != std::string_view::npos || shard == "." || shard == "..")
      return fail(ErrorCode::kDataLoss, "{}: weight_map: `{}`: `{}` is no file of this folder",
                  where, name, shard);
    if (!names.insert(name).second)
      return fail(ErrorCode::kDataLoss, "{}: weight_map: tensor `{}` is listed twice", where, name);
    shards[std::string(shard)].insert(std::string(name));
  }
  if (shards.empty()) return fail(ErrorCode::kDataLoss, "{}: weight_map is empty", where);
  return shards;
}

}  // namespace

Result<Checkpoint> Checkpoint::open(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(directory, ignored))
    return fail(ErrorCode::kNotFound, "{}: no such model folder", directory.string());
  Checkpoint checkpoint;
  checkpoint.source_ = directory.string();
  std::map<std::string, std::set<std::string>> shards;
  if (std::filesystem::exists(directory / kSingle, ignored)) {
    shards[kSingle] = {};
  } else if (std::filesystem::exists(directory / kIndex, ignored)) {
    HEADROOM_TRY(shards, read_index(directory / kIndex));
    checkpoint.source_ = (directory / kIndex).string();
  } else {
    return fail(ErrorCode::kNotFound, "{}: holds neither {} nor {}", directory.string(), kSingle,
                kIndex);
  }

  for (const auto& [shard, listed] : shards) {
    const std::string path = (directory / shard).string();
    auto map = base::MappedFile::open(path);
    if (!map && map.error().code == ErrorCode::kNotFound && !listed.empty())
      return fail(ErrorCode::kNotFound, "{}: shard missing; {} lists {} tensors in it", path,
                  kIndex, listed.size());
    if (!map) return tl::unexpected<base::Error>(std::move(map).error());
    HEADROOM_TRY(std::vector<Tensor> tensors, read_safetensors(path, map->bytes()));
    std::set<std::string> absent = listed;
    for (Tensor& tensor : tensors) {
      // A tensor that the index puts elsewhere, or nowhere, is not part of the model.
      if (absent.erase(tensor.name) == 0 && !listed.empty()) continue;
      checkpoint.tensors_.push_back(std::move(tensor));
    }
    if (!absent.empty())
      return fail(ErrorCode::kDataLoss, "{}: tensor `{}` is not in it, though {} says so", path,
                  *absent.begin(), kIndex);
    checkpoint.maps_.push_back(std::move(*map));
  }
  for (size_t i = 0; i < checkpoint.tensors_.size(); ++i)
    checkpoint.by_name_.emplace(checkpoint.tensors_[i].name, i);
  return checkpoint;
}

const Tensor* Checkpoint::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &tensors_[it->second];
}

}  // namespace headroom::tensor
