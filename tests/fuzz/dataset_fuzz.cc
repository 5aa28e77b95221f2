// Datasets and schedules from files: the first byte chooses the reader, the rest is the file.
#include "load/dataset/file_dataset.h"
#include "load/dataset/mooncake.h"
#include "load/schedule_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace headroom::load;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  WorkloadOptions options;
  options.salt = "salt";
  options.turns = 4;
  switch (data[0]) {
    case 'l':
      (void)parse_lines(options, "f", text);
      break;
    case 'c':
      options.endpoint = Endpoint::kChat;
      [[fallthrough]];
    case 'j':
      (void)parse_jsonl(options, "f", text);
      break;
    case 's':
      (void)parse_sharegpt(options, "f", text);
      break;
    case 'm':
      (void)parse_mooncake("f", text);
      break;
    default:
      (void)parse_schedule("f", text);
  }
  return 0;
}
