#ifndef CLIBPQ_SHIM_H
#define CLIBPQ_SHIM_H

#include <libpq-fe.h>

/// Begins to connect. What the address itself says wins over the defaults, which stand before it; `database` wins over both
/// unless it is null.
static inline PGconn *clibpq_connect_start(
    const char *address, const char *name, const char *user_timeout, const char *database) {
    const char *const keys[] = {
        "application_name", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname",
        database ? "dbname" : 0, 0,
    };
    const char *const values[] = {name, "10", "5", "3", user_timeout, address, database, 0};
    return PQconnectStartParams(keys, values, 1);
}

#endif
