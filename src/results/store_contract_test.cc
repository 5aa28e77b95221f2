// What every store keeps to, whatever database is under it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "results/postgres_connection.h"
#include "results/postgres_server_test.h"
#include "results/random_record.h"
#include "results/store.h"

namespace headroom::results {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

enum class Kind { kSqlite, kPostgres };

class StoreContract : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    location_ = (folder_ / "store.db").string();
    if (GetParam() == Kind::kSqlite) return;
    const auto server = TestPostgres::instance();
    if (!server && server.error().code == base::ErrorCode::kNotFound)
      GTEST_SKIP() << server.error().message;
    ASSERT_TRUE(server) << server.error().message;
    const auto url = (*server)->create_database();
    ASSERT_TRUE(url) << url.error().message;
    location_ = *url;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Store open(Store::Mode mode = Store::Mode::kCreate) const {
    auto store = Store::open(location_, mode);
    EXPECT_TRUE(store) << store.error().message;
    return std::move(*store);
  }

  static Record point(int64_t concurrency, std::string date = "2026-03-01") {
    Record record;
    record.run = "run-" + date;
    record.label = "before";
    record.date = std::move(date);
    record.server.model = "Kimi-K2.5";
    record.server.framework = "vllm";
    record.server.framework_version = "0.16.0";
    record.server.layout.tp = 8;
    record.workload.concurrency = concurrency;
    return record;
  }
  static size_t count(const Store& store, std::string_view text) {
    const auto selector = parse_selector(text);
    EXPECT_TRUE(selector) << selector.error().message;
    const auto found = store.query(*selector);
    EXPECT_TRUE(found) << found.error().message;
    return found->size();
  }

  fs::path folder_;
  std::string location_;
};

TEST_P(StoreContract, AddingTwiceChangesNothing) {
  Store store = open();
  EXPECT_EQ(store.add(point(4), "a.csv:2").value(), true);
  EXPECT_EQ(store.add(point(4), "b.csv:9").value(), false);
  EXPECT_EQ(store.add(point(8)).value(), true);
  const auto all = store.all().value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].origin, "a.csv:2");  // the first to bring it stays named
  EXPECT_EQ(all[0].id, record_id(point(4)));
  EXPECT_EQ(to_json(all[0].record), to_json(point(4)));
}

TEST_P(StoreContract, RecordsSurviveReopening) {
  {
    Store store = open();
    const std::vector<Store::Entry> entries = {{point(4), "x"}, {point(8), "x"}, {point(4), "x"}};
    const auto counts = store.add_all(entries);
    ASSERT_TRUE(counts) << counts.error().message;
    EXPECT_EQ(counts->added, 2);
    EXPECT_EQ(counts->known, 1);
  }
  Store store = open(Store::Mode::kRead);
  EXPECT_EQ(store.all()->size(), 2u);
  EXPECT_TRUE(store.find(record_id(point(8)))->has_value());
  EXPECT_FALSE(store.find("0000")->has_value());
  EXPECT_FALSE(store.find("")->has_value());
  const auto refused = store.add(point(16));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("read-only"));
}

TEST_P(StoreContract, QuarantineHidesAndKeeps) {
  Store store = open();
  ASSERT_TRUE(store.add(point(4)));
  const std::string id = record_id(point(4));
  for (const char* reason : {"client was late", "client was late", "few requests"}) {
    const auto done = store.quarantine(id, reason);
    ASSERT_TRUE(done) << done.error().message;
  }
  EXPECT_TRUE(store.query(Selector{})->empty());
  EXPECT_EQ(store.all()->at(0).quarantine, "client was late; few requests");
  EXPECT_EQ(store.quarantine("feed", "why").error().code, base::ErrorCode::kNotFound);
  EXPECT_FALSE(store.quarantine(id, ""));
  EXPECT_EQ(store.verify()->quarantined, 1);
  EXPECT_TRUE(store.verify()->problems.empty());
}

TEST_P(StoreContract, SelectorsChoose) {
  Store store = open();
  for (const int c : {4, 8}) ASSERT_TRUE(store.add(point(c)));
  Record other = point(4, "2026-03-26");
  other.label = "after";
  other.server.layout.tp = 4;
  other.server.model = "8";
  ASSERT_TRUE(store.add(other));
  EXPECT_EQ(count(store, "date=2026-03-01"), 2u);
  EXPECT_EQ(count(store, "date=2026-03-01|2026-03-26, concurrency=4.0"), 2u);
  EXPECT_EQ(count(store, "tp=8,date=2026-03-26"), 0u);
  EXPECT_EQ(count(store, "After"), 1u);
  EXPECT_EQ(count(store, "RUN-2026-03-01"), 2u);
  EXPECT_EQ(count(store, "framework=VLLM"), 3u);
  EXPECT_EQ(count(store, "framework=\"vllm 0.16.0\""), 3u);
  EXPECT_EQ(count(store, "model=kimi-k2.5"), 2u);
  EXPECT_EQ(count(store, "model=8.0"), 1u);  // a number to the selector, text to the database
  EXPECT_EQ(count(store, "model=8"), 1u);
  EXPECT_EQ(count(store, "concurrency=08"), 1u);
  EXPECT_EQ(count(store, "concurrency=4|8,tp=8"), 2u);
  EXPECT_EQ(count(store, "concurrency=4.5"), 0u);
  EXPECT_EQ(count(store, "hardware="), 3u);  // those without a name
}

TEST_P(StoreContract, AnyRecordComesBackAsItWas) {
  Store store = open();
  std::vector<Store::Entry> entries;
  for (uint64_t seed = 0; seed < 60; ++seed)
    entries.push_back({RecordMaker(seed).record(), "a'b\"; DROP TABLE records"});
  const auto counts = store.add_all(entries);
  ASSERT_TRUE(counts) << counts.error().message;
  for (const Store::Entry& entry : entries) {
    const auto found = store.find(record_id(entry.record));
    ASSERT_TRUE(found && *found);
    EXPECT_EQ(to_json((*found)->record), to_json(entry.record));
    EXPECT_EQ((*found)->origin, entry.origin);
  }
  EXPECT_TRUE(store.verify()->problems.empty());
}

TEST_P(StoreContract, OrderOfAddingDoesNotMatter) {
  Store store = open();
  for (const int c : {8, 2, 4})
    ASSERT_TRUE(store.add(point(c, c == 2 ? "2026-01-01" : "2026-02-01")));
  const auto all = store.all().value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].record.date, "2026-01-01");
}

TEST_P(StoreContract, VacuumKeepsEverything) {
  Store store = open();
  for (int c = 1; c < 50; ++c) ASSERT_TRUE(store.add(point(c)));
  const auto done = store.vacuum();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(store.all()->size(), 49u);
}

INSTANTIATE_TEST_SUITE_P(All, StoreContract, testing::Values(Kind::kSqlite, Kind::kPostgres),
                         [](const auto& kind) {
                           return kind.param == Kind::kSqlite ? "Sqlite" : "Postgres";
                         });

class PostgresStore : public StoreContract {};
INSTANTIATE_TEST_SUITE_P(One, PostgresStore, testing::Values(Kind::kPostgres),
                         [](const auto&) { return "Postgres"; });

TEST_P(PostgresStore, ARestartInTheMiddleLosesNothing) {
  Store store = open();
  ASSERT_TRUE(store.add(point(1)));
  std::vector<Store::Entry> entries;
  for (int c = 2; c < 4000; ++c) entries.push_back({point(c), "x"});
  base::Result<> restarted;
  std::thread operation([&] {
    usleep(60'000);
    restarted = TestPostgres::instance().value()->restart();
  });
  const auto counts = store.add_all(entries);
  operation.join();
  ASSERT_TRUE(restarted) << restarted.error().message;
  bool told = true;  // the restart may have come under the COMMIT itself
  if (!counts) {
    EXPECT_EQ(counts.error().code, base::ErrorCode::kUnavailable) << counts.error().message;
    told = counts.error().message.find("is not known") == std::string::npos;
    if (told) EXPECT_THAT(counts.error().message, HasSubstr("nothing of this write was kept"));
  }
  // The same store goes on, and importing again completes what was not kept.
  const auto all = store.all();
  ASSERT_TRUE(all) << all.error().message;
  if (told) EXPECT_EQ(all->size(), counts ? 3999u : 1u);
  const auto again = store.add_all(entries);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(store.all()->size(), 3999u);
}

TEST_P(PostgresStore, ACommitThatBreaksSaysThatNobodyKnows) {
  ASSERT_TRUE(open().add(point(1)));
  auto ours = PostgresConnection::connect(location_),
       other = PostgresConnection::connect(location_);
  ASSERT_TRUE(ours && other);
  const auto done = ours->transaction([&]() -> base::Result<> {
    const auto pid = ours->run("reading", "SELECT pg_backend_pid()");
    EXPECT_TRUE(pid);
    const std::string process = PQgetvalue(pid->get(), 0, 0);
    EXPECT_TRUE(other->run("ending", "SELECT pg_terminate_backend(" + process + ", 10000)"));
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(done.error().message, HasSubstr("whether this write was kept is not known"));
}

TEST(PostgresUrl, ShowsNoPassword) {
  EXPECT_EQ(without_password("postgresql://me:a@host/db"), "postgresql://me:***@host/db");
  EXPECT_EQ(without_password("postgresql://h/db?sslpassword=a&password=b&user=me"),
            "postgresql://h/db?sslpassword=***&password=***&user=me");
  EXPECT_EQ(without_password("postgresql://me@host/db"), "postgresql://me@host/db");
}

TEST_P(PostgresStore, RecordsCannotBeDeletedOrChanged) {
  ASSERT_TRUE(open().add(point(4)));
  auto connection = PostgresConnection::connect(location_);
  ASSERT_TRUE(connection);
  for (const char* sql : {"DELETE FROM headroom.records", "TRUNCATE headroom.records CASCADE",
                          "UPDATE headroom.records SET payload = '{}'"})
    EXPECT_FALSE(connection->run("tampering", sql)) << sql;
}

TEST_P(PostgresStore, VerifyFindsWhatWasTamperedWith) {
  Store store = open();
  ASSERT_TRUE(store.add(point(4)));
  auto connection = PostgresConnection::connect(location_);
  ASSERT_TRUE(connection);
  for (const char* sql : {"ALTER TABLE headroom.records DISABLE TRIGGER ALL",
                          "UPDATE headroom.records SET payload = '{\"run\":\"forged\"}'"})
    ASSERT_TRUE(connection->run("tampering", sql));
  const auto report = store.verify();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->problems.size(), 1u);
  EXPECT_THAT(report->problems[0], HasSubstr(record_id(point(4))));
}

TEST_P(PostgresStore, ErrorsAreOneLineWithoutThePassword) {
  const auto refused = Store::open("postgresql://me:secret@127.0.0.1:1/db");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("postgresql://me:***@127.0.0.1:1/db: "));
  EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("secret")));
  EXPECT_THAT(refused.error().message, testing::Not(HasSubstr("\n")));
  EXPECT_FALSE(Store::open("postgresql://:::/no?nonsense=1"));
  const auto empty = Store::open(location_, Store::Mode::kRead);
  ASSERT_FALSE(empty);
  EXPECT_THAT(empty.error().message, HasSubstr("has no Headroom store yet"));
  EXPECT_THAT(open().backup(folder_ / "copy.db").error().message, HasSubstr("pg_dump"));
}

}  // namespace
}  // namespace headroom::results
