// The list of datasets, and how a name or a file chooses one.
#include <filesystem>

#include "load/dataset/dataset.h"

namespace headroom::load {

namespace {

// In the order of --help. A file whose name ends in no extension below has a prompt a line.
constexpr DatasetKind kDatasets[] = {
    {"random", "token ids, prompts of exactly --input tokens", false, true, "", open_random},
    {"text", "random words, about --input tokens (exactly, with --tokenizer)", false, true, "",
     open_text},
    {"lines", "a text file with a prompt a line", true, false, ".txt", open_lines},
    {"jsonl", "objects with \"prompt\" or \"messages\", a line each", true, false, ".jsonl",
     open_jsonl},
    {"sharegpt", "a ShareGPT file: the first question, or --turns of them", true, false, ".json",
     open_sharegpt},
    {"mooncake", "a Mooncake trace: lengths and shared blocks of its rows", true, true, "",
     open_mooncake},
};

}  // namespace

std::span<const DatasetKind> datasets() {
  return kDatasets;
}

base::Result<DatasetChoice> choose_dataset(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  for (const DatasetKind& kind : kDatasets) {
    if (kind.name != name) continue;
    const std::string file = colon == std::string::npos ? "" : text.substr(colon + 1);
    if (kind.file && file.empty())
      return base::fail(base::ErrorCode::kInvalidArgument, "dataset {}: name its file, {}:FILE",
                        text, name);
    if (!kind.file && colon != std::string::npos)
      return base::fail(base::ErrorCode::kInvalidArgument, "dataset {}: {} reads no file", text,
                        name);
    return DatasetChoice{&kind, file};
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(text, error)) {
    const DatasetKind* lines = nullptr;
    for (const DatasetKind& kind : kDatasets) {
      if (kind.name == "lines") lines = &kind;
      if (!kind.extension.empty() && text.ends_with(kind.extension))
        return DatasetChoice{&kind, text};
    }
    return DatasetChoice{lines, text};
  }
  std::string names;
  for (const DatasetKind& kind : kDatasets)
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", kind.name, kind.file ? ":FILE" : "");
  return base::fail(base::ErrorCode::kInvalidArgument, "dataset {}: neither a file nor one of {}",
                    text, names);
}

}  // namespace headroom::load
