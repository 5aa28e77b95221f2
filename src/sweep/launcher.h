// Launchers: how a configuration's command comes to run: here, by ssh, by Slurm, in a container.
#pragma once

#include <memory>
#include <string>

#include "sweep/plan.h"
#include "sweep/server.h"

namespace headroom::sweep {

/// What a launcher turns into a local process: a server's command with its port chosen.
struct ServerJob {
  std::vector<std::string> command;
  std::map<std::string, std::string> environment;
  std::string directory;
  int port = 0;
  std::string url;  // the recipe's, or empty for the launcher's own
  std::string health;
  std::filesystem::path log;
  std::string name;  // unique on this machine: of containers and jobs
  double stop_s = 20;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  virtual std::string_view name() const = 0;
  /// The local process that runs the job and ends it when it is told to stop (SIGTERM).
  virtual base::Result<Launch> launch(const ServerJob& job) const = 0;
};

std::unique_ptr<Launcher> local_launcher();
std::unique_ptr<Launcher> ssh_launcher(const LauncherSpec& spec, std::vector<std::string> options);
std::unique_ptr<Launcher> slurm_launcher(const LauncherSpec& spec,
                                         std::vector<std::string> options);

/// `docker run …` for a container's configuration, in the foreground, ended with the runtime's own
/// stop: a shell script, since a killed client would leave the container.
std::vector<std::string> container_command(const std::string& runtime, const std::string& name,
                                           const Configuration& configuration,
                                           const std::map<std::string, std::string>& environment,
                                           double stop_s);

/// The launch of a configuration: port chosen, ${port} and ${env:…} filled in.
base::Result<Launch> launch_of(const Recipe& recipe, const Configuration& configuration,
                               const std::filesystem::path& log, const std::string& name);

}  // namespace headroom::sweep
