// The strict YAML reader: types, unknown and double keys, anchors, and hostile files.
#include "sweep/yaml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom::sweep {
namespace {

using testing::HasSubstr;

std::string message(std::string_view text) {
  const auto root = read_yaml(text, "r.yaml");
  return root ? "" : root.error().message;
}

TEST(YamlReader, ReadsTypedValues) {
  const auto root = read_yaml("a: 3\nb: 2.50\nc: true\nd: [x, 'y z']\ne: {k: 1.10}\nf: one\n", "r");
  ASSERT_TRUE(root) << root.error().message;
  const YamlMap map = root->map({"a", "b", "c", "d", "e", "f", "g"}).value();
  EXPECT_EQ(map.need("a")->integer(), 3);
  EXPECT_EQ(map.need("b")->number(), 2.5);
  EXPECT_EQ(map.boolean_or("c", false), true);
  EXPECT_EQ(map.texts("d").value(), (std::vector<std::string>{"x", "y z"}));
  EXPECT_EQ(map.texts("f").value(), std::vector<std::string>{"one"});
  EXPECT_EQ(map.need("e")->any_map()->need("k")->text(), "1.10");
  EXPECT_EQ(map.integer_or("g", 7), 7);
  EXPECT_EQ(map.need("e")->any_map()->need("k")->path(), "e.k");
}

TEST(YamlReader, AnUnknownKeyIsToldWithItsLineAndTheNearestOne) {
  const auto root = read_yaml("name: x\nsearch:\n  - tp: 8\n    concurency: 4\n", "r.yaml");
  const auto entry = root->any_map()->need("search")->list()->front();
  EXPECT_EQ(entry.map({"tp", "ep", "concurrency"}).error().message,
            "r.yaml:4: key \"concurency\" is not known here (search[0]); did you mean "
            "\"concurrency\"?; known: tp, ep, concurrency");
  EXPECT_EQ(entry.map({"tp", "zz"}).error().message,
            "r.yaml:4: key \"concurency\" is not known here (search[0]); known: tp, zz");
}

TEST(YamlReader, TheLineOfAnUnknownKeyIsItsOwnAndNotItsValues) {
  const auto root = read_yaml("name: x\nserch:\n  - tp: 8\n", "r.yaml");
  EXPECT_THAT(root->map({"name", "search"}).error().message,
              HasSubstr("r.yaml:2: key \"serch\" is not known here"));
  EXPECT_EQ(message("a:\n  b: 1\nc: 2\na: 3\n"),
            "r.yaml:4: key \"a\" is there twice, first in line 1");
}

TEST(YamlReader, WrongTypesNameTheValueAndWhatWouldBeRight) {
  const YamlMap map =
      read_yaml("a: four\nb: [1]\nc: '4'\nd: yes\ne: 9\nf: {x: 1}\n", "r.yaml")->any_map().value();
  EXPECT_EQ(map.need("a")->integer().error().message,
            "r.yaml:1: a: value \"four\" is not a whole number");
  EXPECT_EQ(map.need("b")->number().error().message,
            "r.yaml:2: b: a number is due, here is a list");
  EXPECT_EQ(map.need("c")->integer().error().message,
            "r.yaml:3: c: value \"4\" is not a whole number");
  EXPECT_EQ(map.need("d")->boolean().error().message,
            "r.yaml:4: d: value \"yes\" is neither true nor false");
  EXPECT_EQ(map.need("e")->integer(1, 8).error().message,
            "r.yaml:5: e: value 9 is not from 1 to 8");
  EXPECT_EQ(map.need("f")->list().error().message, "r.yaml:6: f: a list is due, here is a mapping");
  EXPECT_EQ(map.need("g").error().message, "r.yaml:1: key \"g\" is missing");
  EXPECT_EQ(map.need("a")->one_of({"for", "fire"}).error().message,
            "r.yaml:1: a: value \"four\" is not one of for, fire; did you mean \"for\"?");
}

TEST(YamlReader, DoubleKeysAndOddKeysAreErrors) {
  EXPECT_EQ(message("a: 1\nb: 2\na: 3\n"), "r.yaml:3: key \"a\" is there twice, first in line 1");
  EXPECT_THAT(message("[1, 2]: 3\n"), HasSubstr("r.yaml:1: a key must be a text"));
  EXPECT_THAT(message("a: [1\nb: 2\n"), HasSubstr("r.yaml:2: not YAML"));
  EXPECT_THAT(message("a: *x\n"), HasSubstr("not YAML"));
  EXPECT_THAT(message("a: 1\n---\nb: 2\n"), HasSubstr("r.yaml:3: a second document"));
  EXPECT_EQ(message(""), "");
}

TEST(YamlReader, AnchorsAndMergesWorkAndBombsDoNot) {
  const auto root = read_yaml("x: &x {p: 1, q: 2}\ny:\n  <<: *x\n  q: 3\n", "r");
  ASSERT_TRUE(root) << root.error().message;
  const YamlMap y = root->any_map()->need("y")->any_map().value();
  EXPECT_EQ(y.need("p")->integer(), 1);
  EXPECT_EQ(y.need("q")->integer(), 3);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    bomb += fmt::format("a{0}: &a{0} [", i);
    for (int j = 0; j < 10; ++j) bomb += fmt::format("{}*a{}", j ? ", " : "", i - 1);
    bomb += "]\n";
  }
  EXPECT_THAT(message(bomb), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(message("a: &a [*a]\n"), HasSubstr("r.yaml:1: "));
}

TEST(YamlReader, CanonicalTextForgetsOrderAndLayout) {
  EXPECT_EQ(read_yaml("b: [1, x]\na: {d: 2, c: ~}\n", "r")->canonical(),
            read_yaml("a:\n  c:\n  d: 2\nb:\n- 1\n- \"x\"\n", "s")->canonical());
}

TEST(YamlReader, EveryTruncationAndMutationIsReadOrRefused) {
  const std::string text =
      "name: x\nsearch:\n  - {tp: [1, 2], conc: &c {start: 4, end: 64}}\n  - <<: *c\n    flags: "
      "{a: \"b\\n\", 'c': |\n  text\n }\n";
  for (size_t n = 0; n <= text.size(); ++n) (void)read_yaml(text.substr(0, n), "r");
  std::mt19937 random(7);
  for (int i = 0; i < 4000; ++i) {
    std::string mutated = text;
    for (int k = 0; k < 3; ++k)
      mutated[random() % mutated.size()] = "{}[]:,&*|>'\"\n \t-#!%@x1\0\x80"[random() % 26];
    if (const auto root = read_yaml(mutated, "r")) (void)root->canonical();
  }
  EXPECT_THAT(message(std::string(100'000, '[')), HasSubstr("r.yaml"));
}

}  // namespace
}  // namespace headroom::sweep
