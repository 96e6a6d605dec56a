/* A library that answers NVML's calls with recorded values: eight devices, one of them split (MIG), one that fails in
 * the middle, one that falls off the bus. The test moves it on with fake_tick(); a process of its
 * own is told by FAKE_NVML that there is a driver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS, UNINITIALIZED, INVALID_ARGUMENT, NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
       DRIVER_NOT_LOADED = 9, TIMEOUT = 10, GPU_IS_LOST = 15, UNKNOWN = 999 };
enum { COUNT = 8, SPLIT = 1, FAILING = 3, LOST = 5, NARROW = 6, INSTANCES = 2, LINKS = 18 };

typedef struct { int index; int instance; } device;
typedef struct { unsigned int gpu, memory; } utilisation;
typedef struct { unsigned long long total, free, used; } memory;
typedef struct { unsigned int pid; unsigned long long used; unsigned int gpu, compute; } process;
typedef struct { device *from; unsigned long long type, data; unsigned int gpu, compute; } event;
typedef struct { char legacy[16]; unsigned int domain, bus, slot, id, subsystem; char address[32]; } pci;
typedef struct { unsigned int field, scope; long long time, latency; unsigned int type, result;
                 union { double d; unsigned int ui; unsigned long long ull; } value; } field;

static device devices[COUNT], instances[INSTANCES];
static int present, tick, opened, told, calls;
static unsigned int training_pid = 4242, second_pid;

void fake_reset(int is_present) { present = is_present; tick = opened = told = calls = 0; training_pid = 4242; second_pid = 0; }
void fake_tick(int now) { tick = now; }
void fake_pid(unsigned int pid) { training_pid = pid; }
void fake_second_pid(unsigned int pid) { second_pid = pid; }
int fake_calls(void) { return calls; }

/* What a question about this device meets before it is answered. */
static int met(device *d) {
    calls++;
    if (!opened) return UNINITIALIZED;
    if (d->index == LOST && tick >= 2) return GPU_IS_LOST;
    if (d->index == FAILING && tick == 1) return UNKNOWN;
    return SUCCESS;
}
#define ANSWER(d) do { int code = met(d); if (code) return code; } while (0)
#define WHOLE(d) do { ANSWER(d); if ((d)->instance || (d)->index == SPLIT) return NOT_SUPPORTED; } while (0)

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    if (!present && !getenv("FAKE_NVML")) return DRIVER_NOT_LOADED;
    for (int i = 0; i < COUNT; i++) devices[i] = (device){i, 0};
    for (int i = 0; i < INSTANCES; i++) instances[i] = (device){SPLIT, i + 1};
    opened = 1;
    return SUCCESS;
}
int nvmlShutdown(void) { opened = 0; return SUCCESS; }
const char *nvmlErrorString(int code) { return code == UNKNOWN ? "Unknown Error" : "An error"; }
int nvmlSystemGetDriverVersion(char *text, unsigned int size) { snprintf(text, size, "570.86.15"); return opened ? SUCCESS : UNINITIALIZED; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = COUNT; return opened ? SUCCESS : UNINITIALIZED; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device **d) { ANSWER(&devices[index]); *d = &devices[index]; return SUCCESS; }
int nvmlDeviceGetName(device *d, char *text, unsigned int size) { ANSWER(d); snprintf(text, size, "NVIDIA H100 80GB HBM3"); return SUCCESS; }
int nvmlDeviceGetUUID(device *d, char *text, unsigned int size) {
    ANSWER(d);
    if (d->instance) snprintf(text, size, "MIG-%08d-0000-0000-0000-000000000000", d->instance);
    else snprintf(text, size, "GPU-%08d-0000-0000-0000-000000000000", d->index);
    return SUCCESS;
}
int nvmlDeviceGetPciInfo_v3(device *d, pci *p) {
    ANSWER(d);
    memset(p, 0, sizeof *p);
    snprintf(p->address, sizeof p->address, "00000000:%02X:00.0", 0x1A + d->index);
    return SUCCESS;
}
int nvmlDeviceGetMigMode(device *d, unsigned int *now, unsigned int *pending) {
    ANSWER(d);
    if (d->instance) return NOT_SUPPORTED;
    *now = *pending = d->index == SPLIT;
    return SUCCESS;
}
int nvmlDeviceGetMaxMigDeviceCount(device *d, unsigned int *count) { ANSWER(d); *count = 7; return SUCCESS; }
int nvmlDeviceGetMigDeviceHandleByIndex(device *d, unsigned int index, device **made) {
    ANSWER(d);
    if (d->index != SPLIT || index >= INSTANCES) return NOT_FOUND;
    *made = &instances[index];
    return SUCCESS;
}
int nvmlDeviceGetUtilizationRates(device *d, utilisation *u) { WHOLE(d); *u = (utilisation){90 + d->index, 40}; return SUCCESS; }
int nvmlDeviceGetMemoryInfo(device *d, memory *m) {
    ANSWER(d);
    unsigned long long gib = 1ULL << 30, total = d->instance ? 10 * gib : 80 * gib, used = d->instance ? gib : 30 * gib;
    *m = (memory){total, total - used, used};
    return SUCCESS;
}
int nvmlDeviceGetPowerUsage(device *d, unsigned int *mw) { ANSWER(d); if (d->instance) return NOT_SUPPORTED; *mw = 650500; return SUCCESS; }
int nvmlDeviceGetEnforcedPowerLimit(device *d, unsigned int *mw) { ANSWER(d); if (d->instance) return NOT_SUPPORTED; *mw = 700000; return SUCCESS; }
int nvmlDeviceGetTemperature(device *d, int sensor, unsigned int *t) { (void)sensor; ANSWER(d); *t = 61; return SUCCESS; }
int nvmlDeviceGetClockInfo(device *d, int type, unsigned int *mhz) { ANSWER(d); *mhz = type == 1 ? 1755 : 2619; return SUCCESS; }
int nvmlDeviceGetMaxClockInfo(device *d, int type, unsigned int *mhz) { (void)type; ANSWER(d); *mhz = 1980; return SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(device *d, unsigned long long *bits) { ANSWER(d); *bits = d->index == 2 ? 0x44 : 0; return SUCCESS; }
int nvmlDeviceGetTotalEccErrors(device *d, int kind, int counter, unsigned long long *n) { (void)counter; WHOLE(d); *n = kind ? 0 : 3; return SUCCESS; }
int nvmlDeviceGetPerformanceState(device *d, int *state) { ANSWER(d); *state = d->index == 7 ? 8 : 0; return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkGeneration(device *d, unsigned int *n) { ANSWER(d); *n = d->index == 7 ? 1 : 5; return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkGeneration(device *d, unsigned int *n) { ANSWER(d); *n = 5; return SUCCESS; }
int nvmlDeviceGetCurrPcieLinkWidth(device *d, unsigned int *n) { ANSWER(d); *n = d->index == NARROW ? 8 : 16; return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkWidth(device *d, unsigned int *n) { ANSWER(d); *n = 16; return SUCCESS; }
int nvmlDeviceGetPcieReplayCounter(device *d, unsigned int *n) { ANSWER(d); *n = 0; return SUCCESS; }
int nvmlDeviceGetPcieThroughput(device *d, int counter, unsigned int *kb) { WHOLE(d); *kb = counter ? 2000 : 1000; return SUCCESS; }
int nvmlDeviceGetNvLinkState(device *d, unsigned int link, unsigned int *up) {
    ANSWER(d);
    if (link >= LINKS) return INVALID_ARGUMENT;
    if (d->index == 0) return NOT_SUPPORTED;
    *up = !(d->index == 4 && link < 2);
    return SUCCESS;
}
int nvmlDeviceGetFieldValues(device *d, int count, field *f) {
    ANSWER(d);
    for (int i = 0; i < count; i++) {
        int nvlink = f[i].field == 138 || f[i].field == 139, pcie = f[i].field == 197 || f[i].field == 198;
        f[i].result = (nvlink && d->index != 0 && f[i].scope == 0xFFFFFFFFu) || (pcie && d->index == 7) ? SUCCESS : NOT_SUPPORTED;
        f[i].type = 3;
        f[i].value.ull = (unsigned long long)(tick + 1) * (nvlink ? 1024 : 1000000) * (1 + (f[i].field & 1));
    }
    return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(device *d, unsigned int *count, process *p) {
    ANSWER(d);
    unsigned int room = *count, there = d->index == 2 ? 2 : d->index == 0 ? 1 : 0;
    *count = there;
    if (!there) return SUCCESS;
    if (room < there) return INSUFFICIENT_SIZE;
    p[0] = (process){training_pid, 20ULL << 30, 0xFFFFFFFFu, 0xFFFFFFFFu};
    if (there > 1) p[1] = second_pid ? (process){second_pid, 5ULL << 30, 0xFFFFFFFFu, 0xFFFFFFFFu}
                                     : (process){99, ~0ULL, 0xFFFFFFFFu, 0xFFFFFFFFu};
    return SUCCESS;
}
int nvmlEventSetCreate(int **set) { static int events; *set = &events; return opened ? SUCCESS : UNINITIALIZED; }
int nvmlDeviceRegisterEvents(device *d, unsigned long long kinds, int *set) { (void)kinds; (void)set; ANSWER(d); return SUCCESS; }
int nvmlEventSetWait_v2(int *set, event *e, unsigned int ms) {
    (void)set; (void)ms;
    if (tick < 2 || told >= 2) return TIMEOUT;
    *e = (event){&devices[LOST], 8, told++ ? 45 : 79, 0, 0};
    return SUCCESS;
}
int nvmlDeviceGetTopologyCommonAncestor(device *a, device *b, int *level) {
    ANSWER(a); ANSWER(b);
    *level = a->index / 4 == b->index / 4 ? (a->index / 2 == b->index / 2 ? 10 : 40) : 50;
    return SUCCESS;
}
