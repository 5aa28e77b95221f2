// Lays out a plan for people; `--json` and /headroom/plan carry the same for programs.
#include "plan_table.h"

#include "base/table.h"

namespace headroom::apps {
namespace {

using enum base::Table::Align;

constexpr size_t kShapeWidth = 64;    // beside the other columns: 120
constexpr size_t kRefusedWidth = 44;  // the same for the list of ops that a kernel does not run

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    words.emplace_back(text.substr(0, text.find(' ')));
    text.remove_prefix(std::min(text.size(), words.back().size() + 1));
  }
  return words;
}

/// Lines of whole words, at least one line; none is wider than `width` unless one word is.
std::vector<std::string> wrapped(const std::vector<std::string>& words, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : words) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back();
    lines.back() += fmt::format("{}{}", lines.back().empty() ? "" : " ", word);
  }
  return lines;
}

/// "gemm q_a": what the row is called below the table.
std::string part_of(const kernels::OpChoice& row) {
  return row.role.empty() ? row.op : fmt::format("{} {}", row.op, row.role);
}

/// Refusals that several ops share, in one place.
struct Refused {
  std::string kernels;  // "avx2, reference"
  kernels::Reason reason;
  std::vector<std::string> ops;
};

std::vector<Refused> grouped(const std::vector<kernels::OpChoice>& plan, bool all) {
  std::vector<Refused> groups;
  for (const kernels::OpChoice& row : plan) {
    for (const kernels::Refusal& refusal : row.refused) {
      if (!all && refusal.reason == kernels::Reason::kLowerRank) continue;
      auto group = std::find_if(groups.begin(), groups.end(), [&](const Refused& g) {
        return g.kernels == refusal.kernel && g.reason == refusal.reason;
      });
      if (group == groups.end())
        group = groups.insert(groups.end(), {refusal.kernel, refusal.reason, {}});
      group->ops.push_back(part_of(row));
    }
  }
  std::vector<Refused> merged;  // kernels that are out of the same ops for the same reason
  for (Refused& group : groups) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Refused& g) {
      return g.reason == group.reason && g.ops == group.ops;
    });
    if (same == merged.end())
      merged.push_back(std::move(group));
    else
      same->kernels += ", " + group.kernels;
  }
  return merged;
}

}  // namespace

std::string plan_text(const std::vector<kernels::OpChoice>& plan, bool all_refusals) {
  base::Table table;
  table.columns = {{"op", kLeft},     {"part", kLeft},  {"count", kRight},
                   {"kernel", kLeft}, {"rows", kRight}, {"shape", kLeft}};
  for (const kernels::OpChoice& row : plan) {
    std::string_view shape = row.descriptor;
    if (shape.starts_with(row.op + " ")) shape.remove_prefix(row.op.size() + 1);
    const std::vector<std::string> lines = wrapped(words_of(shape), kShapeWidth);
    table.rows.push_back(
        {row.op, row.role, std::to_string(row.count), row.chosen.empty() ? "NONE" : row.chosen,
         row.logical_rows > 0 ? fmt::format("{}/{}", row.logical_rows, row.kernel_rows) : "",
         lines[0]});
    for (size_t i = 1; i < lines.size(); ++i)
      table.rows.push_back({"", "", "", "", "", "  " + lines[i]});
  }
  std::string text = table.terminal();
  text += "\nrows: heads of a rank / rows that the kernel computes for them\n";

  base::Table refused;
  refused.columns = {{"not chosen", kLeft}, {"why", kLeft}, {"for", kLeft}};
  for (Refused& group : grouped(plan, all_refusals)) {
    if (group.ops.size() == plan.size()) group.ops = {"every op"};
    for (size_t i = 0; i + 1 < group.ops.size(); ++i) group.ops[i] += ",";
    const std::vector<std::string> lines = wrapped(group.ops, kRefusedWidth);
    refused.rows.push_back(
        {group.kernels, std::string(kernels::reason_text(group.reason)), lines[0]});
    for (size_t i = 1; i < lines.size(); ++i) refused.rows.push_back({"", "", lines[i]});
  }
  if (!refused.rows.empty()) text += "\n" + refused.terminal();
  return text;
}

}  // namespace headroom::apps
