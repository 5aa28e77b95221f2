// Tests of kernel selection: the table of expected choices, forced kernels, the words of refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/cpu.h"
#include "kernels/gemm/desc.h"
#include "kernels/mla_decode/desc.h"
#include "kernels/mla_prefill/desc.h"
#include "kernels/moe/desc.h"
#include "kernels/norm_rope/desc.h"
#include "kernels/router/desc.h"
#include "kernels/sample/desc.h"

namespace headroom::kernels {
namespace {

using testing::HasSubstr;

using Fields = std::map<std::string, std::string>;

/// Takes a field out of `fields`; what is left at the end was misspelt.
int number(Fields& fields, const char* name, int otherwise) {
  const auto found = fields.extract(name);
  return found ? std::stoi(found.mapped()) : otherwise;
}
KvType kv(Fields& fields) {
  const auto found = fields.extract("kv");
  return found ? parse_kv_type(found.mapped()).value() : KvType::kBf16;
}
tensor::DType weight(Fields& fields) {
  const std::string name = fields.extract("w").mapped();
  for (const auto type :
       {tensor::DType::kF32, tensor::DType::kF16, tensor::DType::kBF16, tensor::DType::kI8})
    if (tensor::dtype_name(type) == name) return type;
  ADD_FAILURE() << "weight type " << name;
  return tensor::DType::kBool;
}

/// The chosen kernel with the reference allowed, or "none".
template <typename Desc, typename Run>
std::string chosen(const char* op, std::span<const Kernel<Desc, Run>> list, const Desc& desc) {
  OpChoice choice;
  const auto found = choose(op, "auto", true, list, desc, choice);
  EXPECT_EQ(choice.refused.size() + (found ? 1 : 0), list.size());
  return found ? (*found)->name : "none";
}

std::string chosen(const std::string& op, Fields& f) {
  if (op == "mla_decode") {
    MlaDecodeDesc d;
    d.heads = number(f, "heads", 8);
    d.latent = number(f, "latent", d.latent);
    d.rope = number(f, "rope", d.rope);
    d.kv = kv(f);
    d.page_size = number(f, "page", d.page_size);
    d.max_query = number(f, "max_query", d.max_query);
    return chosen("mla_decode", mla_decode_kernels(), d);
  }
  if (op == "mla_prefill") {
    MlaPrefillDesc d;
    d.heads = number(f, "heads", 8);
    d.latent = number(f, "latent", d.latent);
    d.nope = number(f, "nope", d.nope);
    d.rope = number(f, "rope", d.rope);
    d.value = number(f, "value", d.value);
    d.kv = kv(f);
    d.page_size = number(f, "page", d.page_size);
    return chosen("mla_prefill", mla_prefill_kernels(), d);
  }
  if (op == "gemm")
    return chosen("gemm", gemm_kernels(),
                  GemmDesc{number(f, "n", 1), number(f, "k", 1), number(f, "batch", 1), weight(f)});
  if (op == "moe")
    return chosen("moe", moe_kernels(),
                  MoeDesc{number(f, "hidden", 1), number(f, "inter", 1), number(f, "experts", 1),
                          number(f, "top_k", 1), weight(f), 16});
  if (op == "router")
    return chosen("router", router_kernels(),
                  RouterDesc{number(f, "experts", 8), number(f, "top_k", 2)});
  if (op == "rms_norm")
    return chosen("rms_norm", rms_norm_kernels(), RmsNormDesc{number(f, "width", 1)});
  if (op == "rope_query")
    return chosen("rope_query", rope_query_kernels(),
                  RopeQueryDesc{number(f, "heads", 8), 128, number(f, "rope", 64)});
  if (op == "kv_write")
    return chosen(
        "kv_write", kv_write_kernels(),
        KvWriteDesc{number(f, "latent", 512), number(f, "rope", 64), kv(f), number(f, "page", 16)});
  if (op == "sample") return chosen("sample", sample_kernels(), SampleDesc{number(f, "vocab", 1)});
  ADD_FAILURE() << "op " << op;
  return "";
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

TEST(Selection, FollowsTheTable) {
  std::ifstream table(HEADROOM_SOURCE_DIR "/src/kernels/plan/selection.txt");
  ASSERT_TRUE(table) << "selection.txt";
  const auto& features = base::cpu_features();
  const size_t column = features.avx512 ? 2 : features.avx2 ? 3 : 4;
  int checked = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(trimmed(cell));
    ASSERT_EQ(cells.size(), 5u) << line;
    Fields fields;
    std::stringstream pairs(cells[1]);
    for (std::string pair; pairs >> pair;) {
      const size_t equals = pair.find('=');
      ASSERT_NE(equals, std::string::npos) << line;
      fields[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    EXPECT_EQ(chosen(cells[0], fields), cells[column]) << line;
    EXPECT_TRUE(fields.empty()) << "unknown field in: " << line;
    ++checked;
  }
  EXPECT_GT(checked, 40);
}

/// The other columns: the same test in a process whose instruction set is capped.
TEST(Selection, FollowsTheTableOnLesserMachines) {
  for (const char* isa : {"avx2", "reference"}) {
    const std::string command =
        fmt::format("HEADROOM_ISA={} '{}' --gtest_filter=Selection.FollowsTheTable 2>&1", isa,
                    std::filesystem::read_symlink("/proc/self/exe").string());
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
}

/// A list whose answers do not depend on the machine.
struct ToyDesc {
  std::string text() const { return "toy"; }
};
using ToyRun = void (*)();
using ToyKernel = Kernel<ToyDesc, ToyRun>;
constexpr auto kTakes = [](const ToyDesc&) -> std::optional<Reason> { return std::nullopt; };
constexpr auto kNeedsCuda = [](const ToyDesc&) -> std::optional<Reason> {
  return Reason::kNeedsCuda;
};
constexpr auto kHeads = [](const ToyDesc&) -> std::optional<Reason> { return Reason::kHeadCount; };
constexpr ToyKernel kToy[] = {{"cuda", kNeedsCuda, nullptr},
                              {"wide", kTakes, nullptr},
                              {"narrow", kTakes, nullptr},
                              {"reference", kTakes, nullptr}};
constexpr ToyKernel kLame[] = {{"wide", kHeads, nullptr}, {"reference", kTakes, nullptr}};

template <size_t n>
auto pick(const ToyKernel (&list)[n], std::string_view asked, bool allow, OpChoice& choice) {
  return choose<ToyDesc, ToyRun>("toy_op", asked, allow, list, ToyDesc{}, choice);
}

TEST(Choose, TakesTheFirstAndRecordsEveryRefusal) {
  OpChoice choice;
  const auto found = pick(kToy, "auto", false, choice);
  ASSERT_TRUE(found);
  EXPECT_STREQ((*found)->name, "wide");
  EXPECT_EQ(choice.chosen, "wide");
  EXPECT_EQ(choice.op, "toy_op");
  EXPECT_EQ(choice.descriptor, "toy");
  ASSERT_EQ(choice.refused.size(), 3u);
  EXPECT_EQ(choice.refused[0].reason, Reason::kNeedsCuda);
  EXPECT_EQ(choice.refused[1].reason, Reason::kLowerRank);
  EXPECT_EQ(choice.refused[2].reason, Reason::kLowerRank);
}

TEST(Choose, AForcedKernelServesOrTheErrorQuotesItsReason) {
  OpChoice choice;
  const auto narrow = pick(kToy, "narrow", false, choice);
  ASSERT_TRUE(narrow);
  EXPECT_STREQ((*narrow)->name, "narrow");
  EXPECT_EQ(choice.refused[1].reason, Reason::kNotRequested);

  OpChoice failed;
  const auto cuda = pick(kToy, "cuda", true, failed);
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().code, base::ErrorCode::kUnsupported);
  EXPECT_THAT(cuda.error().message, HasSubstr("toy_op (toy)"));
  EXPECT_THAT(cuda.error().message, HasSubstr("cuda: needs a CUDA device"));
  EXPECT_TRUE(failed.chosen.empty());
}

TEST(Choose, TheReferenceServesOnlyWhenAllowedOrAskedFor) {
  OpChoice refused, allowed, asked;
  const auto no = pick(kLame, "auto", false, refused);
  ASSERT_FALSE(no);
  EXPECT_THAT(no.error().message, HasSubstr("wide: does not handle this head count"));
  EXPECT_THAT(no.error().message, HasSubstr("--allow-reference"));
  EXPECT_TRUE(pick(kLame, "auto", true, allowed));
  EXPECT_EQ(allowed.chosen, "reference");
  EXPECT_TRUE(pick(kLame, "reference", false, asked));
  EXPECT_EQ(asked.chosen, "reference");
}

TEST(Choose, AnUnknownNameListsTheNamesThereAre) {
  OpChoice choice;
  const auto found = pick(kToy, "wode", true, choice);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, base::ErrorCode::kInvalidArgument);
  EXPECT_THAT(found.error().message, HasSubstr("`wode`"));
  EXPECT_THAT(found.error().message, HasSubstr("auto, cuda, wide, narrow, reference"));
}

TEST(Lists, EndWithTheReferenceAndHaveTheSameNames) {
  const auto names = [](const auto& list) {
    std::vector<std::string> all;
    for (const auto& kernel : list) all.emplace_back(kernel.name);
    return all;
  };
  const std::vector<std::string> expected{"avx512", "avx2", "reference"};
  EXPECT_EQ(names(gemm_kernels()), expected);
  EXPECT_EQ(names(mla_decode_kernels()), expected);
  EXPECT_EQ(names(mla_prefill_kernels()), expected);
  EXPECT_EQ(names(moe_kernels()), expected);
  EXPECT_EQ(names(rms_norm_kernels()), expected);
  EXPECT_EQ(names(rope_query_kernels()), expected);
  EXPECT_EQ(names(kv_write_kernels()), expected);
  EXPECT_EQ(names(router_kernels()), expected);
  EXPECT_EQ(names(sample_kernels()), expected);
}

TEST(Reasons, EachHasItsWords) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(Reason::kLowerRank); ++i)
    words.insert(reason_text(static_cast<Reason>(i)));
  EXPECT_EQ(words.size(), static_cast<size_t>(Reason::kLowerRank) + 1);
  EXPECT_FALSE(words.contains("unknown"));
}

}  // namespace
}  // namespace headroom::kernels
