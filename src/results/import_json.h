// The JSON result files that import knows: how each is told from the others and read.
#pragma once

#include <span>

#include "results/import.h"
#include "results/row_reader.h"

namespace headroom::results {

struct JsonFormat {
  const char* name;                // for --format and messages
  bool (*is)(const JsonRow& row);  // by fields that no other has
  void (*read)(RowReader& reader, Record& record);
};

/// In order of trying.
std::span<const JsonFormat> json_formats();

/// Any of them, told by its first row; `wanted` empty: told by its fields.
/// `given`: columns that the file lacks, by the names of import_columns(). Errors (kDataLoss) name
/// file, row, field and value; nothing is half imported.
base::Result<Imported> import_json(std::string_view text, std::string_view name,
                                   std::string_view wanted = "",
                                   const std::map<std::string, std::string>& given = {});

void read_inferencex_row(RowReader& reader, Record& record);
void read_inferencex_api(RowReader& reader, Record& record);
void read_inferencex_eval(RowReader& reader, Record& record);
/// InferenceX's client, `vllm bench serve` and SGLang's bench_serving: one family.
void read_bench_serving(RowReader& reader, Record& record);

}  // namespace headroom::results
