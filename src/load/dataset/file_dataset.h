// FileDataset: a dataset that a file's rows make, one conversation a row.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "load/dataset/dataset.h"

namespace headroom::load {

/// A row: the turns of one conversation.
using Row = std::vector<Ask>;

/// Parsers of a whole file's text; `where` starts messages: "FILE:LINE: field …" (kDataLoss).
base::Result<std::vector<Row>> parse_lines(const WorkloadOptions& options, std::string_view where,
                                           std::string_view text);
base::Result<std::vector<Row>> parse_jsonl(const WorkloadOptions& options, std::string_view where,
                                           std::string_view text);
base::Result<std::vector<Row>> parse_sharegpt(const WorkloadOptions& options,
                                              std::string_view where, std::string_view text);

using RowParser = base::Result<std::vector<Row>> (*)(const WorkloadOptions&, std::string_view,
                                                     std::string_view);
/// Reads the file and hands its rows out, the seed choosing the first.
base::Result<std::unique_ptr<const Dataset>> open_rows(const WorkloadOptions& options,
                                                       const std::string& file, RowParser parse);

/// "[salt] text", or the text alone without a salt.
std::string salted(const WorkloadOptions& options, std::string_view text);

}  // namespace headroom::load
