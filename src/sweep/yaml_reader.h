// YamlNode: a YAML file read strictly, every error with file, line and what would be right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace headroom::sweep {

class YamlMap;

/// One node of a file; cheap to copy. Getters fail with kInvalidArgument and one line
/// `FILE:LINE: path: value "x" is not a …`.
class YamlNode {
 public:
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind() const;
  bool is_null() const { return kind() == Kind::kNull; }
  bool is_scalar() const { return kind() == Kind::kScalar; }
  bool is_list() const { return kind() == Kind::kList; }
  bool is_map() const { return kind() == Kind::kMap; }

  /// Any scalar, as written: `1.10` stays "1.10".
  base::Result<std::string> text() const;
  /// A text that is one of `allowed`.
  base::Result<std::string> one_of(const std::vector<std::string>& allowed) const;
  base::Result<int64_t> integer(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  /// Finite, within [low, high].
  base::Result<double> number(double low = -1e300, double high = 1e300) const;
  /// `true` or `false`, nothing else.
  base::Result<bool> boolean() const;
  base::Result<std::vector<YamlNode>> list() const;
  /// A list, or one scalar as a list of one.
  base::Result<std::vector<YamlNode>> list_or_one() const;
  base::Result<std::vector<std::string>> texts() const;  // list_or_one of texts
  /// A mapping whose keys are all in `known`; another key is an error with the nearest known one.
  base::Result<YamlMap> map(const std::vector<std::string_view>& known) const;
  /// A mapping with keys of the author's choice.
  base::Result<YamlMap> any_map() const;

  int line() const;                                  // from 1
  const std::string& path() const { return path_; }  // "search[0].tp"; empty at the top
  std::string where() const;                         // "FILE:LINE"
  /// An error at this node: "FILE:LINE: path: message".
  base::Error error(std::string message) const;

  /// The node as one line of canonical text (mapping keys sorted): for digests and differences.
  std::string canonical() const;

 private:
  friend class YamlMap;
  friend base::Result<YamlNode> read_yaml(std::string_view, const std::string&);
  struct Tree;
  friend class YamlBuilder;
  YamlNode(std::shared_ptr<const Tree> tree, std::shared_ptr<const std::string> file,
           std::string path)
      : tree_(std::move(tree)), file_(std::move(file)), path_(std::move(path)) {}
  std::shared_ptr<const Tree> tree_;
  std::shared_ptr<const std::string> file_;
  std::string path_;
};

class YamlMap {
 public:
  /// Absent, or there but null: nothing.
  std::optional<YamlNode> find(std::string_view key) const;
  /// kInvalidArgument when missing: "FILE:LINE: key "x" is missing".
  base::Result<YamlNode> need(std::string_view key) const;
  bool has(std::string_view key) const { return find(key).has_value(); }
  /// In the order of the file.
  std::vector<std::pair<std::string, YamlNode>> entries() const;
  const YamlNode& node() const { return node_; }

  // Typed reads of a key that may be absent; the default serves then.
  base::Result<std::string> text_or(std::string_view key, std::string otherwise) const;
  base::Result<double> number_or(std::string_view key, double otherwise, double low = -1e300,
                                 double high = 1e300) const;
  base::Result<int64_t> integer_or(std::string_view key, int64_t otherwise, int64_t low = INT64_MIN,
                                   int64_t high = INT64_MAX) const;
  base::Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  base::Result<std::optional<double>> maybe_number(std::string_view key, double low = -1e300,
                                                   double high = 1e300) const;
  base::Result<std::optional<int64_t>> maybe_integer(std::string_view key, int64_t low = INT64_MIN,
                                                     int64_t high = INT64_MAX) const;
  base::Result<std::vector<std::string>> texts(std::string_view key) const;  // absent: empty

 private:
  friend class YamlNode;
  explicit YamlMap(YamlNode node) : node_(std::move(node)) {}
  YamlNode node_;
};

/// One document. Duplicate keys, keys that are no scalars, several documents, unknown anchors and
/// files that expand to more than a million nodes are errors. Anchors, aliases and `<<` merges
/// work.
base::Result<YamlNode> read_yaml(std::string_view text, const std::string& file);
/// At most 8 MiB.
base::Result<YamlNode> read_yaml_file(const std::filesystem::path& file);

/// Of `known` the one that a typing error in `word` most likely meant; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace headroom::sweep
