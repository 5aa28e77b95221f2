// Container: which runtime this process lives in and, where it is told, the image.
#include "environment/readers.h"

namespace headroom::environment {
namespace {

std::optional<std::string> variable(const Variables& variables, std::string_view name) {
  for (const std::string& entry : variables)
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
  return std::nullopt;
}

std::optional<std::string> unquoted(std::optional<std::string> text) {
  if (text && text->size() >= 2 && text->front() == '"' && text->back() == '"')
    return text->substr(1, text->size() - 2);
  return text;
}

}  // namespace

void read_container(const Tree& tree, const Variables& variables, Manifest& out) {
  const std::string podman = tree.read("run/.containerenv").value_or("");
  auto image = unquoted(value_of(podman, "image", '='));
  std::string runtime;
  if (tree.exists("run/.containerenv"))
    runtime = "podman";
  else if (tree.exists(".dockerenv"))
    runtime = "docker";
  else if (tree.exists(".singularity.d"))
    runtime = "apptainer";
  else if (const auto said = variable(variables, "container"))
    runtime = *said;
  if (variable(variables, "KUBERNETES_SERVICE_HOST"))
    runtime += runtime.empty() ? "kubernetes" : ", kubernetes";
  for (const char* name : {"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER", "HEADROOM_IMAGE"})
    if (!image) image = variable(variables, name);
  put(out, "container.runtime", std::optional(runtime));
  put(out, "container.image", image);
  put(out, "container.image_id", unquoted(value_of(podman, "imageid", '=')));
}

}  // namespace headroom::environment
