/* A driver library as small as can be, for tests: two devices whose state stands in the file that $FAKE_NVML names.
 * A line per device: "ok|lost|mute BUSY_PERCENT USED_MIB PID PID_MIB"; one that is mute does not tell who uses it. Read
 * again at every question. Built without -DCOMPLETE it is a library too old for the binding: functions are missing.
 * Where $FAKE_NVML_FAILS is "init" or "shutdown" that fails, as with a driver that is being exchanged. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned int gpu, memory; } utilization_t;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu_instance, compute_instance; } process_t;
typedef struct { char state[8]; unsigned int busy, used, pid, pid_used; } device_t;
enum { SUCCESS = 0, UNKNOWN = 999, INVALID = 2, SMALL = 7, NOT_LOADED = 9, LOST = 15 };
static const unsigned long long MIB = 1 << 20, TOTAL = 16384;

static int look(long index, device_t *device) {
  FILE *file = fopen(getenv("FAKE_NVML"), "r");
  long at = 0;
  int found = 0;
  if (!file) return UNKNOWN;
  while (!found && fscanf(file, "%7s %u %u %u %u", device->state, &device->busy, &device->used, &device->pid,
                          &device->pid_used) == 5)
    found = at++ == index;
  fclose(file);
  if (!found) return INVALID;
  return strcmp(device->state, "lost") ? SUCCESS : LOST;
}

static int fails(const char *what) {
  const char *named = getenv("FAKE_NVML_FAILS");
  return named && !strcmp(named, what) ? NOT_LOADED : SUCCESS;
}

int nvmlInitWithFlags(unsigned int flags) { return (int)(flags * 0) + fails("init"); }
int nvmlShutdown(void) { return fails("shutdown"); }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "fake error"; }

int nvmlDeviceGetCount_v2(unsigned int *count) {
  device_t device;
  int result = SUCCESS;
  for (*count = 0; (result = look((long)*count, &device)) == SUCCESS || result == LOST;) ++*count;
  return result == UNKNOWN ? UNKNOWN : SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **handle) {
  device_t device;
  *handle = (void *)((long)index + 1);
  return look((long)index, &device);
}

int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory) {
  device_t device;
  int result = look((long)handle - 1, &device);
  memory->total = TOTAL * MIB;
  memory->used = device.used * MIB;
  memory->free = memory->total - memory->used;
  return result;
}

#ifdef COMPLETE
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned int size) {
  snprintf(uuid, size, "GPU-fake-%ld", (long)handle - 1);
  return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(void *handle, utilization_t *rates) {
  device_t device;
  int result = look((long)handle - 1, &device);
  rates->gpu = device.busy;
  rates->memory = 0;
  return result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned int *count, process_t *processes) {
  device_t device;
  int result = look((long)handle - 1, &device);
  if (result != SUCCESS) return result;
  if (!strcmp(device.state, "mute")) return UNKNOWN;
  if (!processes) {
    *count = device.pid != 0;
    return device.pid ? SMALL : SUCCESS;
  }
  *count = 1;
  memset(processes, 0, sizeof *processes);
  processes->pid = device.pid;
  processes->used = device.pid_used * MIB;
  return SUCCESS;
}
#endif
#ifdef ALMOST
int nvmlDeviceGetUUID(void *handle, char *uuid, unsigned int size) {
  snprintf(uuid, size, "GPU-old-%ld", (long)handle - 1);
  return SUCCESS;
}
#endif
