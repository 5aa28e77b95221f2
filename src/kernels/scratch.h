// scratch: buffers that a thread keeps between kernel calls.
#pragma once

#include <cstddef>

namespace headroom::kernels {

/// What a buffer is for; each thread has one buffer of each kind. kShared… are taken by the caller
/// of a kernel and read by its tasks, kTask… by a task for itself.
enum class Scratch {
  kSharedIndex,
  kSharedInput,
  kSharedInner,
  kSharedOutput,
  kTaskA,
  kTaskB,
  kCount
};

/// `floats` floats, 64-byte aligned, contents undefined; valid until this thread asks for more of
/// the same kind. Grows when asked for more than ever before, never shrinks.
float* scratch(Scratch kind, size_t floats);

}  // namespace headroom::kernels
