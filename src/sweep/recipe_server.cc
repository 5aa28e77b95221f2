// The recipe's `server` section: what is started, where, and how it shows its health.
#include "sweep/recipe_parts.h"

namespace headroom::sweep {

using base::Result;

namespace {

/// A list of words is run as it is, one text by the shell.
Result<std::vector<std::string>> command_words(const YamlNode& node) {
  if (node.is_scalar()) {
    HEADROOM_TRY(std::string text, node.text());
    return std::vector<std::string>{"sh", "-c", std::move(text)};
  }
  HEADROOM_TRY(std::vector<std::string> words, node.texts());
  if (words.empty()) return tl::unexpected(node.error("an empty command"));
  return words;
}

Result<> read_headroom(const YamlNode& node, Recipe& recipe) {
  recipe.server.kind = ServerKind::kHeadroom;
  HEADROOM_TRY(const YamlMap map, node.map({"model", "args"}));
  HEADROOM_TRY(const YamlNode model, map.need("model"));
  HEADROOM_TRY(const std::string path, model.text());
  recipe.server.model_path = beside(recipe, path);
  HEADROOM_TRY(recipe.server.command, map.texts("args"));
  return {};
}

Result<> read_container(const YamlNode& node, Recipe& recipe) {
  recipe.server.kind = ServerKind::kContainer;
  HEADROOM_TRY(const YamlMap map, node.map({"image", "runtime", "options", "args"}));
  HEADROOM_TRY(const YamlNode image, map.need("image"));
  HEADROOM_TRY(recipe.server.image, image.text());
  recipe.server.runtime = "docker";
  if (const auto runtime = map.find("runtime")) {
    HEADROOM_TRY(recipe.server.runtime, runtime->one_of({"docker", "podman"}));
  }
  HEADROOM_TRY(recipe.server.options, map.texts("options"));
  HEADROOM_TRY(recipe.server.command, map.texts("args"));
  return {};
}

Result<> read_launcher(const YamlNode& node, Recipe& recipe) {
  LauncherSpec& launcher = recipe.server.launcher;
  if (node.is_scalar()) return node.one_of({"local"}).map([](const std::string&) {});
  HEADROOM_TRY(const YamlMap map, node.map({"ssh", "slurm"}));
  const auto entries = map.entries();
  if (entries.size() != 1) return tl::unexpected(node.error("one of ssh, slurm is due"));
  const YamlNode& inner = entries.front().second;
  if (entries.front().first == "ssh") {
    launcher.kind = LauncherKind::kSsh;
    HEADROOM_TRY(const YamlMap ssh, inner.map({"host", "options", "forward", "directory"}));
    HEADROOM_TRY(const YamlNode host, ssh.need("host"));
    HEADROOM_TRY(launcher.host, host.text());
    if (launcher.host.empty() || launcher.host.front() == '-')
      return tl::unexpected(host.error("not the name of a host"));
    HEADROOM_TRY(launcher.options, ssh.texts("options"));
    HEADROOM_TRY(launcher.forward, ssh.boolean_or("forward", true));
    HEADROOM_TRY(launcher.directory, ssh.text_or("directory", ""));
    return {};
  }
  launcher.kind = LauncherKind::kSlurm;
  HEADROOM_TRY(const YamlMap slurm, inner.map({"options", "directory"}));
  HEADROOM_TRY(launcher.options, slurm.texts("options"));
  HEADROOM_TRY(launcher.directory, slurm.text_or("directory", ""));
  return {};
}

}  // namespace

Result<> read_server(const YamlNode& node, Recipe& recipe) {
  HEADROOM_TRY(const YamlMap map,
               node.map({"headroom", "command", "container", "url", "address", "environment",
                         "directory", "health", "launcher", "facts"}));
  ServerSpec& server = recipe.server;
  int kinds = 0;
  for (const char* kind : {"headroom", "command", "container", "url"}) kinds += map.has(kind);
  if (kinds != 1)
    return tl::unexpected(
        node.error("exactly one of headroom, command, container and url says what serves"));
  if (const auto inner = map.find("headroom")) HEADROOM_TRY_VOID(read_headroom(*inner, recipe));
  if (const auto inner = map.find("container")) HEADROOM_TRY_VOID(read_container(*inner, recipe));
  if (const auto inner = map.find("command")) {
    server.kind = ServerKind::kCommand;
    HEADROOM_TRY(server.command, command_words(*inner));
  }
  if (const auto inner = map.find("url")) {
    server.kind = ServerKind::kUrl;
    HEADROOM_TRY(server.url, inner->text());
    server.health = "/v1/models";
    for (const char* key : {"environment", "directory", "launcher", "address"})
      if (const auto other = map.find(key))
        return tl::unexpected(other->error("nothing is started for a server with a url"));
  }
  if (const auto address = map.find("address")) {
    HEADROOM_TRY(server.url, address->text());
  }
  HEADROOM_TRY(server.directory, map.text_or("directory", ""));
  server.directory = beside(recipe, server.directory);
  HEADROOM_TRY(server.health, map.text_or("health", server.health));
  if (const auto environment = map.find("environment")) {
    HEADROOM_TRY(server.environment, text_map(*environment));
  }
  if (const auto facts = map.find("facts")) {
    HEADROOM_TRY_VOID(facts
                          ->map({"framework", "version", "precision", "kv", "attention",
                                 "speculative", "checkpoint_digest", "pp"})
                          .map([](const YamlMap&) {}));
    HEADROOM_TRY(server.facts, text_map(*facts));
  }
  if (const auto launcher = map.find("launcher")) {
    HEADROOM_TRY_VOID(read_launcher(*launcher, recipe));
  }
  return {};
}

}  // namespace headroom::sweep
