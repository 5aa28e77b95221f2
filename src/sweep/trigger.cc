// The triggers: git refs, packages, answers of URLs, commands, images and files.
#include "sweep/trigger.h"

#include <simdjson.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "http/client.h"
#include "sweep/child_process.h"
#include "sweep/plan.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

Result<std::string> pointed(const std::string& where, const std::string& json,
                            const std::string& pointer) {
  simdjson::dom::parser parser;
  simdjson::dom::element root, found;
  if (parser.parse(json).get(root) != simdjson::SUCCESS)
    return fail(ErrorCode::kUnavailable, "{}: the answer is not JSON", where);
  if (root.at_pointer(pointer).get(found) != simdjson::SUCCESS)
    return fail(ErrorCode::kUnavailable, "{}: the answer has no {}", where, pointer);
  std::string_view text;
  return found.get(text) == simdjson::SUCCESS ? std::string(text) : simdjson::minify(found);
}

class GitRef final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    HEADROOM_TRY(const std::string lines, command_output({"git", "ls-remote", "--exit-code", "--",
                                                          spec().object, spec().ref}));
    return lines.substr(0, lines.find_first_of(" \t\n"));
  }
};

/// Asked by the package managers themselves, so that the user's registries and proxies count.
class Package final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    const std::string& name = spec().object;
    if (spec().ref == "npm") return command_output({"npm", "view", name, "version"});
    if (spec().ref == "debian") {
      HEADROOM_TRY(const std::string text, command_output({"apt-cache", "policy", name}));
      const size_t at = text.find("Candidate: ");
      if (at == std::string::npos)
        return fail(ErrorCode::kUnavailable, "apt-cache policy {}: no candidate", name);
      return text.substr(at + 11, text.find('\n', at) - at - 11);
    }
    // "vllm (0.18.0)"
    HEADROOM_TRY(const std::string text,
                 command_output({"python3", "-m", "pip", "index", "versions", name}));
    const size_t open = text.find('('), close = text.find(')');
    if (open == std::string::npos || close == std::string::npos || close < open)
      return fail(ErrorCode::kUnavailable, "pip index versions {}: no version in its answer", name);
    return text.substr(open + 1, close - open - 1);
  }
};

class UrlAnswer final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    const std::string& url = spec().object;
    const size_t scheme = url.find("://");
    const size_t path = url.find('/', scheme == std::string::npos ? 0 : scheme + 3);
    HEADROOM_TRY(const http::Url server, http::parse_url(url.substr(0, path)));
    http::ClientOptions options;
    options.headers = {"User-Agent: headroom", "Accept: application/json, */*"};
    HEADROOM_TRY(const http::Response response,
                 http::get(server, path == std::string::npos ? "/" : url.substr(path), options));
    if (response.head.status != 200)
      return fail(ErrorCode::kUnavailable, "{}: status {}", url, response.head.status);
    if (!spec().pointer.empty()) return pointed(url, response.body, spec().pointer);
    return trimmed(response.body);
  }
};

class CommandOutput final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    HEADROOM_TRY(const std::string text, command_output({"sh", "-c", spec().object}));
    if (!spec().pointer.empty()) return pointed(spec().object, text, spec().pointer);
    return text;
  }
};

class ImageDigest final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    // Whichever of the tools is there; the digest of the manifest is the same for all of them.
    HEADROOM_TRY(const std::string manifest,
                 command_output({"sh", "-c",
                                 "docker manifest inspect \"$0\" || podman manifest inspect \"$0\" "
                                 "|| skopeo inspect --raw \"docker://$0\"",
                                 spec().object}));
    return "manifest:" + sha256_hex(manifest);
  }
};

class FileDigest final : public Trigger {
 public:
  using Trigger::Trigger;
  Result<std::string> value() const override {
    HEADROOM_TRY(const std::string text, base::read_file(spec().object));
    return sha256_hex(text);
  }
};

}  // namespace

std::unique_ptr<Trigger> make_trigger(const TriggerSpec& spec) {
  switch (spec.kind) {
    case TriggerKind::kGit:
      return std::make_unique<GitRef>(spec);
    case TriggerKind::kPackage:
      return std::make_unique<Package>(spec);
    case TriggerKind::kUrl:
      return std::make_unique<UrlAnswer>(spec);
    case TriggerKind::kCommand:
      return std::make_unique<CommandOutput>(spec);
    case TriggerKind::kImage:
      return std::make_unique<ImageDigest>(spec);
    case TriggerKind::kFile:
      return std::make_unique<FileDigest>(spec);
  }
  return nullptr;
}

Result<std::string> command_output(const std::vector<std::string>& command, double timeout_s) {
  std::string folder = (fs::temp_directory_path() / "headroom-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return fail(ErrorCode::kIo, "{}: no temporary folder", folder);
  struct Remove {
    const std::string& folder;
    ~Remove() {
      std::error_code ignored;
      fs::remove_all(folder, ignored);
    }
  } const remove{folder};
  ChildOptions options;
  options.log = fs::path(folder) / "out";
  options.grace_s = 1;
  options.environment = {{"GIT_TERMINAL_PROMPT", "0"}};
  const std::string errors = folder + "/err";
  options.command = {"sh", "-c", "errors=$0; exec \"$@\" 2>\"$errors\"", errors};
  options.command.insert(options.command.end(), command.begin(), command.end());
  HEADROOM_TRY(ChildProcess child, ChildProcess::start(options));
  const int64_t start = base::now_ns();
  while (child.running()) {
    if (static_cast<double>(base::now_ns() - start) * 1e-9 > timeout_s) {
      child.stop();
      return fail(ErrorCode::kUnavailable, "{}: no answer in {} s", fmt::join(command, " "),
                  timeout_s);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (child.exit_code() != 0) {
    std::string said = trimmed(log_tail(errors, 2));
    if (said.empty()) said = trimmed(log_tail(options.log, 2));
    return fail(ErrorCode::kUnavailable, "{}: {}{}", fmt::join(command, " "), child.end_text(),
                said.empty() ? "" : ": " + said);
  }
  HEADROOM_TRY(std::string output, base::read_file(options.log, size_t{16} << 20));
  return trimmed(std::move(output));
}

}  // namespace headroom::sweep
