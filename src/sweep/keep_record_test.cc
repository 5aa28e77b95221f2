// A measured point survives a store that is busy, and one that refuses it.
#include "sweep/keep_record.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

namespace headroom::sweep {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class KeepRecordTest : public testing::Test {
 protected:
  KeepRecordTest() {
    std::string name = (fs::temp_directory_path() / "headroom-keep-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    record_.run = "r";
    record_.date = "2026-01-02";
    record_.server.model = "m";
  }
  ~KeepRecordTest() override { fs::remove_all(folder_); }
  fs::path folder_;
  results::Record record_;
};

TEST_F(KeepRecordTest, AStoreThatIsBusyIsAskedAgain) {
  auto store = results::Store::open((folder_ / "r.db").string()).value();
  store.set_busy_timeout_ms(1);
  ASSERT_TRUE(store.all());
  // Another process holds the write lock of the log: byte 120 of its index (sqlite.org/walformat).
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const std::string index = (folder_ / "r.db-shm").string();
  const pid_t other = ::fork();
  if (other == 0) {
    const int fd = ::open(index.c_str(), O_RDWR);
    struct flock lock{};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 120;
    lock.l_len = 1;
    const char locked = fd >= 0 && ::fcntl(fd, F_SETLK, &lock) == 0 ? 'y' : 'n';
    [[maybe_unused]] const ssize_t told = ::write(ready[1], &locked, 1);
    ::usleep(300'000);
    ::_exit(0);
  }
  char locked = 0;
  ASSERT_EQ(::read(ready[0], &locked, 1), 1);
  ASSERT_EQ(locked, 'y');
  std::string said;
  const auto kept =
      keep_record(store, record_, folder_, nullptr, [&](const std::string& line) { said += line; });
  ::waitpid(other, nullptr, 0);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_THAT(said, HasSubstr("it is asked again"));
  EXPECT_EQ(store.all()->size(), 1u);
}

TEST_F(KeepRecordTest, WhatTheStoreRefusesIsInAFileThatImportReads) {
  auto store = results::Store::open((folder_ / "r.db").string()).value();
  fs::remove(folder_ / "r.db");
  const auto kept = keep_record(store, record_, folder_, nullptr, [](const std::string&) {});
  ASSERT_FALSE(kept);
  const std::string id = results::record_id(record_);
  const fs::path file = folder_ / ("unstored-" + id.substr(0, 12) + ".json");
  EXPECT_THAT(kept.error().message, HasSubstr("the point is in " + file.string()));
  EXPECT_THAT(base::read_file(file).value(), HasSubstr(id));
}

}  // namespace
}  // namespace headroom::sweep
