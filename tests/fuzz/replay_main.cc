// A fuzz target without a fuzzer: every seed of a folder, also cut short and with bytes changed.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

void feed(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: <target> FOLDER_OF_SEEDS\n", stderr);
    return 2;
  }
  int seeds = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string seed((std::istreambuf_iterator<char>(file)), {});
    feed(seed);
    std::mt19937_64 random(++seeds);
    for (int i = 0; i < 200 && !seed.empty(); ++i) {
      std::string bytes = seed;
      if (i % 2 == 0) bytes.resize(random() % bytes.size());
      for (uint64_t n = random() % 4; n > 0 && !bytes.empty(); --n)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      feed(bytes);
    }
  }
  std::printf("%d seeds\n", seeds);
  return seeds > 0 ? 0 : 1;
}
