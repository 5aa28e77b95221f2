// The demonstration from end to end, on short prompts: three servers, the store, tables and the
// report.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>

#include "base/file.h"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

int shell(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Demo, MeasuresThreeServersAndWritesTheReport) {
  std::string folder = (fs::temp_directory_path() / "headroom-demo-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const fs::path out = fs::path(folder) / "out.json", err = fs::path(folder) / "err";
  const std::string program = fmt::format("'{}/headroom'", HEADROOM_BINARY_DIR);
  // The probe's result goes there too, so that the test leaves the user's own alone.
  const int status = shell(fmt::format(
      "XDG_CACHE_HOME='{0}/cache' {1} demo --quick --json --input 96 --output 8 --model "
      "'{2}/models/tiny-mla' --out '{0}/demo' >'{3}' 2>'{4}'",
      folder, program, HEADROOM_SOURCE_DIR, out.string(), err.string()));
  const std::string said = headroom::base::read_file(err).value();
  ASSERT_EQ(status, 0) << said;

  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(headroom::base::read_file(out).value()).get(root), simdjson::SUCCESS);
  simdjson::dom::array comparisons;
  ASSERT_EQ(root["comparisons"].get(comparisons), simdjson::SUCCESS);
  ASSERT_EQ(comparisons.size(), 2u);  // reference → BF16 rows → FP8 rows
  for (const simdjson::dom::element comparison : comparisons) {
    simdjson::dom::array same, iso;
    ASSERT_EQ(comparison["same_concurrency"].get(same), simdjson::SUCCESS);
    ASSERT_EQ(comparison["iso_throughput"].get(iso), simdjson::SUCCESS);
    EXPECT_GE(same.size(), 2u);
    EXPECT_GE(iso.size(), 1u);
    for (const simdjson::dom::element row : same) {
      double limit_distance = 0;
      ASSERT_EQ(row["b_headroom"].get(limit_distance), simdjson::SUCCESS);
      EXPECT_GT(limit_distance, 0);
    }
  }

  std::string_view report;
  ASSERT_EQ(root["report"].get(report), simdjson::SUCCESS);
  const std::string page = headroom::base::read_file(fs::path(report)).value();
  EXPECT_THAT(page, HasSubstr("<svg"));
  EXPECT_THAT(page, HasSubstr("mla_decode"));
  EXPECT_THAT(page, Not(HasSubstr("src=\"http")));

  const fs::path list = fs::path(folder) / "list";
  ASSERT_EQ(shell(fmt::format("{} store list --db '{}/demo/results.db' >'{}'", program, folder,
                              list.string())),
            0);
  const std::string records = headroom::base::read_file(list).value();
  for (const char* recipe : {"reference bf16", " fp8"}) EXPECT_THAT(records, HasSubstr(recipe));
  fs::remove_all(folder);
}

TEST(Demo, AMissingModelIsOneLine) {
  const std::string err =
      (fs::temp_directory_path() / fmt::format("headroom-demo-err-{}", getpid()));
  EXPECT_EQ(shell(fmt::format("'{}/headroom' demo --model /nowhere --out '{}.d' >/dev/null 2>'{}'",
                              HEADROOM_BINARY_DIR, err, err)),
            1);
  EXPECT_THAT(headroom::base::read_file(err).value(), HasSubstr("/nowhere: holds no config.json"));
  fs::remove_all(err);
  fs::remove_all(err + ".d");
}

}  // namespace
