// The reader against sound files, single faults, and seeded mutations and truncations.
#include "tensor/safetensors.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/rng.h"
#include "tensor/safetensors_writer.h"

namespace headroom::tensor {
namespace {

using ::testing::HasSubstr;

std::string file_with(std::string_view header, size_t data_bytes) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i));
  file += header;
  file.append(data_bytes, '\x01');
  return file;
}

base::Result<std::vector<Tensor>> read(std::string_view file) {
  return read_safetensors("f.safetensors", std::as_bytes(std::span(file.data(), file.size())));
}

std::string error_of(std::string_view file) {
  const auto result = read(file);
  return result ? "" : result.error().message;
}

TEST(Safetensors, ReadsWhatTheWriterWrites) {
  const std::string bytes(24, '\x07');
  const auto data = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const std::vector<Tensor> written = {
      {"a", "", DType::kF32, {2, 3}, data},
      {"empty", "", DType::kBF16, {0, 7}, {}},
      {"scalar", "", DType::kI64, {}, data.first(8)},
  };
  const std::string file = encode_safetensors(written);
  const auto tensors = read(file);
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 3u);
  for (const Tensor& tensor : *tensors) {
    const auto& original = *std::find_if(written.begin(), written.end(),
                                         [&](const Tensor& t) { return t.name == tensor.name; });
    EXPECT_EQ(tensor.shape, original.shape);
    EXPECT_EQ(tensor.dtype, original.dtype);
    EXPECT_TRUE(std::ranges::equal(tensor.data, original.data));
  }
  EXPECT_EQ((*tensors)[0].data.data() - reinterpret_cast<const std::byte*>(file.data()),
            static_cast<std::ptrdiff_t>(file.size() - 32));
}

TEST(Safetensors, EachFaultIsNamed) {
  const auto one = [](std::string_view entry, size_t bytes = 8) {
    return error_of(file_with(fmt::format(R"({{"w":{}}})", entry), bytes));
  };
  EXPECT_EQ(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})"), "");
  EXPECT_THAT(error_of("abc"), HasSubstr("f.safetensors: 3 bytes"));
  EXPECT_THAT(error_of(std::string("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)),
              HasSubstr("header length 18446744073709551615"));
  EXPECT_THAT(error_of(file_with("{", 0)), HasSubstr("header: not valid JSON"));
  EXPECT_THAT(error_of(file_with("[]", 0)), HasSubstr("header is an array"));
  EXPECT_THAT(one("3"), HasSubstr("tensor `w`: is 3, not an object"));
  EXPECT_THAT(one(R"({"shape":[2],"data_offsets":[0,8]})"), HasSubstr("`dtype`"));
  EXPECT_THAT(one(R"({"dtype":"F7","shape":[2],"data_offsets":[0,8]})"),
              HasSubstr("unknown dtype `F7`"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), HasSubstr("-2"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8,9]})"), HasSubstr("pair"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), HasSubstr("backwards"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,12]})"),
              HasSubstr("reach past the 8 data bytes"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"),
              HasSubstr("F32 [3] needs 12 bytes, data_offsets [0, 8] give 8"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]})"),
              HasSubstr("too many"));
  EXPECT_THAT(one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 9),
              HasSubstr("1 bytes after the last tensor"));
  const auto two = [](int begin, size_t bytes, const char* second = "v") {
    return error_of(
        file_with(fmt::format(R"({{"w":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},
        "{}":{{"dtype":"U8","shape":[4],"data_offsets":[{},{}]}}}})",
                              second, begin, begin + 4),
                  bytes));
  };
  EXPECT_EQ(two(4, 8), "");
  EXPECT_THAT(two(3, 7), HasSubstr("tensor `v`: begins at byte 3, inside tensor `w`"));
  EXPECT_THAT(two(5, 9), HasSubstr("1 bytes after the tensor before"));
  EXPECT_THAT(two(4, 8, "w"), HasSubstr("tensor `w`: named twice"));
}

TEST(Safetensors, MutatedAndTruncatedFilesNeverEscapeTheirBounds) {
  const std::string bytes(64, '\x11');
  const auto data = std::as_bytes(std::span(bytes.data(), bytes.size()));
  const std::string sound = encode_safetensors(std::vector<Tensor>{
      {"model.norm.weight", "", DType::kBF16, {16}, data.first(32)},
      {"bias", "", DType::kF32, {4, 2}, data.first(32)},
  });
  base::Rng rng(7);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string file = sound;
    if (round % 3 == 0) file.resize(rng.below(file.size()));
    for (uint64_t i = rng.below(4); i > 0 && !file.empty(); --i)
      file[rng.below(std::min<size_t>(file.size(), 260))] = static_cast<char>(rng.next());
    const auto tensors = read(file);
    if (!tensors) {
      EXPECT_EQ(tensors.error().message.find('\n'), std::string::npos);
      continue;
    }
    ++accepted;
    for (const Tensor& tensor : *tensors) {
      if (tensor.data.empty()) continue;
      ASSERT_GE(reinterpret_cast<const char*>(tensor.data.data()), file.data());
      ASSERT_LE(reinterpret_cast<const char*>(tensor.data.data() + tensor.data.size()),
                file.data() + file.size());
    }
  }
  EXPECT_GT(accepted, 0);  // unchanged files are among them
  EXPECT_LT(accepted, 15000);
}

class CheckpointFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              fmt::format("checkpoint-{}-{}", getpid(),
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    write("a.safetensors", {"x"});
    write("b.safetensors", {"y", "z"});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& file, std::vector<std::string> names) {
    std::vector<Tensor> tensors;
    for (const std::string& name : names)
      tensors.push_back({name, "", DType::kU8, {4}, std::as_bytes(std::span("abcd", 4))});
    ASSERT_TRUE(write_safetensors(folder_ / file, tensors));
  }
  void index(std::string_view weight_map) {
    std::ofstream(folder_ / "model.safetensors.index.json")
        << fmt::format(R"({{"metadata":{{}},"weight_map":{}}})", weight_map);
  }
  std::string error() {
    const auto checkpoint = Checkpoint::open(folder_);
    return checkpoint ? "" : checkpoint.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(CheckpointFolder, JoinsShards) {
  index(R"({"x":"a.safetensors","y":"b.safetensors"})");
  const auto checkpoint = Checkpoint::open(folder_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_NE(checkpoint->find("x"), nullptr);
  EXPECT_NE(checkpoint->find("y"), nullptr);
  EXPECT_EQ(checkpoint->find("z"), nullptr) << "in a shard but not in the index";
}

TEST_F(CheckpointFolder, ReadsASingleFile) {
  write("model.safetensors", {"x", "y"});
  const auto checkpoint = Checkpoint::open(folder_);
  ASSERT_TRUE(checkpoint) << checkpoint.error().message;
  EXPECT_EQ(checkpoint->tensors().size(), 2u);
}

TEST_F(CheckpointFolder, EachFaultIsNamed) {
  EXPECT_THAT(error(), HasSubstr("holds neither model.safetensors nor"));
  index(R"({"x":"c.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("c.safetensors: shard missing"));
  index(R"({"y":"a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("a.safetensors: tensor `y` is not in it"));
  index(R"({"x":"../a.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("no file of this folder"));
  index(R"({"x":"a.safetensors","x":"b.safetensors"})");
  EXPECT_THAT(error(), HasSubstr("`x` is listed twice"));
  index("{}");
  EXPECT_THAT(error(), HasSubstr("weight_map is empty"));
  index("[");
  EXPECT_THAT(error(), HasSubstr("index.json: not valid JSON"));
  index(R"({"x":"a.safetensors"})");
  std::filesystem::resize_file(folder_ / "a.safetensors",
                               std::filesystem::file_size(folder_ / "a.safetensors") - 1);
  EXPECT_THAT(error(), HasSubstr("truncated"));
}

}  // namespace
}  // namespace headroom::tensor
