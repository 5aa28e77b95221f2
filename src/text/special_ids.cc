// Collects BOS and EOS from config.json, generation_config.json and tokenizer_config.json.
#include "text/special_ids.h"

#include <algorithm>

#include "tensor/json_document.h"

namespace headroom::text {

using base::ErrorCode;
using base::fail;
using base::Result;
using tensor::describe_json;

namespace {

/// The ids under `key`: none, one, or a list.
Result<std::vector<int32_t>> ids_under(const std::string& where, simdjson::dom::object object,
                                       std::string_view key) {
  simdjson::dom::element value;
  if (object.at_key(key).get(value) || value.is_null()) return std::vector<int32_t>{};
  std::vector<simdjson::dom::element> entries;
  simdjson::dom::array list;
  if (value.get(list))
    entries.push_back(value);
  else
    entries.assign(list.begin(), list.end());
  std::vector<int32_t> ids;
  for (const simdjson::dom::element entry : entries) {
    int64_t id = 0;
    if (entry.get(id) || id < 0 || id > INT32_MAX)
      return fail(ErrorCode::kDataLoss, "{}: `{}` is {}, not a token id", where, key,
                  describe_json(value));
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

/// "x" or {"content": "x"} under `key`.
std::optional<std::string_view> spelling_under(simdjson::dom::object object, std::string_view key) {
  simdjson::dom::element value;
  if (object.at_key(key).get(value)) return std::nullopt;
  std::string_view text;
  if (!value.get(text) || !value["content"].get(text)) return text;
  return std::nullopt;
}

}  // namespace

Result<SpecialIds> read_special_ids(
    const std::filesystem::path& directory,
    const std::function<std::optional<int32_t>(std::string_view)>& id_of) {
  SpecialIds out;
  std::error_code ignored;
  for (const char* name : {"config.json", "generation_config.json", "tokenizer_config.json"}) {
    const auto path = directory / name;
    if (!std::filesystem::exists(path, ignored)) continue;
    HEADROOM_TRY(const auto document, tensor::read_json(path));
    simdjson::dom::object object;
    if (document->root.get(object))
      return fail(ErrorCode::kDataLoss, "{}: is {}, not an object", path.string(),
                  describe_json(document->root));
    HEADROOM_TRY(const auto bos, ids_under(path.string(), object, "bos_token_id"));
    if (!bos.empty() && !out.bos) out.bos = bos[0];
    HEADROOM_TRY(const auto eos, ids_under(path.string(), object, "eos_token_id"));
    out.eos.insert(out.eos.end(), eos.begin(), eos.end());
    if (bool add = false; !object.at_key("add_bos_token").get(add)) out.add_bos = add;
    if (!id_of) continue;
    if (const auto text = spelling_under(object, "bos_token"); text && !out.bos)
      out.bos = id_of(*text);
    if (const auto text = spelling_under(object, "eos_token"))
      if (const auto id = id_of(*text)) out.eos.push_back(*id);
  }
  std::sort(out.eos.begin(), out.eos.end());
  out.eos.erase(std::unique(out.eos.begin(), out.eos.end()), out.eos.end());
  return out;
}

}  // namespace headroom::text
