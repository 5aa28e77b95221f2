// Builds the tree of a YAML text from yaml-cpp's events; the only place that sees its exceptions.
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <map>
#include <optional>
#include <sstream>

#include "base/file.h"
#include "sweep/yaml_tree.h"

namespace headroom::sweep {

using base::ErrorCode;
using base::fail;

constexpr size_t kLargestFile = size_t{8} << 20;
constexpr size_t kMostNodes = 1'000'000;

/// Takes the parser's events. The first thing wrong is kept in `error` and everything after it is
/// ignored.
class YamlBuilder : public YAML::EventHandler {
 public:
  using Tree = YamlNode::Tree;
  using Kind = YamlNode::Kind;
  using Node = std::shared_ptr<const Tree>;

  Node root;
  std::optional<std::pair<int, std::string>> error;  // line, message

  static YamlNode wrap(Node tree, const std::string& file) {
    return YamlNode(std::move(tree), std::make_shared<const std::string>(file), "");
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto node = std::make_shared<Tree>();
    node->line = mark.line + 1;
    done(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return complain(mark.line + 1, "an alias inside its own anchor");
    add(found->second, mark.line + 1);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = std::make_shared<Tree>();
    node->line = mark.line + 1;
    node->plain = tag != "!";
    if (!node->plain || (value != "null" && value != "~" && !value.empty())) {
      node->kind = Kind::kScalar;
      node->scalar = value;
    }
    done(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Kind::kList, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Kind::kMap, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<Tree> node;
    YAML::anchor_t anchor;
    std::optional<std::string> key;
    bool key_plain = true;
    int key_line = 0;
    std::vector<Node> merged;
    std::map<std::string, int> keys;  // with their lines
  };

  void complain(int line, std::string message) {
    if (!error) error.emplace(line, std::move(message));
  }
  void open(Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (error) return;
    auto node = std::make_shared<Tree>();
    node->kind = kind;
    node->line = mark.line + 1;
    open_.push_back({std::move(node), anchor, {}, true, 0, {}, {}});
  }
  void close() {
    if (error || open_.empty()) return;
    Open top = std::move(open_.back());
    open_.pop_back();
    for (const Node& map : top.merged)  // keys written here win over merged ones
      for (size_t i = 0; i < map->entries.size(); ++i) {
        const auto& [key, value] = map->entries[i];
        if (!top.keys.emplace(key, map->key_lines[i]).second) continue;
        top.node->entries.emplace_back(key, value);
        top.node->key_lines.push_back(map->key_lines[i]);
      }
    for (const Node& item : top.node->items) top.node->expanded += item->expanded;
    for (const auto& entry : top.node->entries) top.node->expanded += entry.second->expanded;
    if (top.node->expanded > kMostNodes)
      return complain(top.node->line, fmt::format("more than {} values", kMostNodes));
    done(std::move(top.node), top.anchor);
  }
  void done(Node node, YAML::anchor_t anchor) {
    if (error) return;
    if (anchor != 0) anchors_[anchor] = node;
    const int line = node->line;
    add(std::move(node), line);
  }
  void add(Node node, int line) {
    if (error) return;
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Open& top = open_.back();
    if (top.node->kind == Kind::kList) {
      top.node->items.push_back(std::move(node));
    } else if (!top.key) {
      if (node->kind != Kind::kScalar)
        return complain(line, "a key must be a text, not a list, a mapping or null");
      top.key = node->scalar;
      top.key_plain = node->plain;
      top.key_line = line;
      seen(top);
    } else {
      entry(top, std::move(node), line);
    }
  }
  void seen(Open& top) {
    if (*top.key == "<<" && top.key_plain) return;
    if (const auto [at, fresh] = top.keys.emplace(*top.key, top.key_line); !fresh)
      complain(top.key_line,
               fmt::format("key \"{}\" is there twice, first in line {}", at->first, at->second));
  }
  void entry(Open& top, Node node, int line) {
    const std::string key = std::move(*top.key);
    top.key.reset();
    if (key != "<<" || !top.key_plain) {
      top.node->entries.emplace_back(key, std::move(node));
      top.node->key_lines.push_back(top.key_line);
      return;
    }
    std::vector<Node> maps = node->kind == Kind::kList ? node->items : std::vector<Node>{node};
    for (Node& map : maps) {
      if (map->kind != Kind::kMap) return complain(line, "<< takes mappings only");
      top.merged.push_back(std::move(map));
    }
  }

  std::vector<Open> open_;
  std::map<YAML::anchor_t, Node> anchors_;
};

base::Result<YamlNode> read_yaml(std::string_view text, const std::string& file) {
  if (text.size() > kLargestFile)
    return fail(ErrorCode::kTooLarge, "{}: {} bytes, at most {}", file, text.size(), kLargestFile);
  YamlBuilder builder;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (!builder.error) {
      YamlBuilder next;
      if (parser.HandleNextDocument(next) && next.root)
        return fail(ErrorCode::kInvalidArgument, "{}:{}: a second document; one file holds one",
                    file, next.root->line);
    }
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::kInvalidArgument, "{}:{}: not YAML: {}", file,
                std::max(error.mark.line, 0) + 1, error.msg);
  } catch (const std::exception& error) {
    return fail(ErrorCode::kInvalidArgument, "{}: not YAML: {}", file, error.what());
  }
  if (builder.error)
    return fail(ErrorCode::kInvalidArgument, "{}:{}: {}", file, builder.error->first,
                builder.error->second);
  if (!builder.root) builder.root = std::make_shared<YamlBuilder::Tree>();
  return YamlBuilder::wrap(builder.root, file);
}

base::Result<YamlNode> read_yaml_file(const std::filesystem::path& file) {
  HEADROOM_TRY(const std::string text, base::read_file(file, kLargestFile));
  return read_yaml(text, file.string());
}

}  // namespace headroom::sweep
