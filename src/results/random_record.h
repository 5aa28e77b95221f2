// For tests: records with every field filled, or not, at random.
#pragma once

#include <random>

#include "results/fields.h"

namespace headroom::results {

/// Fills fields through each_field, so that a field added there is tested from then on.
class RecordMaker {
 public:
  explicit RecordMaker(uint64_t seed) : random_(seed) {}
  Record record() {
    Record r;
    fill(r);
    return r;
  }

 private:
  bool chance(int percent) { return static_cast<int>(random_() % 100) < percent; }

  void fill(std::string& text) {
    static const char* kPieces[] = {"a",    "Kimi-K2.5", "\"", "\\", "\n", "é", "深", "😀",
                                    "\x01", ",",         "|",  "=",  "{",  "0", " "};
    for (uint64_t n = random_() % 6; n > 0; --n) text += kPieces[random_() % std::size(kPieces)];
  }
  void fill(int64_t& number) {
    number = chance(10) ? std::numeric_limits<int64_t>::min() + static_cast<int64_t>(random_() % 3)
                        : static_cast<int64_t>(random_() >> (random_() % 64));
  }
  void fill(double& number) {
    static const double kSpecial[] = {0.0,  -0.0, 1.0,  1e308, 5e-324, 0.1,
                                      1e15, 1e16, 1e22, 1e23,  -2.5,   9007199254740993.0};
    number = chance(50) ? kSpecial[random_() % std::size(kSpecial)]
                        : std::uniform_real_distribution<double>(0, 1e6)(random_);
  }
  void fill(bool& flag) { flag = chance(50); }
  void fill(base::Histogram& histogram) {
    for (uint64_t n = random_() % 20; n > 0; --n)
      histogram.record(static_cast<int64_t>(random_() >> (24 + random_() % 40)));
  }
  void fill(Printed& printed) {
    static const char* kTexts[] = {"5.0", "28.7", "337", "0.050", "1e3", "-2", "152"};
    printed = Printed::parse(kTexts[random_() % std::size(kTexts)]).value();
  }
  template <typename T>
  void fill(std::optional<T>& maybe) {
    if (chance(60)) fill(maybe.emplace());
  }
  template <typename T>
  void fill(std::map<std::string, T>& map) {
    for (uint64_t n = random_() % 3; n > 0; --n) {
      std::string key;
      fill(key);
      fill(map[key]);
    }
  }
  template <typename T>
  void fill(std::vector<T>& list) {
    list.resize(random_() % 3);
    for (T& entry : list) fill(entry);
  }
  template <Fielded T>
  void fill(T& value) {
    each_field(value, [this](const char*, auto& field) { this->fill(field); });
  }

  std::mt19937_64 random_;
};

}  // namespace headroom::results
