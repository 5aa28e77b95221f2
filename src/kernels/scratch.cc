// Thread-local growing buffers.
#include "kernels/scratch.h"

#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace headroom::kernels {
namespace {

struct Buffer {
  std::unique_ptr<float, decltype(&std::free)> data{nullptr, &std::free};
  size_t floats = 0;
};

}  // namespace

float* scratch(Scratch kind, size_t floats) {
  thread_local Buffer buffers[static_cast<size_t>(Scratch::kCount)];
  Buffer& buffer = buffers[static_cast<size_t>(kind)];
  if (floats > buffer.floats) {
    const size_t rounded = (floats + 1023) / 1024 * 1024;
    buffer.data.reset();  // the old one first: both together may not fit
    buffer.data.reset(static_cast<float*>(std::aligned_alloc(64, rounded * sizeof(float))));
    HEADROOM_CHECK(buffer.data != nullptr, "no memory for {} scratch floats", rounded);
    buffer.floats = rounded;
  }
  return buffer.data.get();
}

}  // namespace headroom::kernels
