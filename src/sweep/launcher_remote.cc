// Launching by ssh and by Slurm: shell scripts run as local processes, so that one guardian ends
// all.
#include <unistd.h>

#include "http/url.h"
#include "sweep/launcher.h"
#include "sweep/shell_text.h"

namespace headroom::sweep {

using base::Result;

namespace {

/// `cd DIR && exec env A=b command…`, quoted for a shell.
std::string remote_command(const ServerJob& job, const std::string& directory) {
  std::vector<std::string> words = {"env"};
  for (const auto& [name, value] : job.environment) words.push_back(name + "=" + value);
  words.insert(words.end(), job.command.begin(), job.command.end());
  const std::string command = "exec " + shell_text(words);
  return directory.empty() ? command : fmt::format("cd {} && {}", shell_text({directory}), command);
}

class SshLauncher final : public Launcher {
 public:
  SshLauncher(LauncherSpec spec, std::vector<std::string> options)
      : spec_(std::move(spec)), options_(std::move(options)) {}
  std::string_view name() const override { return "ssh"; }

  Result<Launch> launch(const ServerJob& job) const override {
    // The far side ends with the connection: its input ends then, and the group is told to stop.
    // The watcher reads by itself: a child of its own would hold the connection open behind it.
    const std::string script = fmt::format(
        "exec 3<&0\n"
        "setsid sh -c {} </dev/null 3<&- & p=$!\n"
        "{{ while read -r _ <&3; do :; done; kill -TERM -$p; i=0; while kill -0 -$p && [ $i -lt {} "
        "]; do sleep 0.1; "
        "i=$((i+1)); done; kill -KILL -$p; }} >/dev/null 2>&1 & w=$!\n"
        "wait $p; s=$?\n"
        "kill $w 2>/dev/null\n"
        "exit $s\n",
        shell_text({remote_command(job, spec_.directory)}), static_cast<int>(job.stop_s * 10));
    HEADROOM_TRY(const int local, free_port());
    Launch launch;
    launch.process.emplace();
    std::vector<std::string>& words = launch.process->command;
    words = {"ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=15"};
    if (spec_.forward)
      words.insert(words.end(), {"-o", "ExitOnForwardFailure=yes", "-L",
                                 fmt::format("127.0.0.1:{}:127.0.0.1:{}", local, job.port)});
    words.insert(words.end(), options_.begin(), options_.end());
    // `sh -c` whatever the user's login shell is.
    words.insert(words.end(), {"--", spec_.host, "sh -c " + shell_text({script})});
    launch.process->log = job.log;
    launch.process->hold_stdin = true;
    launch.process->grace_s = job.stop_s + 2;
    launch.health = job.health;
    launch.url = job.url;
    if (launch.url.empty())
      launch.url =
          spec_.forward
              ? fmt::format("http://127.0.0.1:{}", local)
              : fmt::format("http://{}:{}", spec_.host.substr(spec_.host.find('@') + 1), job.port);
    return launch;
  }

 private:
  LauncherSpec spec_;
  std::vector<std::string> options_;
};

class SlurmLauncher final : public Launcher {
 public:
  SlurmLauncher(LauncherSpec spec, std::vector<std::string> options)
      : spec_(std::move(spec)), options_(std::move(options)) {}
  std::string_view name() const override { return "slurm"; }

  Result<Launch> launch(const ServerJob& job) const override {
    namespace fs = std::filesystem;
    const fs::path node = fs::absolute(job.log.string() + ".node");
    const fs::path output = fs::absolute(job.log.string() + ".job");
    std::string text = fmt::format("#!/bin/sh\n#SBATCH --job-name={}\n#SBATCH --output={}\n",
                                   job.name, output.string());
    for (const std::string& option : options_) text += "#SBATCH " + option + "\n";
    text += remote_command(job, spec_.directory) + "\n";
    // Submits, waits for the node, follows the job, and cancels it when told to stop or killed. The
    // script comes in a variable: it may hold secrets, which neither a file nor `ps` should show.
    const std::string follow = fmt::format(
        "script=$HEADROOM_SBATCH\n"
        "unset HEADROOM_SBATCH\n"
        "id=$(printf '%s' \"$script\" | sbatch --parsable) || exit 125\n"
        "id=${{id%%;*}}\n"
        "echo \"job $id\"\n"
        "trap 'scancel $id; exit 143' TERM INT HUP\n"
        "while :; do\n"
        "  set -- $(squeue --noheader --jobs=$id --format='%T %N' 2>/dev/null)\n"
        "  case $1 in\n"
        "    RUNNING) [ -e {0} ] || {{ echo \"$2\" > {0}.part && mv {0}.part {0}; }} ;;\n"
        "    PENDING|CONFIGURING) ;;\n"
        "    COMPLETING|'') break ;;\n"
        "    *) echo \"job $id: $1\"; break ;;\n"
        "  esac\n"
        "  sleep 1 & wait $!\n"
        "done\n"
        "echo \"job $id ended\"\n"
        "tail -n 5 {1} 2>/dev/null\n"
        "exit 1\n",
        shell_text({node.string()}), shell_text({output.string()}));
    Launch launch;
    launch.process.emplace();
    launch.process->command = {"sh", "-c", follow};
    launch.process->environment["HEADROOM_SBATCH"] = text;
    launch.process->log = job.log;
    launch.process->grace_s = job.stop_s + 5;
    launch.node_file = node;
    launch.health = job.health;
    launch.url = job.url.empty() ? fmt::format("http://${{node}}:{}", job.port) : job.url;
    return launch;
  }

 private:
  LauncherSpec spec_;
  std::vector<std::string> options_;
};

}  // namespace

std::unique_ptr<Launcher> ssh_launcher(const LauncherSpec& spec, std::vector<std::string> options) {
  return std::make_unique<SshLauncher>(spec, std::move(options));
}
std::unique_ptr<Launcher> slurm_launcher(const LauncherSpec& spec,
                                         std::vector<std::string> options) {
  return std::make_unique<SlurmLauncher>(spec, std::move(options));
}

}  // namespace headroom::sweep
