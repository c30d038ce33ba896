/*
 * Records every write and sync of a process to the files below POWERCUT_ROOT, in the
 * order in which they happened, into the file POWERCUT_LOG. Preloaded by the power-cut test.
 *
 * An entry: kind u8, sync u8, path length u16, offset u64, data length u64, path, data.
 * Kinds: 1 write, 2 sync of a file, 3 rename (data: the new path), 4 unlink, 5 truncate, 6 sync of a folder.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static char root[PATH_MAX];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("POWERCUT_ROOT"), *file = getenv("POWERCUT_LOG");
    if (folder && file && realpath(folder, root))
        log_fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *data, size_t size) {
    const char *at = data;
    while (size) {
        long done = syscall(SYS_write, log_fd, at, size);
        if (done <= 0) abort();
        at += done;
        size -= (size_t)done;
    }
}

static void entry(uint8_t kind, uint8_t sync, const char *path, uint64_t offset, const struct iovec *data, int parts, uint64_t size) {
    unsigned char head[20];
    uint16_t length = (uint16_t)strlen(path);
    head[0] = kind;
    head[1] = sync;
    memcpy(head + 2, &length, 2);
    memcpy(head + 4, &offset, 8);
    memcpy(head + 12, &size, 8);
    put(head, sizeof head);
    put(path, length);
    for (int i = 0; i < parts && size; i++) {
        size_t part = data[i].iov_len < size ? data[i].iov_len : size;
        put(data[i].iov_base, part);
        size -= part;
    }
}

/* The path of a descriptor, if it is one that is watched. */
static int watched(int fd, char *path) {
    char link[64];
    if (log_fd < 0 || fd == log_fd) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return strncmp(path, root, strlen(root)) == 0;
}

static uint8_t synchronous(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_DSYNC) ? 1 : 0;
}

static void written(int fd, const char *path, off_t offset, const struct iovec *data, int parts, ssize_t done) {
    if (done > 0) entry(1, synchronous(fd), path, (uint64_t)offset, data, parts, (uint64_t)done);
}

#define WRITING(call, at, data, parts)                     \
    char path[PATH_MAX];                                   \
    if (!watched(fd, path)) return call;                   \
    pthread_mutex_lock(&lock);                             \
    off_t begin_at = (at);                                 \
    ssize_t done = call;                                   \
    written(fd, path, begin_at, data, parts, done);        \
    pthread_mutex_unlock(&lock);                           \
    return done;

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    struct iovec one = {(void *)data, size};
    WRITING(REAL(pwrite)(fd, data, size, offset), offset, &one, 1)
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
    struct iovec one = {(void *)data, size};
    WRITING(REAL(pwrite64)(fd, data, size, offset), offset, &one, 1)
}

ssize_t pwritev(int fd, const struct iovec *data, int parts, off_t offset) {
    WRITING(REAL(pwritev)(fd, data, parts, offset), offset, data, parts)
}

ssize_t pwritev64(int fd, const struct iovec *data, int parts, off64_t offset) {
    WRITING(REAL(pwritev64)(fd, data, parts, offset), offset, data, parts)
}

static off_t here(int fd) {
    if (fcntl(fd, F_GETFL) & O_APPEND) return lseek(fd, 0, SEEK_END);
    return lseek(fd, 0, SEEK_CUR);
}

ssize_t write(int fd, const void *data, size_t size) {
    struct iovec one = {(void *)data, size};
    WRITING(REAL(write)(fd, data, size), here(fd), &one, 1)
}

ssize_t writev(int fd, const struct iovec *data, int parts) {
    WRITING(REAL(writev)(fd, data, parts), here(fd), data, parts)
}

static int synced(int fd, int (*call)(int)) {
    char path[PATH_MAX];
    struct stat status;
    if (!watched(fd, path)) return call(fd);
    pthread_mutex_lock(&lock);
    int result = call(fd);
    if (result == 0) entry(fstat(fd, &status) == 0 && S_ISDIR(status.st_mode) ? 6 : 2, 1, path, 0, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

static int truncated(int fd, off_t size, int (*call)(int, off_t)) {
    char path[PATH_MAX];
    if (!watched(fd, path)) return call(fd, size);
    pthread_mutex_lock(&lock);
    int result = call(fd, size);
    if (result == 0) entry(5, 0, path, (uint64_t)size, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t size) { return truncated(fd, size, REAL(ftruncate)); }
int ftruncate64(int fd, off64_t size) { return truncated(fd, size, REAL(ftruncate64)); }

int rename(const char *from, const char *to) {
    if (log_fd < 0 || strncmp(from, root, strlen(root)) != 0) return REAL(rename)(from, to);
    struct iovec one = {(void *)to, strlen(to)};
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0) entry(3, 0, from, 0, &one, 1, one.iov_len);
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) {
    if (log_fd < 0 || strncmp(path, root, strlen(root)) != 0) return REAL(unlink)(path);
    pthread_mutex_lock(&lock);
    int result = REAL(unlink)(path);
    if (result == 0) entry(4, 0, path, 0, NULL, 0, 0);
    pthread_mutex_unlock(&lock);
    return result;
}
