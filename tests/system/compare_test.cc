// The program over stored points: import, compare, frontier, export, store; outputs and statuses.
#include <gtest/gtest.h>
#include <simdjson.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Ran {
  int status = -1;
  std::string out, err;
};

class CompareCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-compare-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(folder_ / "rows.csv")
        << "date,framework,conc,tp,tput_per_gpu_tok_s,tpot_ms,intvty_tok_s_user\n"
           "2026-03-01,vllm 0.16.0,4,8,28.7,152,6.6\n2026-03-01,vllm 0.16.0,8,8,55.0,158,6.3\n"
           "2026-03-01,vllm 0.16.0,16,8,104.8,164,6.1\n2026-03-01,vllm 0.16.0,32,8,191.2,179,5.6\n"
           "2026-03-01,vllm 0.16.0,64,8,348.5,199,5.0\n2026-03-26,vllm 0.18.0,4,8,337,13,78.9\n"
           "2026-03-26,vllm 0.18.0,8,8,521,16,60.8\n2026-03-26,vllm 0.18.0,16,8,870,20,50.5\n"
           "2026-03-26,vllm 0.18.0,32,8,1255,27,36.4\n2026-03-26,vllm 0.18.0,64,8,1647,43,23.3\n"
           "2026-03-26,vllm 0.18.0,4,4,650,13,76.2\n2026-03-26,vllm 0.18.0,64,4,2687,53,19.0\n";
  }
  void TearDown() override { fs::remove_all(folder_); }

  Ran run(const std::string& arguments) const {
    const fs::path out = folder_ / "out", err = folder_ / "err";
    const std::string command = fmt::format("cd '{}' && 2>err >out '{}/headroom' {}",
                                            folder_.string(), HEADROOM_BINARY_DIR, arguments);
    Ran ran;
    const int status = std::system(command.c_str());
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    ran.out = headroom::base::read_file(out).value();
    ran.err = headroom::base::read_file(err).value();
    return ran;
  }
  void import_rows() const {
    const Ran ran = run("import rows.csv --db p.db");
    ASSERT_EQ(ran.status, 0) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("12 records added"));
  }

  fs::path folder_;
};

constexpr const char* kSides = "compare 'date=2026-03-01,tp=8' 'date=2026-03-26,tp=8' --db p.db ";

TEST_F(CompareCommand, JsonHasTheFieldsThatScriptsRead) {
  import_rows();
  const Ran ran =
      run(std::string(kSides) +
          "--at 337,380 --method linear --basis precise --extrapolate --json --csv c.csv "
          "--markdown m.md");
  ASSERT_EQ(ran.status, 0) << ran.err;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(ran.out).get(root), simdjson::SUCCESS) << ran.out;
  EXPECT_EQ(root["same_concurrency"].get_array().size(), 5u);
  EXPECT_EQ(root["same_concurrency"].at(0)["concurrency"].get_double().value(), 4);
  EXPECT_NEAR(root["same_concurrency"].at(0)["a"].get_double().value(), 1000.0 / 152, 1e-12);
  EXPECT_EQ(root["same_concurrency"].at(0)["b"].get_double().value(), 78.9);
  const auto row = root["iso_throughput"].at(1);
  EXPECT_EQ(row["level"].get_double().value(), 380);
  EXPECT_NEAR(row["a"]["value"].get_double().value(), 4.9127, 5e-5);
  EXPECT_EQ(row["a"]["state"].get_string().value(), "extrapolated");
  EXPECT_NEAR(row["b"]["concurrency"].get_double().value(), 4.93, 0.005);
  EXPECT_NEAR(row["gain"].get_double().value(), 15.199, 5e-4);
  for (const auto warning : root["warnings"].get_array()) {
    EXPECT_FALSE(warning["code"].get_string().value().empty());
    EXPECT_FALSE(warning["text"].get_string().value().empty());
  }
  EXPECT_THAT(headroom::base::read_file(folder_ / "m.md").value(), HasSubstr("| 15.2x |"));
  EXPECT_THAT(headroom::base::read_file(folder_ / "c.csv").value(),
              HasSubstr("iso_throughput,380"));
}

TEST_F(CompareCommand, TheTerminalShowsTheArticlesTable) {
  import_rows();
  const Ran ran = run(std::string(kSides) + "--at 337,380 --extrapolate");
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out,
              HasSubstr("      337          5.1~       ≈62         78.9          4  15.6x"));
  EXPECT_THAT(ran.out,
              HasSubstr("      380          4.9^       ≈70         74.7~        ≈5  15.2x"));
  EXPECT_THAT(run(std::string(kSides) + "--at 380").out,
              HasSubstr("— A at 380 tok/s/GPU: measured only up to 348.5"));
}

TEST_F(CompareCommand, ImportingTwiceChangesNothing) {
  import_rows();
  const Ran again = run("import rows.csv --db p.db");
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.out, HasSubstr("nothing new; all 12 records were in p.db already"));
  // Neither does what export wrote, in either form.
  ASSERT_EQ(run("export --db p.db -o e.csv").status, 0);
  EXPECT_THAT(run("import e.csv --db p.db").out, HasSubstr("nothing new"));
  ASSERT_EQ(run("export --db p.db --json -o e.json").status, 0);
  EXPECT_THAT(run("import e.json --db p.db").out, HasSubstr("nothing new"));
  EXPECT_THAT(run("store verify --db p.db").out, HasSubstr("12 records"));
}

TEST_F(CompareCommand, FrontierLeavesOutWhatIsBeaten) {
  import_rows();
  const Ran ran = run("frontier date=2026-03-26 --db p.db --json");
  ASSERT_EQ(ran.status, 0) << ran.err;
  simdjson::dom::parser parser;
  const auto root = parser.parse(ran.out);
  EXPECT_EQ(root["frontier"].get_array().size(), 6u);  // 521 at 60.8 falls to 650 at 76.2
  EXPECT_THAT(run("frontier date=2026-03-26 --db p.db --x ttft_ms").err,
              HasSubstr("none of its 7 records has both ttft_ms and tok_s_gpu"));
}

TEST_F(CompareCommand, MistakesAreOneLineAndTheRightStatus) {
  import_rows();
  const auto fails = [&](const std::string& arguments, int status, const std::string& text) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.status, status) << arguments;
    EXPECT_THAT(ran.err, HasSubstr(text)) << arguments;
    EXPECT_EQ(ran.out, "") << arguments;
    if (status == 1) {
      EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    }
  };
  fails("compare colour=red tp=8 --db p.db", 2, "the fields are run, label, date");
  fails("compare tp=16 tp=8 --db p.db", 1, "'tp=16': no record has tp=16; tp there: 4, 8");
  fails("compare tp=4 tp=8 --at 0 --db p.db", 2, "give positive numbers");
  fails("compare tp=4 tp=8 --method cubic --db p.db", 2, "--method");
  fails("compare tp=4 tp=8 --db none.db", 1, "none.db: no such store");
  fails("compare tp=4 tp=8 --db rows.csv", 1, "rows.csv: opening the store: not a SQLite database");
  fails("import none.csv --db p.db", 1, "none.csv");
  std::ofstream(folder_ / "bad.csv") << "conc,tpot_ms\n4,12\n8,fast\n";
  fails("import bad.csv --db p.db", 1,
        "bad.csv:3: column 'tpot_ms': 'fast' is not a positive number");
  EXPECT_THAT(run("store verify --db p.db").out, HasSubstr("12 records"));  // nothing half done
}

TEST_F(CompareCommand, OutputThatDoesNotGetOutIsAFailure) {
  import_rows();
  const Ran ran = run("store list --db p.db >/dev/full");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.err, "headroom: standard output: No space left on device\n");
}

}  // namespace
