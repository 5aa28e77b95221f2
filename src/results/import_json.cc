// Choosing the format of a JSON result file, and reading all of its rows.
#include "results/import_json.h"

#include <algorithm>
#include <array>

namespace headroom::results {

using base::ErrorCode;
using base::fail;
using base::Result;

std::span<const JsonFormat> json_formats() {
  static constexpr std::array kFormats = {
      JsonFormat{"inferencex-eval",
                 [](const JsonRow& row) {
                   return row.has("task") && (row.has("metrics.em_strict") || row.has("em_strict"));
                 },
                 read_inferencex_eval},
      JsonFormat{
          "inferencex-api",
          [](const JsonRow& row) { return row.has("hardware") && row.has("metrics.tput_per_gpu"); },
          read_inferencex_api},
      JsonFormat{"inferencex",
                 [](const JsonRow& row) { return row.has("hw") && row.has("tput_per_gpu"); },
                 read_inferencex_row},
      JsonFormat{
          "bench-serving",
          [](const JsonRow& row) { return row.has("completed") && row.has("output_throughput"); },
          read_bench_serving},
  };
  return kFormats;
}

Result<Imported> import_json(std::string_view text, std::string_view name, std::string_view wanted,
                             const std::map<std::string, std::string>& given) {
  HEADROOM_TRY(const auto rows, read_json_rows(text, name));
  if (rows.empty()) return fail(ErrorCode::kDataLoss, "{}: has no rows", name);
  const auto formats = json_formats();
  const auto format = std::ranges::find_if(formats, [&](const JsonFormat& candidate) {
    return wanted.empty() ? candidate.is(rows.front()) : wanted == candidate.name;
  });
  if (format == formats.end()) {
    std::vector<std::string> names, fields;
    for (const JsonFormat& known : formats) names.emplace_back(known.name);
    for (const auto& [path, unused] : rows.front().values)
      if (fields.size() < 6) fields.push_back(path);
    return fail(ErrorCode::kDataLoss,
                "{}: none of the known result files ({}); its first row has {}", rows.front().where,
                fmt::join(names, ", "), fmt::join(fields, ", "));
  }
  Imported imported;
  for (const JsonRow& row : rows) {
    if (!format->is(row))
      return fail(ErrorCode::kDataLoss, "{}: not a row of {} like the first one", row.where,
                  format->name);
    RowReader reader(row);
    Record record;
    HEADROOM_TRY_VOID(set_given(given, record));
    format->read(reader, record);
    if (reader.error()) return tl::unexpected<base::Error>(*reader.error());
    for (auto& [path, value] : reader.rest()) record.published.columns.emplace(path, value);
    imported.rows.push_back({{std::move(record), row.where}, ""});
  }
  return imported;
}

}  // namespace headroom::results
