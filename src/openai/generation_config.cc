// Reading generation_config.json.
#include "openai/generation_config.h"

#include "base/file.h"
#include "openai/fields.h"

namespace headroom::openai {

base::Result<SamplingDefaults> read_generation_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "generation_config.json";
  SamplingDefaults out;
  auto text = base::read_file(path, 1 << 20);
  if (!text) {
    if (text.error().code == base::ErrorCode::kNotFound) return out;
    return tl::unexpected(text.error());
  }
  auto object = parse_body(*text);
  if (!object)
    return base::fail(base::ErrorCode::kDataLoss, "{}: {}", path.string(), object.error().message);
  FieldReader reader(*object);
  out.temperature = reader.number("temperature", 0, 100).value_or(out.temperature);
  out.top_p = reader.number("top_p", 0, 1).value_or(out.top_p);
  out.top_k = static_cast<int32_t>(reader.integer("top_k", 0, INT32_MAX).value_or(out.top_k));
  if (!reader.boolean("do_sample").value_or(true)) out.temperature = 0;
  if (out.top_p <= 0) reader.fail(api_error(400, "top_p is 0; it must be above 0"));
  if (reader.error())
    return base::fail(base::ErrorCode::kDataLoss, "{}: {}", path.string(), reader.error()->message);
  return out;
}

}  // namespace headroom::openai
