// Writing of exported records.
#include "results/export.h"

#include "base/json_writer.h"

namespace headroom::results {

std::string export_json(std::span<const StoredRecord> records) {
  base::JsonWriter json;
  json.begin_object().key("records").begin_array();
  for (const StoredRecord& stored : records) {
    json.begin_object().field("id", stored.id).field("origin", stored.origin);
    json.field("added", stored.added);
    if (!stored.quarantine.empty()) json.field("quarantine", stored.quarantine);
    json.key("record").raw(to_json(stored.record)).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace headroom::results
