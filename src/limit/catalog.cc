// Finds shapes and hardware among files, $HEADROOM_DATA and what is compiled in.
#include "limit/catalog.h"

#include <cstdlib>

#include "base/file.h"
#include "limit/embedded.h"

namespace headroom::limit {
namespace {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;

constexpr size_t kLargestFile = size_t{1} << 20;

struct Found {
  std::string text, file;
};

std::vector<std::string> names(std::string_view extension) {
  std::vector<std::string> result;
  for (const base::EmbeddedFile& file : embedded_files())
    if (file.name.ends_with(extension))
      result.emplace_back(file.name.substr(0, file.name.size() - extension.size()));
  return result;
}

base::Result<Found> load(const fs::path& path) {
  HEADROOM_TRY(std::string text, base::read_file(path, kLargestFile));
  return Found{std::move(text), path.string()};
}

base::Result<Found> find(const std::string& what, std::string_view kind, std::string_view folder,
                         std::string_view extension) {
  std::error_code ignored;
  if (fs::is_directory(what, ignored)) return load(fs::path(what) / "config.json");
  if (fs::exists(what, ignored)) return load(what);
  const std::string file = what + std::string(extension);
  if (const char* data = std::getenv("HEADROOM_DATA"); data && *data) {
    const fs::path path = fs::path(data) / folder / file;
    if (fs::exists(path, ignored)) return load(path);
  }
  for (const base::EmbeddedFile& embedded : embedded_files())
    if (embedded.name == file) return Found{std::string(embedded.text), file};
  return fail(ErrorCode::kNotFound, "{} `{}` is neither a file nor one of {}", kind, what,
              fmt::join(names(extension), ", "));
}

}  // namespace

base::Result<model::Config> find_config(const std::string& what) {
  std::error_code ignored;
  if (fs::exists(what, ignored)) return model::load_config(what);
  HEADROOM_TRY(const Found found, find(what, "model", "perf/shapes", ".json"));
  HEADROOM_TRY(model::Config config, model::parse_config(found.file, found.text));
  if (config.name.empty()) config.name = what;
  return config;
}

base::Result<Shape> find_shape(const std::string& what) {
  HEADROOM_TRY(const model::Config config, find_config(what));
  return shape_of(config);
}

base::Result<Hardware> find_hardware(const std::string& what) {
  HEADROOM_TRY(const Found found, find(what, "hardware", "hardware", ".yaml"));
  return parse_hardware(found.text, found.file);
}

std::vector<std::string> shape_names() {
  return names(".json");
}
std::vector<std::string> hardware_names() {
  return names(".yaml");
}

}  // namespace headroom::limit
