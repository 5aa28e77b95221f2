// Import: files of measured points as records; what a file cannot know stays absent.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/store.h"

namespace headroom::results {

struct Imported {
  struct Row {
    Store::Entry entry;
    std::string quarantine;  // a reason that came with the record
  };
  std::vector<Row> rows;
  std::vector<std::string> unknown_columns;  // named in the file, used by nothing here
};

enum class ImportFormat { kAuto, kCsv, kRecords, kJson };

/// `name` (the file's) stands in errors and origins. `given`: columns that the file lacks, by name,
/// the same for every row. Errors name file, line, column and value; nothing is half imported.
base::Result<Imported> import_text(std::string_view text, std::string_view name,
                                   ImportFormat format = ImportFormat::kAuto,
                                   const std::map<std::string, std::string>& given = {});

/// CSV with a header; columns by the names that import_columns() lists, in any order.
base::Result<Imported> import_csv(std::string_view text, std::string_view name,
                                  const std::map<std::string, std::string>& given = {});

/// Puts the columns of `given`, as import_columns() names them, into the record.
base::Result<> set_given(const std::map<std::string, std::string>& given, Record& record);

/// What export writes: an object whose "records" hold {"record": {...}, "id", "origin", …}.
base::Result<Imported> import_records(std::string_view json, std::string_view name);

/// Names that a CSV may use, the first of each group being ours.
std::vector<std::vector<std::string>> import_columns();

/// One transaction, then the quarantine reasons.
base::Result<AddCounts> store_imported(Store& store, const Imported& imported);

}  // namespace headroom::results
