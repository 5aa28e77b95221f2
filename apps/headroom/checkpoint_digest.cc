// SHA-256 over a checkpoint's files.
#include "checkpoint_digest.h"

#include <openssl/evp.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/file.h"

namespace headroom::apps {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kWholeUpTo = uint64_t{8} << 30;  // a few seconds of hashing
constexpr size_t kHead = 1 << 20;                   // covers the header of most shards
constexpr size_t kBlock = 64 << 10;
constexpr size_t kBlocks = 64;

struct Sha256 {
  Sha256() { EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr); }
  void add(std::string_view bytes) { EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()); }
  std::string hex() {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    EVP_DigestFinal_ex(context.get(), digest, &size);
    std::string out;
    for (unsigned i = 0; i < size; ++i) out += fmt::format("{:02x}", digest[i]);
    return out;
  }
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(),
                                                                  EVP_MD_CTX_free};
};

bool counts(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "config.json" || name.ends_with(".safetensors") ||
         name.ends_with(".safetensors.index.json");
}

}  // namespace

base::Result<std::string> checkpoint_digest(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> files;
  uint64_t total = 0;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    if (!counts(entry.path()) || !entry.is_regular_file(error)) continue;
    files.push_back(entry.path());
    total += entry.file_size(error);
  }
  if (error) return base::fail(base::ErrorCode::kIo, "{}: {}", directory.string(), error.message());
  std::sort(files.begin(), files.end());
  const bool whole = total <= kWholeUpTo;
  Sha256 sha;
  for (const fs::path& path : files) {
    HEADROOM_TRY(const base::MappedFile file, base::MappedFile::open(path));
    const std::string_view bytes(reinterpret_cast<const char*>(file.bytes().data()),
                                 file.bytes().size());
    sha.add(fmt::format("{}\n{}\n", path.filename().string(), bytes.size()));
    if (whole) {
      sha.add(bytes);
      continue;
    }
    sha.add(bytes.substr(0, kHead));
    for (size_t i = 0; i < kBlocks; ++i)
      sha.add(bytes.substr(bytes.size() / kBlocks * i).substr(0, kBlock));
  }
  return (whole ? "sha256:" : "sha256-sampled:") + sha.hex();
}

}  // namespace headroom::apps
