// The store: nothing is lost, nothing is doubled, every failure is one clear line.
#include "results/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/file.h"

namespace headroom::results {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "headroom-store-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path file(const char* name = "store.db") const { return folder_ / name; }

  static Record point(int64_t concurrency, std::string date = "2026-03-01") {
    Record record;
    record.run = "run-" + date;
    record.label = "before";
    record.date = std::move(date);
    record.server.framework = "vllm";
    record.server.framework_version = "0.16.0";
    record.server.layout.tp = 8;
    record.workload.concurrency = concurrency;
    return record;
  }
  static std::vector<StoredRecord> select(const Store& store, std::string_view text) {
    const auto selector = parse_selector(text);
    EXPECT_TRUE(selector) << selector.error().message;
    auto found = store.query(*selector);
    EXPECT_TRUE(found) << found.error().message;
    return std::move(*found);
  }

  fs::path folder_;
};

TEST_F(StoreTest, AFileThatIsDeletedOrReplacedWhileOpenIsAnError) {
  auto store = Store::open(file().string()).value();
  ASSERT_TRUE(store.add(point(1), "test"));
  fs::rename(file(), file("aside.db"));
  const auto gone = store.add(point(2), "test");
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, base::ErrorCode::kDataLoss);
  EXPECT_THAT(gone.error().message, HasSubstr("store.db: the file was deleted or replaced"));
  std::ofstream(file()) << "";
  EXPECT_FALSE(store.add(point(3), "test"));
}

TEST_F(StoreTest, RecordsCannotBeDeletedOrChanged) {
  {
    ASSERT_TRUE(Store::open(file())->add(point(4)));
  }
  SQLite::Database db(file().string(), SQLite::OPEN_READWRITE);
  EXPECT_THROW(db.exec("DELETE FROM records"), SQLite::Exception);
  EXPECT_THROW(db.exec("UPDATE records SET payload = '{}'"), SQLite::Exception);
}

TEST_F(StoreTest, VerifyFindsWhatWasTamperedWith) {
  {
    auto store = Store::open(file());
    ASSERT_TRUE(store->add(point(4)));
    ASSERT_TRUE(store->add(point(8)));
    EXPECT_TRUE(store->verify()->problems.empty());
  }
  {
    SQLite::Database db(file().string(), SQLite::OPEN_READWRITE);
    db.exec("DROP TRIGGER records_do_not_change");
    db.exec("DROP INDEX records_by_view");
    db.exec("DROP INDEX records_by_fingerprint");
    db.exec("UPDATE records SET payload = '{\"run\":\"forged\"}' WHERE seq = 1");
    db.exec("UPDATE records SET payload = '{' WHERE seq = 2");
  }
  const auto report = Store::open(file(), Store::Mode::kRead)->verify();
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->problems.size(), 2u);
  EXPECT_THAT(report->problems[0], HasSubstr(record_id(point(4))));
}

TEST_F(StoreTest, BackupIsAStoreWhileAnotherWrites) {
  auto store = Store::open(file());
  ASSERT_TRUE(store->add(point(4)));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    auto other = Store::open(file());
    for (int c = 100; !stop; ++c) EXPECT_TRUE(other->add(point(c)));
  });
  const auto done = store->backup(file("copy.db"));
  stop = true;
  writer.join();
  ASSERT_TRUE(done) << done.error().message;
  const auto copy = Store::open(file("copy.db"), Store::Mode::kRead);
  ASSERT_TRUE(copy) << copy.error().message;
  EXPECT_TRUE(copy->verify()->problems.empty());
  EXPECT_GE(copy->all()->size(), 1u);
  EXPECT_THAT(store->backup(file("copy.db")).error().message, HasSubstr("is there already"));
}

TEST_F(StoreTest, AnOlderFileIsBroughtUpToDate) {
  {
    ASSERT_TRUE(Store::open(file())->add(point(4)));
  }
  {
    SQLite::Database db(file().string(), SQLite::OPEN_READWRITE);
    for (const char* index : {"view", "fingerprint", "run_folded", "label_folded"})
      db.exec(std::string("DROP INDEX records_by_") + index);
    db.exec("DELETE FROM schema_migrations WHERE version = 2");
    db.exec("PRAGMA user_version = 1");
  }
  EXPECT_EQ(Store::open(file(), Store::Mode::kRead)->all()->size(), 1u);  // readable as it is
  auto store = Store::open(file());
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_EQ(select(*store, "model=").size(), 1u);
  SQLite::Database db(file().string(), SQLite::OPEN_READONLY);
  EXPECT_EQ(db.execAndGet("PRAGMA user_version").getInt(), 2);
  EXPECT_EQ(db.execAndGet("SELECT count(*) FROM sqlite_master WHERE name LIKE 'records_by_view'")
                .getInt(),
            1);
}

TEST_F(StoreTest, SelectorsChooseAndExplain) {
  auto store = Store::open(file());
  for (const int c : {4, 8}) ASSERT_TRUE(store->add(point(c)));
  Record other = point(4, "2026-03-26");
  other.label = "after";
  other.server.layout.tp = 4;
  ASSERT_TRUE(store->add(other));
  EXPECT_EQ(select(*store, "date=2026-03-01").size(), 2u);
  EXPECT_EQ(select(*store, "date=2026-03-01|2026-03-26, concurrency=4.0").size(), 2u);
  EXPECT_EQ(select(*store, "tp=8,date=2026-03-26").size(), 0u);
  EXPECT_EQ(select(*store, "after").size(), 1u);
  EXPECT_EQ(select(*store, "run-2026-03-01").size(), 2u);
  EXPECT_EQ(select(*store, "framework=VLLM").size(), 3u);
  EXPECT_EQ(select(*store, "framework=\"vllm 0.16.0\"").size(), 3u);
  EXPECT_EQ(select(*store, "model=").size(), 3u);  // those without a model's name
  const auto why = [&](std::string_view text) {
    return explain_no_match(parse_selector(text).value(), store->all().value()).message;
  };
  EXPECT_EQ(why("date=2026-03-26,tp=8"),
            "'date=2026-03-26,tp=8': no record has tp=8 beside date=2026-03-26; tp there: 4");
  EXPECT_EQ(why("date=2025-01-01"),
            "'date=2025-01-01': no record has date=2025-01-01; date there: 2026-03-01, 2026-03-26");
  EXPECT_THAT(parse_selector("colour=red").error().message,
              HasSubstr("no field 'colour'; the fields are run, label, date"));
  for (const char* bad : {"", " ", ",", "tp=8,", "model=\"open"})
    EXPECT_FALSE(parse_selector(bad)) << bad;
}

TEST_F(StoreTest, SecondWriterWaits) {
  auto first = Store::open(file());
  auto second = Store::open(file());
  SQLite::Database db(file().string(), SQLite::OPEN_READWRITE);
  db.exec("BEGIN IMMEDIATE");
  second->set_busy_timeout_ms(20);
  const auto refused = second->add(point(4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ErrorCode::kUnavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("another program holds it"));
  EXPECT_EQ(first->all()->size(), 0u);  // readers are not held up
  second->set_busy_timeout_ms(5000);
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    db.exec("COMMIT");
  });
  EXPECT_TRUE(second->add(point(4)));
  release.join();
}

TEST_F(StoreTest, RefusesFilesThatAreNotStores) {
  const auto message = [](const fs::path& path, Store::Mode mode = Store::Mode::kCreate) {
    const auto store = Store::open(path, mode);
    EXPECT_FALSE(store);
    return store ? std::string("opened") : store.error().message;
  };
  const std::string at = file().string();
  std::ofstream(file()) << std::string(8192, 'x');
  EXPECT_EQ(message(file()), at + ": opening the store: not a SQLite database");
  EXPECT_EQ(base::read_file(file()).value(), std::string(8192, 'x'));  // untouched
  {
    SQLite::Database(file("other.db").string(), 6).exec("CREATE TABLE t(x)");
  }
  EXPECT_THAT(message(file("other.db")), HasSubstr("but not a Headroom store"));
  EXPECT_THAT(message(folder_), HasSubstr("is a directory"));
  EXPECT_THAT(message(file("none.db"), Store::Mode::kRead), HasSubstr("no such store"));
  EXPECT_THAT(message(folder_ / "no" / "x.db"), HasSubstr("does not exist"));
  {
    ASSERT_TRUE(Store::open(file("new.db")));
  }
  {
    SQLite::Database(file("new.db").string(), 2).exec("PRAGMA user_version = 7");
  }
  EXPECT_THAT(message(file("new.db")), HasSubstr("newer Headroom (schema 7"));
  std::ofstream(file("empty.db")).close();
  EXPECT_THAT(message(file("empty.db"), Store::Mode::kRead), HasSubstr("an empty file"));
  EXPECT_TRUE(Store::open(file("empty.db")));
}

TEST_F(StoreTest, DamageIsAnErrorNotADeath) {
  {
    auto store = Store::open(file());
    std::vector<Store::Entry> entries;
    for (int c = 1; c <= 400; ++c) entries.push_back({point(c), "x"});
    ASSERT_TRUE(store->add_all(entries));
  }
  const std::string good = base::read_file(file()).value();
  ASSERT_GT(good.size(), size_t{40} << 10);
  for (size_t at = 0; at < good.size(); at += 1531) {  // a stride that meets all page offsets
    std::string bad = good;
    for (size_t i = at; i < std::min(bad.size(), at + 24); ++i) bad[i] = static_cast<char>(i * 37);
    std::ofstream(file("bad.db"), std::ios::binary | std::ios::trunc) << bad;
    const auto store = Store::open(file("bad.db"));
    const auto all = store ? store->all() : base::Result<std::vector<StoredRecord>>();
    if (store && !all) {
      EXPECT_THAT(all.error().message, HasSubstr("bad.db: "));
    }
  }
  fs::resize_file(file(), 6000);
  const auto cut = Store::open(file());
  const bool sound = cut && cut->all() && cut->all()->size() == 400;
  EXPECT_FALSE(sound);
}

// Fills until it fails, then shows that everything acknowledged is there.
void fill_until_refused(Store& store, const fs::path& path, std::string_view expected) {
  int64_t acknowledged = 0;
  for (int64_t i = 0; i < 20000; ++i) {
    Record record;
    record.run = "fill";
    record.workload.concurrency = i;
    record.server.command = std::string(4000, 'c');
    const auto added = store.add(record);
    if (!added) {
      EXPECT_THAT(added.error().message, HasSubstr(expected));
      EXPECT_THAT(added.error().message, HasSubstr("everything before it was"));
      break;
    }
    ++acknowledged;
  }
  EXPECT_GT(acknowledged, 3);
  EXPECT_LT(acknowledged, 20000);
  EXPECT_EQ(static_cast<int64_t>(store.all().value().size()), acknowledged);
  const auto again = Store::open(path, Store::Mode::kRead);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(static_cast<int64_t>(again->all().value().size()), acknowledged);
  EXPECT_TRUE(again->verify()->problems.empty());
}

TEST_F(StoreTest, FullByPageCount) {
  auto store = Store::open(file());
  ASSERT_TRUE(store->limit_pages(40));
  fill_until_refused(*store, file(), "no space left");
}

TEST_F(StoreTest, FullDisk) {
  const fs::path mount_point = folder_ / "small";
  fs::create_directory(mount_point);
  if (mount("none", mount_point.c_str(), "tmpfs", 0, "size=512k") != 0)
    GTEST_SKIP() << "mounting a small file system needs root; FullByFileSize covers the rest";
  {
    auto store = Store::open(mount_point / "store.db");
    ASSERT_TRUE(store) << store.error().message;
    fill_until_refused(*store, mount_point / "store.db", "no space left");
  }
  umount(mount_point.c_str());
}

TEST_F(StoreTest, FullByFileSize) {
  const pid_t child = fork();
  if (child == 0) {  // the limit would bind the other tests too
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{256 << 10, 256 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto store = Store::open(file());
    if (store) fill_until_refused(*store, file(), "nothing of this write was kept");
    _exit(store && !testing::Test::HasFailure() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(StoreTest, ReadOnlyMedia) {
  const fs::path mount_point = folder_ / "media";
  fs::create_directory(mount_point);
  if (mount("none", mount_point.c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "mounting a read-only file system needs root";
  {
    ASSERT_TRUE(Store::open(mount_point / "100% #1?.db")->add(point(4)));
  }
  mount("none", mount_point.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, nullptr);
  {
    const auto reader = Store::open(mount_point / "100% #1?.db", Store::Mode::kRead);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->all()->size(), 1u);
    auto writer = Store::open(mount_point / "100% #1?.db", Store::Mode::kWrite);
    const auto added = writer ? writer->add(point(8)) : tl::unexpected(writer.error());
    ASSERT_FALSE(added);
    EXPECT_THAT(added.error().message, HasSubstr("read-only"));
    const auto fresh = Store::open(mount_point / "new.db");
    ASSERT_FALSE(fresh);
    EXPECT_THAT(fresh.error().message, HasSubstr("cannot be opened (read-only file system)"));
  }
  umount(mount_point.c_str());
}

}  // namespace
}  // namespace headroom::results
