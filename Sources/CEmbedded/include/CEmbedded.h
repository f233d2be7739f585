#ifndef CEMBEDDED_H
#define CEMBEDDED_H

#include <stddef.h>

/// A file of the source tree inside the program, so that one file is all there is to deploy.
struct embedded_file {
    /// Path from the top of the source tree.
    const char *path;
    const unsigned char *bytes;
    size_t size;
};

/// Number of embedded files.
size_t embedded_file_count(void);

/// The embedded file at `index`, which must be less than the count. The bytes live as long as the program.
struct embedded_file embedded_file_at(size_t index);

#endif
