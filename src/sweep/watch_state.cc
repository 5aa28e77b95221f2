// The state as one JSON object, replaced as a whole.
#include "sweep/watch_state.h"

#include <simdjson.h>

#include "base/file.h"
#include "base/json_writer.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;

base::Result<WatchState> read_state(const std::filesystem::path& file) {
  const auto text = base::read_file(file, size_t{1} << 24);
  if (!text) {
    if (text.error().code == ErrorCode::kNotFound) return WatchState{};
    return tl::unexpected(text.error());
  }
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const auto bad = [&] {
    return fail(ErrorCode::kDataLoss, "{}: not a state of headroom watch; delete it to start anew",
                file.string());
  };
  if (parser.parse(*text).get_object().get(root) != simdjson::SUCCESS) return bad();
  WatchState state;
  const auto texts = [&](const char* key, std::string& into) {
    std::string_view value;
    if (root[key].get(value) != simdjson::SUCCESS) return false;
    into = value;
    return true;
  };
  const auto maps = [&](const char* key, WatchState::Values& into) {
    simdjson::dom::object values;
    if (root[key].get(values) != simdjson::SUCCESS) return false;
    for (const auto& [name, element] : values) {
      std::string_view value;
      if (element.get(value) != simdjson::SUCCESS) return false;
      into[std::string(name)] = value;
    }
    return true;
  };
  const bool good = maps("values", state.values) && texts("run", state.run) &&
                    root["time_s"].get(state.time_s) == simdjson::SUCCESS &&
                    texts("pending_run", state.pending_run) &&
                    maps("pending_values", state.pending_values) &&
                    texts("bisect_base_run", state.bisect_base_run) &&
                    texts("bisect_from", state.bisect_from) && texts("bisect_to", state.bisect_to);
  if (!good) return bad();
  return state;
}

base::Result<> write_state(const std::filesystem::path& file, const WatchState& state) {
  base::JsonWriter json;
  const auto map = [&](const char* key, const WatchState::Values& values) {
    json.key(key).begin_object();
    for (const auto& [name, value] : values) json.field(name, value);
    json.end_object();
  };
  json.begin_object();
  map("values", state.values);
  json.field("run", state.run).field("time_s", state.time_s);
  json.field("pending_run", state.pending_run);
  map("pending_values", state.pending_values);
  json.field("bisect_base_run", state.bisect_base_run);
  json.field("bisect_from", state.bisect_from).field("bisect_to", state.bisect_to).end_object();
  return base::write_file_atomic(file, json.text() + "\n");
}

}  // namespace headroom::sweep
