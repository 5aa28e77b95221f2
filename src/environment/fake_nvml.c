// A stand-in for NVIDIA's management library: two devices that differ in one power limit.
#include <string.h>

typedef struct {
  unsigned long long total, free, used;
} Memory;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  strncpy(text, "570.86.15", size);
  return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12080;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  static char devices[2];
  *device = &devices[index];
  return 0;
}
static unsigned first;  // device 0 has been asked for its limit
int nvmlDeviceGetName(void* device, char* text, unsigned size) {
  strncpy(text, "NVIDIA H200", size);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = 150754820096ull;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void* device, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : 3201;
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 345 : 3201;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void* device, unsigned* milliwatts) {
  *milliwatts = first++ == 0 ? 700000 : 500000;
  return 0;
}
int nvmlDeviceGetEccMode(void* device, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return 0;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  return 3;  // not supported
}
