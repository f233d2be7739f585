#ifndef CLIBPQ_SHIM_H
#define CLIBPQ_SHIM_H

#include <libpq-fe.h>

/// Begins to connect. What the address itself says wins over the defaults, which stand before it; `database` wins over both
/// unless it is null, and so do `hosts` and `ports`.
static inline PGconn *clibpq_connect_start(
    const char *address, const char *name, const char *user_timeout, const char *database, const char *hosts,
    const char *ports) {
    const char *last[5] = {0};
    const char *last_values[5] = {0};
    int count = 0;
    if (database) {
        last[count] = "dbname";
        last_values[count++] = database;
    }
    if (hosts) {
        last[count] = "host";
        last_values[count++] = hosts;
    }
    if (ports) {
        last[count] = "port";
        last_values[count++] = ports;
    }
    const char *const keys[] = {
        "application_name", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout", "dbname",
        last[0], last[1], last[2], 0,
    };
    const char *const values[] = {
        name, "10", "5", "3", user_timeout, address, last_values[0], last_values[1], last_values[2], 0,
    };
    return PQconnectStartParams(keys, values, 1);
}

static inline void clibpq_count_warning(void *count, const PGresult *warning) {
    (void)warning;
    ++*(int *)count;
}

/// Counts what the server warns of from now on. `count` lives as long as the connection.
static inline void clibpq_count_warnings(PGconn *connection, int *count) {
    PQsetNoticeReceiver(connection, clibpq_count_warning, count);
}

#endif
