// Exported records back from JSON, with their ids checked; and the choice of a format.
#include <simdjson.h>

#include "results/import_json.h"
#include "results/record_dom.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

Result<std::string> text_field(const simdjson::dom::object& object, const char* name,
                               std::string_view where) {
  simdjson::dom::element value;
  if (object[name].get(value) != simdjson::SUCCESS || value.is_null()) return std::string();
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "{}.{}: not a text", where, name);
  return std::string(text);
}

}  // namespace

Result<Imported> import_records(std::string_view json, std::string_view name) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root))
    return fail(ErrorCode::kDataLoss, "{}: not whole JSON: {}", name,
                simdjson::error_message(error));
  simdjson::dom::array list;
  if (root["records"].get(list) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "{}: no array 'records'; this reads what `export` writes",
                name);
  if (list.size() == 0) return fail(ErrorCode::kDataLoss, "{}: 'records' is empty", name);
  Imported imported;
  for (const simdjson::dom::element item : list) {
    const std::string where = fmt::format("{}: records[{}]", name, imported.rows.size());
    simdjson::dom::object object;
    simdjson::dom::element inner;
    if (item.get(object) != simdjson::SUCCESS || object["record"].get(inner) != simdjson::SUCCESS)
      return fail(ErrorCode::kDataLoss, "{}: not an object with a 'record'", where);
    HEADROOM_TRY(Record record, record_from_element(inner, where + ".record"));
    HEADROOM_TRY(const std::string id, text_field(object, "id", where));
    HEADROOM_TRY(std::string origin, text_field(object, "origin", where));
    HEADROOM_TRY(std::string quarantine, text_field(object, "quarantine", where));
    if (!id.empty() && id != record_id(record))
      return fail(ErrorCode::kDataLoss, "{}.id: {} is not the digest of its record, {}", where,
                  id.substr(0, 64), record_id(record));
    if (origin.empty()) origin = where;
    imported.rows.push_back({{std::move(record), std::move(origin)}, std::move(quarantine)});
  }
  return imported;
}

Result<Imported> import_text(std::string_view text, std::string_view name, ImportFormat format,
                             const std::map<std::string, std::string>& given) {
  if (format == ImportFormat::kAuto) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    const bool json = first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
    const bool ours = json && text.substr(first, 200).find("\"records\"") != std::string_view::npos;
    format = ours ? ImportFormat::kRecords : json ? ImportFormat::kJson : ImportFormat::kCsv;
  }
  if (format == ImportFormat::kCsv) return import_csv(text, name, given);
  if (format == ImportFormat::kJson) return import_json(text, name, "", given);
  if (!given.empty())
    return fail(ErrorCode::kInvalidArgument, "{}: records are whole; nothing can be set on them",
                name);
  return import_records(text, name);
}

Result<AddCounts> store_imported(Store& store, const Imported& imported) {
  std::vector<Store::Entry> entries;
  for (const Imported::Row& row : imported.rows) entries.push_back(row.entry);
  HEADROOM_TRY(const AddCounts counts, store.add_all(entries));
  for (const Imported::Row& row : imported.rows)
    if (!row.quarantine.empty())
      HEADROOM_TRY_VOID(store.quarantine(record_id(row.entry.record), row.quarantine));
  return counts;
}

}  // namespace headroom::results
