// Local and container launches, and the way from a configuration to a launch.
#include "sweep/launcher.h"

#include <cstdlib>

#include "sweep/shell_text.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

class LocalLauncher final : public Launcher {
 public:
  std::string_view name() const override { return "local"; }
  Result<Launch> launch(const ServerJob& job) const override {
    Launch launch;
    launch.process.emplace();
    launch.process->command = job.command;
    launch.process->environment = job.environment;
    launch.process->directory = job.directory;
    launch.process->log = job.log;
    launch.process->grace_s = job.stop_s;
    launch.url = job.url.empty() ? fmt::format("http://127.0.0.1:{}", job.port) : job.url;
    launch.health = job.health;
    return launch;
  }
};

/// Fills ${port} and ${env:NAME}; ${node} stays.
class LateFiller {
 public:
  explicit LateFiller(int port) : port_(std::to_string(port)) {}
  Result<std::string> operator()(std::string_view text) const {
    std::map<std::string, std::string> variables = {{"port", port_}, {"node", "${node}"}};
    for (size_t at = 0; (at = text.find("${env:", at)) != std::string_view::npos;) {
      const size_t end = std::min(text.find('}', at), text.size());
      const std::string name(text.substr(at + 6, end - at - 6));
      const char* value = std::getenv(name.c_str());
      if (value == nullptr)
        return fail(ErrorCode::kInvalidArgument, "\"{}\": the variable {} is not set", text, name);
      variables["env:" + name] = value;
      at = end;
    }
    return fill(text, variables);
  }

 private:
  std::string port_;
};

}  // namespace

std::unique_ptr<Launcher> local_launcher() {
  return std::make_unique<LocalLauncher>();
}

std::vector<std::string> container_command(const std::string& runtime, const std::string& name,
                                           const Configuration& configuration,
                                           const std::map<std::string, std::string>& environment,
                                           double stop_s) {
  std::vector<std::string> words = {runtime, "run", "--rm", "--init", "--name", name};
  for (const auto& [variable, value] : environment)
    words.insert(words.end(), {"--env", variable + "=" + value});
  words.insert(words.end(), configuration.options.begin(), configuration.options.end());
  words.push_back(configuration.image);
  words.insert(words.end(), configuration.command.begin(), configuration.command.end());
  const std::string ended = fmt::format(
      "{} stop --time {:.0f} {} >/dev/null 2>&1; {} rm --force {} "
      ">/dev/null 2>&1",
      runtime, stop_s, name, runtime, name);
  return {"sh", "-c",
          fmt::format("trap '{}; exit 143' TERM\n{} &\nwait $!\nstatus=$?\n{}\nexit $status", ended,
                      shell_text(words), ended)};
}

Result<Launch> launch_of(const Recipe& recipe, const Configuration& configuration,
                         const std::filesystem::path& log, const std::string& name) {
  const ServerSpec& server = recipe.server;
  if (server.kind == ServerKind::kUrl) {
    Launch launch;
    const LateFiller late(0);
    HEADROOM_TRY(launch.url, late(configuration.url));
    launch.health = configuration.health;
    return launch;
  }
  ServerJob job;
  HEADROOM_TRY(job.port, free_port());
  const LateFiller late(job.port);
  Configuration filled = configuration;
  for (std::vector<std::string>* words : {&filled.command, &filled.options})
    for (std::string& word : *words) {
      HEADROOM_TRY(word, late(word));
    }
  for (auto& [variable, value] : filled.environment) {
    HEADROOM_TRY(value, late(value));
  }
  HEADROOM_TRY(job.url, late(configuration.url));
  HEADROOM_TRY(job.health, late(configuration.health));
  job.environment = filled.environment;
  job.directory = server.directory;
  job.log = log;
  job.name = name;
  job.stop_s = recipe.timeouts.stop_s;
  if (server.kind == ServerKind::kHeadroom) {
    // Elsewhere it is whatever PATH has there; here it is this very program.
    std::string program = "headroom";
    if (server.launcher.kind == LauncherKind::kLocal) {
      HEADROOM_TRY(const auto own, own_program());
      program = own.string();
    }
    job.command = {
        program,         "serve",      filled.model_path, "--port", std::to_string(job.port),
        "--served-name", recipe.model, "--drain-seconds", "0"};
    job.command.insert(job.command.end(), filled.command.begin(), filled.command.end());
  } else if (server.kind == ServerKind::kContainer) {
    job.command = container_command(server.runtime, name, filled, job.environment, job.stop_s);
    job.environment.clear();
    job.stop_s += 5;  // the runtime counts its own grace
  } else {
    job.command = filled.command;
  }
  std::unique_ptr<Launcher> launcher;
  switch (server.launcher.kind) {
    case LauncherKind::kLocal:
      launcher = local_launcher();
      break;
    case LauncherKind::kSsh:
      launcher = ssh_launcher(server.launcher, configuration.launcher_options);
      break;
    case LauncherKind::kSlurm:
      launcher = slurm_launcher(server.launcher, configuration.launcher_options);
      break;
  }
  return launcher->launch(job);
}

}  // namespace headroom::sweep
