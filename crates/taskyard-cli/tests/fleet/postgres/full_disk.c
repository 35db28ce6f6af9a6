// A full disk, for a server that this is preloaded into: while the file exists that TASKYARD_FULL_DISK names, no file grows. What is
// written over stays possible, as on a real one.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int is_full(int file, off_t end) {
    struct stat stat;
    const char *flag = getenv("TASKYARD_FULL_DISK");
    return flag && access(flag, F_OK) == 0 && fstat(file, &stat) == 0 && S_ISREG(stat.st_mode) && end > stat.st_size;
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t offset) {
    if (is_full(file, offset + (off_t)count)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwrite64, file, bytes, count, offset);
}

ssize_t pwritev(int file, const struct iovec *parts, int count, off_t offset) {
    off_t end = offset;
    for (int part = 0; part < count; part++) end += (off_t)parts[part].iov_len;
    if (is_full(file, end)) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_pwritev, file, parts, count, offset, 0);
}

int posix_fallocate(int file, off_t offset, off_t length) {
    if (is_full(file, offset + length)) return ENOSPC;
    return syscall(SYS_fallocate, file, 0, offset, length) == 0 ? 0 : errno;
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off_t offset) { return pwrite(file, bytes, count, offset); }
ssize_t pwritev64(int file, const struct iovec *parts, int count, off_t offset) { return pwritev(file, parts, count, offset); }
int posix_fallocate64(int file, off_t offset, off_t length) { return posix_fallocate(file, offset, length); }
