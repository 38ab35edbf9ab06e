/* A disk between a program and its files, by LD_PRELOAD: it writes down what is done to the files below one directory, or
 * has the Nth change fail. What a program does past libc it does not see; the recording, replayed, tells that.
 *
 *   OFFERD_DISK_ROOT     the directory, as realpath(3) gives it
 *   OFFERD_DISK_CONTROL  a file of at least a page, shared with who watches: six u64 and a text
 *                        [0] entries in the log  [1] changes so far  [2] 1 once the fault has come  [3] 1 has a hang end
 *                        [4] 1 has every change wait for good  [5] 1 while one is being made and told
 *                        from byte 64 on: which change the fault came to
 *   OFFERD_DISK_LOG      a file for the recording; without it nothing is recorded
 *   OFFERD_DISK_FAULT    N:KIND:LASTING, KIND one of eio, enospc, short, hang, LASTING `once` or `on`
 *   OFFERD_DISK_ONLY     a part of a path: only changes of such files are counted, and fail
 *   OFFERD_DISK_UNREADABLE  a file with lines of PART FROM TO: of the reads of files with this part in their path, counted
 *                        from 1, those from FROM to TO fail; it is looked at again at each read
 *   OFFERD_DISK_SYNCS    a file with a line of PART KIND: syncs of files with this part in their path hang or fail, as KIND says;
 *                        it is looked at again at each sync, and while one hangs
 *   OFFERD_DISK_CLOCK    seconds that the wall clock is ahead
 *
 * An entry of the log, little endian:
 *   kind u32  fd i32  a i64  b i64  first length u32  second length u32  first  second
 * An entry and what it tells are one under a lock, so the order of the log is that of the changes. A sync alone has two
 * entries: what it makes durable is what stood before the first, and it is so from the second on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind {
    OPEN = 1, WRITE, RESIZE, ALLOCATE, SYNC, SYNCED, RENAME, UNLINK, MKDIR, RMDIR, LINK, CLOSE, DUPLICATE, MAP,
};

struct control {
    _Atomic uint64_t entries, changes, fired, released, frozen, inside;
    char rest[16], what[512];
};

#define DESCRIPTORS (1 << 20)
static _Atomic(char *) watched[DESCRIPTORS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char root[PATH_MAX];
static size_t root_length;
static struct control *control;
static int journal = -1;
static int64_t syncs;
static struct { uint64_t at; char kind[16]; int on; } fault;
static const char *only;
static time_t ahead;

__attribute__((constructor)) static void begin(void) {
    const char *value = getenv("OFFERD_DISK_CLOCK");
    if (value) ahead = atol(value);
    if (!(value = getenv("OFFERD_DISK_ROOT"))) return;
    snprintf(root, sizeof root, "%s", value);
    if ((value = getenv("OFFERD_DISK_CONTROL"))) {
        int file = syscall(SYS_openat, AT_FDCWD, value, O_RDWR | O_CLOEXEC);
        void *map = file < 0 ? MAP_FAILED
            : (void *)syscall(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (map == MAP_FAILED) abort();
        syscall(SYS_close, file);
        control = map;
    }
    if ((value = getenv("OFFERD_DISK_LOG"))) {
        journal = syscall(SYS_openat, AT_FDCWD, value, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (journal < 0) abort();
    }
    if ((value = getenv("OFFERD_DISK_FAULT"))) {
        char lasting[8] = "";
        if (sscanf(value, "%lu:%15[a-z]:%7[a-z]", &fault.at, fault.kind, lasting) != 3) abort();
        fault.on = !strcmp(lasting, "on");
    }
    only = getenv("OFFERD_DISK_ONLY");
    if (!control) abort();
    root_length = strlen(root);
}

/* The whole of a path, where it is below the root. */
static const char *below(int at, const char *path, char *whole) {
    if (!root_length || !path) return NULL;
    if (path[0] != '/') {
        char link[64];
        ssize_t length;
        if (at == AT_FDCWD) {
            if (!getcwd(whole, PATH_MAX)) return NULL;
            length = strlen(whole);
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            if ((length = readlink(link, whole, PATH_MAX - 1)) < 0) return NULL;
        }
        if (length + strlen(path) + 2 > PATH_MAX) return NULL;
        whole[length] = '/';
        strcpy(whole + length + 1, path);
    } else {
        if (strlen(path) >= PATH_MAX) return NULL;
        strcpy(whole, path);
    }
    if (strncmp(whole, root, root_length) || (whole[root_length] && whole[root_length] != '/')) return NULL;
    return whole;
}

static const char *name_of(int fd) {
    return root_length && fd >= 0 && fd < DESCRIPTORS ? atomic_load(&watched[fd]) : NULL;
}

static void watch(int fd, const char *path) {
    if (fd < 0 || fd >= DESCRIPTORS) return;
    free(atomic_exchange(&watched[fd], path ? strdup(path) : NULL));
}

/* Begins a change and its entry, which nobody finds apart: who freezes waits until none is inside, and then none begins. */
static void enter(void) {
    pthread_mutex_lock(&lock);
    atomic_store(&control->inside, 1);
    if (atomic_load(&control->frozen)) {
        atomic_store(&control->inside, 0);
        for (;;) nanosleep(&(struct timespec){ 1, 0 }, NULL);
    }
}

static void leave(void) {
    atomic_store(&control->inside, 0);
    pthread_mutex_unlock(&lock);
}

/* Adds an entry; the lock is held. */
static void tell(enum kind kind, int fd, int64_t a, int64_t b, const struct iovec *first, int count, size_t length,
                 const char *second) {
    if (journal < 0) return;
    struct { uint32_t kind; int32_t fd; int64_t a, b; uint32_t first, second; } head
        = { kind, fd, a, b, length, second ? strlen(second) : 0 };
    struct iovec parts[3 + IOV_MAX];
    int used = 0;
    size_t whole = sizeof head + length + head.second;
    parts[used++] = (struct iovec){ &head, sizeof head };
    for (size_t left = length; count && left; first++, count--) {
        size_t part = first->iov_len < left ? first->iov_len : left;
        parts[used++] = (struct iovec){ first->iov_base, part };
        left -= part;
    }
    if (head.second) parts[used++] = (struct iovec){ (void *)second, head.second };
    if (syscall(SYS_writev, journal, parts, used) != (ssize_t)whole) abort();
    atomic_fetch_add(&control->entries, 1);
}

static void tell_names(enum kind kind, int fd, int64_t a, const char *path, const char *second) {
    struct iovec first = { (void *)path, strlen(path) };
    tell(kind, fd, a, 0, &first, 1, first.iov_len, second);
}

enum outcome { GOES_ON, FAILS, IS_SHORT };

/* What becomes of a change: counted, and the fault when it is due. */
static enum outcome due(const char *what, const char *path) {
    if (only && !strstr(path, only)) return GOES_ON;
    uint64_t number = atomic_fetch_add(&control->changes, 1) + 1;
    if (!fault.at || number < fault.at || (number > fault.at && !fault.on)) return GOES_ON;
    if (number == fault.at) {
        snprintf(control->what, sizeof control->what, "%s %s", what, path + root_length);
        atomic_store(&control->fired, 1);
    }
    if (!strcmp(fault.kind, "hang")) {
        while (!atomic_load(&control->released)) nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
        return GOES_ON;
    }
    if (!strcmp(fault.kind, "short")) return IS_SHORT;
    errno = !strcmp(fault.kind, "enospc") ? ENOSPC : EIO;
    return FAILS;
}

static int opened(int at, const char *path, int flags, mode_t mode) {
    char whole[PATH_MAX];
    const char *name = below(at, path, whole);
    if (!name) return syscall(SYS_openat, at, path, flags, mode);
    int changes = flags & (O_CREAT | O_TRUNC);
    if (changes && due("open", name) == FAILS) return -1;
    enter();
    int fd = syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0) {
        watch(fd, name);
        tell_names(OPEN, fd, flags, name, NULL);
    }
    leave();
    return fd;
}

#define MODE(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); }

int open(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return opened(AT_FDCWD, path, flags | O_LARGEFILE, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return opened(at, path, flags | O_LARGEFILE, mode); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return creat(path, mode); }

int close(int fd) {
    if (!name_of(fd)) return syscall(SYS_close, fd);
    enter();
    watch(fd, NULL);
    int closed = syscall(SYS_close, fd);
    tell(CLOSE, fd, 0, 0, NULL, 0, 0, NULL);
    leave();
    return closed;
}

/* Writes pieces at an offset, or where the descriptor stands (-1). */
static ssize_t wrote(int fd, const struct iovec *parts, int count, off_t offset) {
    const char *name = name_of(fd);
    struct iovec half;
    if (name) {
        enum outcome outcome = due("write", name);
        if (outcome == FAILS) return -1;
        if (outcome == IS_SHORT && count && parts->iov_len > 1) {
            half = (struct iovec){ parts->iov_base, parts->iov_len / 2 };
            parts = &half;
            count = 1;
        }
        enter();
    }
    ssize_t written = offset < 0 ? syscall(SYS_writev, fd, parts, count)
                                 : syscall(SYS_pwritev, fd, parts, count, offset, 0L);
    if (name) {
        int kept = errno;
        if (written > 0) {
            if (offset < 0) offset = lseek(fd, 0, SEEK_CUR) - written;
            tell(WRITE, fd, offset, 0, parts, count, written, NULL);
        }
        leave();
        errno = kept;
    }
    return written;
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (!name_of(fd)) return syscall(SYS_write, fd, bytes, length);
    return wrote(fd, &(struct iovec){ (void *)bytes, length }, 1, -1);
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!name_of(fd)) return syscall(SYS_writev, fd, parts, count);
    return wrote(fd, parts, count, -1);
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    if (!name_of(fd)) return syscall(SYS_pwrite64, fd, bytes, length, offset);
    return wrote(fd, &(struct iovec){ (void *)bytes, length }, 1, offset);
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) { return pwrite(fd, bytes, length, offset); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) { return wrote(fd, parts, count, offset); }
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t offset) { return wrote(fd, parts, count, offset); }

int ftruncate(int fd, off_t length) {
    const char *name = name_of(fd);
    if (!name) return syscall(SYS_ftruncate, fd, length);
    if (due("resize", name) == FAILS) return -1;
    enter();
    int done = syscall(SYS_ftruncate, fd, length);
    if (!done) tell(RESIZE, fd, length, 0, NULL, 0, 0, NULL);
    leave();
    return done;
}
int ftruncate64(int fd, off64_t length) { return ftruncate(fd, length); }

int fallocate(int fd, int mode, off_t offset, off_t length) {
    const char *name = name_of(fd);
    if (!name) return syscall(SYS_fallocate, fd, mode, offset, length);
    if (due("allocate", name) == FAILS) return -1;
    enter();
    int done = syscall(SYS_fallocate, fd, mode, offset, length);
    char flags[16];
    snprintf(flags, sizeof flags, "%d", mode);
    if (!done) tell(ALLOCATE, fd, offset, length, NULL, 0, 0, flags);
    leave();
    return done;
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) { return fallocate(fd, mode, offset, length); }
int posix_fallocate(int fd, off_t offset, off_t length) { return fallocate(fd, 0, offset, length) ? errno : 0; }
int posix_fallocate64(int fd, off64_t offset, off64_t length) { return posix_fallocate(fd, offset, length); }

/* Reads a file of rules, and the path of a descriptor; whether there are any. */
static int ruled(const char *variable, int fd, char *text, size_t room, char *path) {
    const char *rules = getenv(variable);
    if (!rules) return 0;
    char link[64];
    int file = syscall(SYS_openat, AT_FDCWD, rules, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t length = syscall(SYS_read, file, text, room - 1);
    syscall(SYS_close, file);
    if (length <= 0) return 0;
    text[length] = 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((length = readlink(link, path, PATH_MAX - 1)) < 0) return 0;
    path[length] = 0;
    return 1;
}

/* Waits while a sync is one that hangs, then says whether it is one that fails. */
static int fails_to_sync(int fd) {
    char path[PATH_MAX], part[256], kind[16], text[1024];
    while (ruled("OFFERD_DISK_SYNCS", fd, text, sizeof text, path)) {
        if (sscanf(text, "%255s %15s", part, kind) != 2 || !strstr(path, part)) return 0;
        if (strcmp(kind, "hang")) return !strcmp(kind, "fail");
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    }
    return 0;
}

static int synced(long call, int fd) {
    if (fails_to_sync(fd)) { errno = EIO; return -1; }
    const char *name = name_of(fd);
    if (!name) return syscall(call, fd);
    if (due("sync", name) == FAILS) return -1;
    enter();
    int64_t number = ++syncs;
    tell(SYNC, fd, number, 0, NULL, 0, 0, NULL);
    leave();
    int done = syscall(call, fd);
    int kept = errno;
    enter();
    if (!done) tell(SYNCED, fd, number, 0, NULL, 0, 0, NULL);
    leave();
    errno = kept;
    return done;
}
int fsync(int fd) { return synced(SYS_fsync, fd); }
int fdatasync(int fd) { return synced(SYS_fdatasync, fd); }

/* Makes nothing durable, so it is no entry. */
int sync_file_range(int fd, off64_t offset, off64_t length, unsigned flags) {
    const char *name = name_of(fd);
    if (name && due("sync range", name) == FAILS) return -1;
    return syscall(SYS_sync_file_range, fd, offset, length, flags);
}

/* A change of one or two names. */
static int named(enum kind kind, const char *what, int at, const char *path, int at2, const char *path2, int64_t a,
                 long (*call)(int, const char *, int, const char *, int64_t)) {
    char whole[PATH_MAX], whole2[PATH_MAX];
    const char *name = below(at, path, whole);
    const char *name2 = path2 ? below(at2, path2, whole2) : NULL;
    if (!name && !name2) return call(at, path, at2, path2, a);
    /* What comes in or goes out would be torn from its other name. */
    if (path2 && (!name || !name2)) { fprintf(stderr, "disk: %s leaves the watched directory\n", what); abort(); }
    if (due(what, name) == FAILS) return -1;
    enter();
    int done = call(at, path, at2, path2, a);
    int kept = errno;
    if (!done) tell_names(kind, -1, a, name, name2);
    leave();
    errno = kept;
    return done;
}

static long do_rename(int at, const char *p, int at2, const char *p2, int64_t a) { return syscall(SYS_renameat2, at, p, at2, p2, a); }
static long do_unlink(int at, const char *p, int at2, const char *p2, int64_t a) { (void)at2; (void)p2; return syscall(SYS_unlinkat, at, p, a); }
static long do_mkdir(int at, const char *p, int at2, const char *p2, int64_t a) { (void)at2; (void)p2; return syscall(SYS_mkdirat, at, p, a); }
static long do_link(int at, const char *p, int at2, const char *p2, int64_t a) { return syscall(SYS_linkat, at, p, at2, p2, a); }

int rename(const char *from, const char *to) { return named(RENAME, "rename", AT_FDCWD, from, AT_FDCWD, to, 0, do_rename); }
int renameat(int at, const char *from, int at2, const char *to) { return named(RENAME, "rename", at, from, at2, to, 0, do_rename); }
int renameat2(int at, const char *from, int at2, const char *to, unsigned flags) { return named(RENAME, "rename", at, from, at2, to, flags, do_rename); }
int unlink(const char *path) { return named(UNLINK, "unlink", AT_FDCWD, path, 0, NULL, 0, do_unlink); }
int rmdir(const char *path) { return named(RMDIR, "rmdir", AT_FDCWD, path, 0, NULL, AT_REMOVEDIR, do_unlink); }
int unlinkat(int at, const char *path, int flags) {
    return named(flags & AT_REMOVEDIR ? RMDIR : UNLINK, "unlink", at, path, 0, NULL, flags, do_unlink);
}
int mkdir(const char *path, mode_t mode) { return named(MKDIR, "mkdir", AT_FDCWD, path, 0, NULL, mode, do_mkdir); }
int mkdirat(int at, const char *path, mode_t mode) { return named(MKDIR, "mkdir", at, path, 0, NULL, mode, do_mkdir); }
int link(const char *from, const char *to) { return named(LINK, "link", AT_FDCWD, from, AT_FDCWD, to, 0, do_link); }
int linkat(int at, const char *from, int at2, const char *to, int flags) { return named(LINK, "link", at, from, at2, to, flags, do_link); }

/* Copies into a watched file go by way of plain writes, which is what callers fall back to. */
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t length, unsigned flags) {
    if (name_of(out)) { errno = EXDEV; return -1; }
    return syscall(SYS_copy_file_range, in, from, out, to, length, flags);
}
ssize_t sendfile(int out, int in, off_t *from, size_t length) {
    if (name_of(out)) { errno = EINVAL; return -1; }
    return syscall(SYS_sendfile, out, in, from, length);
}
ssize_t sendfile64(int out, int in, off64_t *from, size_t length) { return sendfile(out, in, from, length); }

static int duplicated(int fd, long call, long a, long b, long c) {
    const char *name = name_of(fd);
    if (!name) {
        int made = syscall(call, a, b, c);
        return made;
    }
    enter();
    int made = syscall(call, a, b, c);
    if (made >= 0) {
        watch(made, name);
        tell(DUPLICATE, fd, made, 0, NULL, 0, 0, NULL);
    }
    leave();
    return made;
}
int dup(int fd) { return duplicated(fd, SYS_dup, fd, 0, 0); }
int dup2(int fd, int to) { return duplicated(fd, SYS_dup2, fd, to, 0); }
int dup3(int fd, int to, int flags) { return duplicated(fd, SYS_dup3, fd, to, flags); }
int fcntl(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) return duplicated(fd, SYS_fcntl, fd, command, argument);
    return syscall(SYS_fcntl, fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
    va_list more;
    va_start(more, command);
    long argument = va_arg(more, long);
    va_end(more);
    return fcntl(fd, command, argument);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    const char *name = fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE) ? name_of(fd) : NULL;
    if (name) {
        enter();
        tell_names(MAP, fd, offset, name, NULL);
        leave();
    }
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset) {
    return mmap(address, length, protection, flags, fd, offset);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    /* The vDSO's, which is fast; asked for once. */
    extern void *dlsym(void *, const char *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym((void *)-1L, "clock_gettime");
    int done = real(clock, time);
    if (!done && ahead && clock == CLOCK_REALTIME) time->tv_sec += ahead;
    return done;
}

/* Whether a read is one that fails. */
static int is_unreadable(int fd) {
    static _Atomic unsigned long reads;
    char path[PATH_MAX], part[256], text[1024];
    unsigned long from, to;
    if (!ruled("OFFERD_DISK_UNREADABLE", fd, text, sizeof text, path)) return 0;
    if (sscanf(text, "%255s %lu %lu", part, &from, &to) != 3 || !strstr(path, part)) return 0;
    unsigned long number = atomic_fetch_add(&reads, 1) + 1;
    return number >= from && number <= to;
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t offset) {
    if (is_unreadable(fd)) { errno = EIO; return -1; }
    return syscall(SYS_pread64, fd, bytes, length, offset);
}
ssize_t pread(int fd, void *bytes, size_t length, off_t offset) { return pread64(fd, bytes, length, offset); }
