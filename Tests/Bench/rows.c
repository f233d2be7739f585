/* Writes the rows of many deliveries as fast as SQLite takes them: what the gateway's intake is compared with.
 *
 * It knows the rows in advance: it parses nothing, checks no signature, merges nothing and answers nobody. It writes the same
 * tables and indices with values of the same lengths, the same number of deliveries in one transaction, and each transaction is
 * synced to the disk (synchronous=FULL) and copied back at the same length of the log.
 *
 * usage: rows DATABASE DELIVERIES BATCH
 *
 * DATABASE was made by the gateway and holds no delivery yet. Prints deliveries a second, and the microseconds of one
 * transaction.
 */

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void fail(const char *what) {
    fprintf(stderr, "rows: %s: %s\n", what, database ? sqlite3_errmsg(database) : "");
    exit(1);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(sql);
    return statement;
}

static void run(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) fail(sqlite3_sql(statement));
    sqlite3_reset(statement);
}

static void execute(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) fail(sql);
}

/* Bound once for all statements of a delivery: they stay as they are until the next one. */
static void text(sqlite3_stmt *statement, int place, const char *value) {
    sqlite3_bind_text(statement, place, value, -1, SQLITE_STATIC);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int count, char **words) {
    if (count != 4 || atol(words[2]) <= 0 || atol(words[3]) <= 0) {
        fprintf(stderr, "usage: rows DATABASE DELIVERIES BATCH\n");
        return 2;
    }
    long deliveries = atol(words[2]);
    long batch = atol(words[3]);
    if (sqlite3_open_v2(words[1], &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) fail(words[1]);
    execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;"
            "PRAGMA wal_autocheckpoint = 8000; PRAGMA cache_size = -16384");

    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare("COMMIT");
    sqlite3_stmt *event = prepare("INSERT INTO event (provider, event_id, type, environment, occurred_at, received_at, outcome, user_id)"
                                  " VALUES ('creem', ?, 'subscription.paid', 0, ?, ?, 0, ?)");
    sqlite3_stmt *purchase = prepare("INSERT INTO purchase (id, environment, provider, purchase_id, owner, outcome)"
                                     " VALUES (?, 0, 'creem', ?, ?, ?)");
    sqlite3_stmt *id = prepare("INSERT INTO external_id (environment, namespace, value, purchase, rank) VALUES (0, 'creem', ?, ?, ?)");
    sqlite3_stmt *mention = prepare("INSERT INTO mention (purchase, body) VALUES (?, ?)");
    sqlite3_stmt *fact = prepare("INSERT INTO fact (purchase, event, place, body, mention) VALUES (?, ?, 0, ?, ?)");
    sqlite3_stmt *link = prepare("INSERT INTO link (provider, customer, user_id, at, event_id, first_at) VALUES ('creem', ?, ?, ?, ?, ?)");
    sqlite3_stmt *dependency = prepare("INSERT INTO dependency (node, purchase) VALUES (?, ?)");
    sqlite3_stmt *row = prepare("INSERT INTO subscription (user_id, environment, version, updated_at, body, judged_at, turns_at, sequence)"
                                " VALUES (?, 0, ?, ?, ?, ?, ?, ?)");
    sqlite3_stmt *version = prepare("INSERT INTO meta (name, value) VALUES ('version', ?)"
                                    " ON CONFLICT (name) DO UPDATE SET value = excluded.value");
    sqlite3_stmt *arrival = prepare("INSERT INTO last_arrival (provider, received_at) VALUES ('creem', ?)"
                                    " ON CONFLICT (provider) DO UPDATE SET received_at = excluded.received_at");
    sqlite3_stmt *counted = prepare("UPDATE row_count SET count = count + ? WHERE environment = 0");

    unsigned char outcome[104], facts[170], body[84];
    memset(outcome, 'o', sizeof outcome);
    memset(facts, 'f', sizeof facts);
    memset(body, 'b', sizeof body);
    const sqlite3_int64 moment = 1793523611000;

    double start = now();
    long transactions = 0;
    for (long number = 0; number < deliveries;) {
        long end = number + batch < deliveries ? number + batch : deliveries;
        long first = number;
        run(begin);
        for (; number < end; number++) {
            char eventID[32], user[40], subscription[32], charge[32], customer[32], said[96], nodes[2][56];
            long name = 1000000000 + number;
            sqlite3_int64 key = number + 1;
            snprintf(eventID, sizeof eventID, "evt_bench%ld", name);
            snprintf(user, sizeof user, "user-%ld-bench", name);
            snprintf(subscription, sizeof subscription, "sub_bench%ld", name);
            snprintf(charge, sizeof charge, "tran_bench%ld", name);
            snprintf(customer, sizeof customer, "cust_bench%ld", name);
            snprintf(said, sizeof said, "05:creem19:%s25:creem20:%s", subscription, charge);
            snprintf(nodes[0], sizeof nodes[0], "c:creem:%s", customer);
            snprintf(nodes[1], sizeof nodes[1], "u:%s", user);

            text(event, 1, eventID);
            sqlite3_bind_int64(event, 2, moment);
            sqlite3_bind_int64(event, 3, moment + number);
            text(event, 4, user);
            run(event);
            const char *ids[2] = {subscription, charge};
            for (int which = 0; which < 2; which++) {
                text(id, 1, ids[which]);
                sqlite3_bind_int64(id, 2, key);
                sqlite3_bind_int64(id, 3, which * 2);
                run(id);
            }
            sqlite3_bind_int64(mention, 1, key);
            sqlite3_bind_blob(mention, 2, said, (int)strlen(said), SQLITE_STATIC);
            run(mention);
            sqlite3_bind_int64(fact, 1, key);
            sqlite3_bind_int64(fact, 2, key);
            sqlite3_bind_blob(fact, 3, facts, sizeof facts, SQLITE_STATIC);
            sqlite3_bind_int64(fact, 4, key);
            run(fact);
            text(link, 1, customer);
            text(link, 2, user);
            sqlite3_bind_int64(link, 3, moment);
            text(link, 4, eventID);
            sqlite3_bind_int64(link, 5, moment);
            run(link);
            sqlite3_bind_int64(purchase, 1, key);
            text(purchase, 2, subscription);
            text(purchase, 3, user);
            sqlite3_bind_blob(purchase, 4, outcome, sizeof outcome, SQLITE_STATIC);
            run(purchase);
            for (int which = 0; which < 2; which++) {
                text(dependency, 1, nodes[which]);
                sqlite3_bind_int64(dependency, 2, key);
                run(dependency);
            }
            text(row, 1, user);
            sqlite3_bind_int64(row, 2, key);
            sqlite3_bind_int64(row, 3, moment + number);
            sqlite3_bind_blob(row, 4, body, sizeof body, SQLITE_STATIC);
            sqlite3_bind_int64(row, 5, moment + number);
            sqlite3_bind_int64(row, 6, moment + 2592000000);
            sqlite3_bind_int64(row, 7, key);
            run(row);
        }
        char last[24];
        snprintf(last, sizeof last, "%ld", number);
        sqlite3_bind_blob(version, 1, last, (int)strlen(last), SQLITE_STATIC);
        run(version);
        sqlite3_bind_int64(arrival, 1, moment + number);
        run(arrival);
        sqlite3_bind_int64(counted, 1, number - first);
        run(counted);
        run(commit);
        transactions++;
    }
    double micros = now() - start;
    printf("%.0f %.1f\n", (double)deliveries / micros * 1e6, micros / (double)transactions);
    return 0;
}
