/* Preloaded into all processes of one side: their wall clock is ahead by the nanoseconds that a shared file says.

   The file is named by ROUNDWATCH_FAULTS_CLOCK and holds one int64; it may change at any moment. Monotonic clocks stay
   as they are, as they do when somebody sets a machine's clock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

static const volatile int64_t *shared;

__attribute__((constructor)) static void find(void) {
    const char *path = getenv("ROUNDWATCH_FAULTS_CLOCK");
    int kept = errno, file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file >= 0) {
        void *map = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
        if (map != MAP_FAILED) shared = map;
        close(file);
    }
    errno = kept;
}

static struct timespec moved(struct timespec at, int64_t by) {
    int64_t ns = at.tv_sec * SECOND + at.tv_nsec + by;
    return (struct timespec){ns / SECOND, ns % SECOND};
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && shared && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) *now = moved(*now, *shared);
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec fine;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &fine) == 0) *now = (struct timeval){fine.tv_sec, fine.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *where) {
    struct timespec fine = {0};
    clock_gettime(CLOCK_REALTIME, &fine);
    if (where) *where = fine.tv_sec;
    return fine.tv_sec;
}

/* The kernel waits by its own clock, which nobody moved. */
int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until) {
    static int (*real)(sem_t *, const struct timespec *);
    if (!real) real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    struct timespec mine = moved(*until, shared ? -*shared : 0);
    return real(semaphore, &mine);
}
