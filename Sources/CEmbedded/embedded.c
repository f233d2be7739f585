// Files of the source tree as arrays of bytes (`#embed`, C23 section 6.10.4). Made by scripts/embed.
#include "CEmbedded.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "../../Sources/Gateway/Admin/admin.html"
};
static const unsigned char file_1[] = {
#embed "../../schema/openapi.json"
};
static const unsigned char file_2[] = {
#embed "../../schema/postgres/0001_initial.sql"
};
static const unsigned char file_3[] = {
#embed "../../schema/postgres/0002_ids_by_value.sql"
};
static const unsigned char file_4[] = {
#embed "../../schema/postgres/0003_counts_by_batch.sql"
};
static const unsigned char file_5[] = {
#embed "../../schema/sqlite/0001_initial.sql"
};
static const unsigned char file_6[] = {
#embed "../../schema/sqlite/0002_link_since.sql"
};
static const unsigned char file_7[] = {
#embed "../../schema/sqlite/0003_mentions.sql"
};
static const unsigned char file_8[] = {
#embed "../../schema/sqlite/0004_counts_and_replay.sql"
};
static const unsigned char file_9[] = {
#embed "../../schema/sqlite/0005_outbox.sql"
};
static const unsigned char file_10[] = {
#embed "../../schema/sqlite/0006_licenses.sql"
};
static const unsigned char file_11[] = {
#embed "../../schema/sqlite/0007_provider_tasks.sql"
};
static const unsigned char file_12[] = {
#embed "../../schema/sqlite/0008_ids_by_value.sql"
};
static const unsigned char file_13[] = {
#embed "../../schema/sqlite/0009_counts_by_batch.sql"
};
#define EMBEDDED_BYTES
#include "../../providers/embedded.inc"
#undef EMBEDDED_BYTES

static const struct embedded_file files[] = {
    {"Sources/Gateway/Admin/admin.html", file_0, sizeof file_0},
    {"schema/openapi.json", file_1, sizeof file_1},
    {"schema/postgres/0001_initial.sql", file_2, sizeof file_2},
    {"schema/postgres/0002_ids_by_value.sql", file_3, sizeof file_3},
    {"schema/postgres/0003_counts_by_batch.sql", file_4, sizeof file_4},
    {"schema/sqlite/0001_initial.sql", file_5, sizeof file_5},
    {"schema/sqlite/0002_link_since.sql", file_6, sizeof file_6},
    {"schema/sqlite/0003_mentions.sql", file_7, sizeof file_7},
    {"schema/sqlite/0004_counts_and_replay.sql", file_8, sizeof file_8},
    {"schema/sqlite/0005_outbox.sql", file_9, sizeof file_9},
    {"schema/sqlite/0006_licenses.sql", file_10, sizeof file_10},
    {"schema/sqlite/0007_provider_tasks.sql", file_11, sizeof file_11},
    {"schema/sqlite/0008_ids_by_value.sql", file_12, sizeof file_12},
    {"schema/sqlite/0009_counts_by_batch.sql", file_13, sizeof file_13},
#include "../../providers/embedded.inc"
};

size_t embedded_file_count(void) { return sizeof files / sizeof files[0]; }

struct embedded_file embedded_file_at(size_t index) { return files[index]; }
