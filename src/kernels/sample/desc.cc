// Text form of a sample descriptor.
#include "kernels/sample/desc.h"

namespace headroom::kernels {

std::string SampleDesc::text() const {
  return fmt::format("sample vocab={}", vocab);
}

}  // namespace headroom::kernels
