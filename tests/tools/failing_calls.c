/* A library to preload: it counts the calls to the system that concern files below a directory, and fails one of them.
 *
 * Until `failing_calls_arm` is called, and for other files, all calls are passed on. Each call writes a line to the log
 * (its number, name and path). A failed call has no effect, but for `close`, which closes and then says that it failed. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static char root[4096];
static int armed, log_file = -1, wrong;
static long failing; /* the number of the call that fails, from 1 on; 0: none does */
static atomic_long calls;

/* Counts calls below `directory` from now on, and fails number `at` with `error`. `log`: an open file. */
void failing_calls_arm(const char *directory, long at, int error, int log) {
    snprintf(root, sizeof root, "%s", directory);
    failing = at, wrong = error, log_file = log;
    atomic_store(&calls, 0);
    armed = 1;
}

static int fails(const char *name, const char *path) {
    if (!armed || !path || strncmp(path, root, strlen(root)))
        return 0;
    long number = atomic_fetch_add(&calls, 1) + 1;
    char line[4400];
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, name, path + strlen(root));
    syscall(SYS_write, log_file, line, length);
    if (number != failing)
        return 0;
    errno = wrong;
    return 1;
}

static const char *path_of(int file, char *buffer) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    long length = syscall(SYS_readlinkat, AT_FDCWD, link, buffer, 4095);
    return length < 0 ? NULL : (buffer[length] = 0, buffer);
}

static const char *path_at(int directory, const char *path, char *buffer) {
    if (!path || path[0] == '/' || directory == AT_FDCWD)
        return path;
    if (!path_of(directory, buffer))
        return NULL;
    size_t length = strlen(buffer);
    snprintf(buffer + length, 4096 - length, "/%s", path);
    return buffer;
}

static int fails_of(const char *name, int file) {
    char buffer[4096];
    int saved = errno;
    if (!armed || file < 0)
        return 0;
    const char *path = path_of(file, buffer);
    errno = saved;
    return fails(name, path);
}

static int fails_at(const char *name, int directory, const char *path) {
    char buffer[8192];
    int saved = errno;
    if (!armed)
        return 0;
    const char *whole = path_at(directory, path, buffer);
    errno = saved;
    return fails(name, whole);
}

#define NEXT(name) ((__typeof__(&name))next(&next_##name, #name))
#define SLOT(name) static void *next_##name
static void *next(void **slot, const char *name) { return *slot ? *slot : (*slot = dlsym(RTLD_NEXT, name)); }

#define CALL(type, name, condition, failed, parameters, arguments)                                                     \
    SLOT(name);                                                                                                        \
    type name parameters { return condition ? failed : NEXT(name) arguments; }
#define BY_PATH(name, path, parameters, arguments) CALL(int, name, fails(#name, path), -1, parameters, arguments)
#define BY_FILE(type, name, parameters, arguments) CALL(type, name, fails_of(#name, file), -1, parameters, arguments)
#define BY_PLACE(name, directory, path, parameters, arguments)                                                         \
    CALL(int, name, fails_at(#name, directory, path), -1, parameters, arguments)

#define OPEN(name)                                                                                                     \
    SLOT(name);                                                                                                        \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return fails(flags & O_CREAT ? #name "+" : #name, path) ? -1 : NEXT(name)(path, flags, mode);                  \
    }
#define OPENAT(name)                                                                                                   \
    SLOT(name);                                                                                                        \
    int name(int directory, const char *path, int flags, ...) {                                                        \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return fails_at(#name, directory, path) ? -1 : NEXT(name)(directory, path, flags, mode);                       \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

#define TWO int one, const char *from, int two, const char *to
BY_PATH(rename, to, (const char *from, const char *to), (from, to))
BY_PLACE(renameat, two, to, (TWO), (one, from, two, to))
BY_PLACE(renameat2, two, to, (TWO, unsigned flags), (one, from, two, to, flags))
BY_PATH(link, to, (const char *from, const char *to), (from, to))
BY_PLACE(linkat, two, to, (TWO, int flags), (one, from, two, to, flags))
BY_PATH(symlink, to, (const char *from, const char *to), (from, to))
BY_PLACE(symlinkat, two, to, (const char *from, int two, const char *to), (from, two, to))
BY_PATH(unlink, path, (const char *path), (path))
BY_PLACE(unlinkat, at, path, (int at, const char *path, int flags), (at, path, flags))
BY_PATH(rmdir, path, (const char *path), (path))
BY_PATH(remove, path, (const char *path), (path))
BY_PATH(mkdir, path, (const char *path, mode_t mode), (path, mode))
BY_PLACE(mkdirat, at, path, (int at, const char *path, mode_t mode), (at, path, mode))
BY_PATH(chmod, path, (const char *path, mode_t mode), (path, mode))
BY_PATH(access, path, (const char *path, int mode), (path, mode))
BY_PLACE(faccessat, at, path, (int at, const char *path, int mode, int flags), (at, path, mode, flags))
BY_PLACE(utimensat, at, path, (int at, const char *path, const struct timespec times[2], int flags),
         (at, path, times, flags))
BY_PATH(statvfs64, path, (const char *path, struct statvfs64 *found), (path, found))
BY_PATH(stat, path, (const char *path, struct stat *found), (path, found))
BY_PATH(stat64, path, (const char *path, struct stat64 *found), (path, found))
BY_PATH(lstat, path, (const char *path, struct stat *found), (path, found))
BY_PATH(lstat64, path, (const char *path, struct stat64 *found), (path, found))
BY_PLACE(fstatat, at, path, (int at, const char *path, struct stat *found, int flags), (at, path, found, flags))
BY_PLACE(fstatat64, at, path, (int at, const char *path, struct stat64 *found, int flags), (at, path, found, flags))
/* Programs that an older C library was linked to have other names. */
int __xstat(int, const char *, struct stat *), __lxstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *), __lxstat64(int, const char *, struct stat64 *);
BY_PATH(__xstat, path, (int version, const char *path, struct stat *found), (version, path, found))
BY_PATH(__xstat64, path, (int version, const char *path, struct stat64 *found), (version, path, found))
BY_PATH(__lxstat, path, (int version, const char *path, struct stat *found), (version, path, found))
BY_PATH(__lxstat64, path, (int version, const char *path, struct stat64 *found), (version, path, found))
BY_FILE(int, fstat, (int file, struct stat *found), (file, found))
BY_FILE(int, fstat64, (int file, struct stat64 *found), (file, found))
BY_FILE(int, fsync, (int file), (file))
BY_FILE(int, fdatasync, (int file), (file))
BY_FILE(int, syncfs, (int file), (file))
BY_FILE(int, flock, (int file, int operation), (file, operation))
BY_FILE(int, ftruncate, (int file, off_t size), (file, size))
BY_FILE(int, ftruncate64, (int file, off64_t size), (file, size))
BY_FILE(ssize_t, read, (int file, void *data, size_t size), (file, data, size))
BY_FILE(ssize_t, pread, (int file, void *data, size_t size, off_t at), (file, data, size, at))
BY_FILE(ssize_t, pread64, (int file, void *data, size_t size, off64_t at), (file, data, size, at))
BY_FILE(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))
BY_FILE(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at), (file, data, size, at))
CALL(ssize_t, readlink, fails("readlink", path), -1, (const char *path, char *text, size_t size), (path, text, size))
CALL(ssize_t, readlinkat, fails_at("readlinkat", at, path), -1, (int at, const char *path, char *text, size_t size),
     (at, path, text, size))
CALL(DIR *, opendir, fails("opendir", path), NULL, (const char *path), (path))
CALL(DIR *, fdopendir, fails_of("fdopendir", file), NULL, (int file), (file))
CALL(struct dirent *, readdir, fails_of("readdir", dirfd(all)), NULL, (DIR *all), (all))
CALL(struct dirent64 *, readdir64, fails_of("readdir64", dirfd(all)), NULL, (DIR *all), (all))

SLOT(close);
int close(int file) {
    int failed = fails_of("close", file);
    int result = NEXT(close)(file);
    if (failed) {
        errno = wrong;
        return -1;
    }
    return result;
}
