"""The gateway over a PostgreSQL server of its own, beside itself over a file and beside pgbench (scripts/bench-postgres)."""

import argparse
import glob
import multiprocessing
import os
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

READ_KEY = "read_key_of_the_bench_0123456789"
ADMIN_KEY = "admin_key_of_the_bench_0123456789"
SECRET = "Bearer of the bench 0123456789"


def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A cluster in a folder, as a user that is not root."""

    def __init__(self, folder):
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.folder, self.port = folder + "/postgres", port()
        os.mkdir(self.folder)
        self.user = {}
        if os.getuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        data = self.folder + "/data"
        self.call("initdb", "-D", data, "-A", "trust", "-U", "gateway", "-E", "UTF8", "--locale=C")
        self.process = subprocess.Popen(
            [self.bin + "/postgres", "-D", data, "-p", str(self.port), "-h", "127.0.0.1", "-k", self.folder,
             "-c", "max_connections=200", "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"],
            cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)
        while subprocess.run([self.bin + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            time.sleep(0.1)

    def call(self, name, *words, **more):
        return subprocess.run([f"{self.bin}/{name}", *words], check=True, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **self.user, **more).stdout

    def sql(self, statement, database):
        return self.call("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "gateway", "-qAtX", "-F", "|", "-c",
                         statement, database).strip()

    def url(self, database, at=None):
        return f"postgres://gateway@127.0.0.1:{at or self.port}/{database}"

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)


class FarAway:
    """Answers of the server come later by so many seconds: a network in between."""

    def __init__(self, target, seconds):
        self.target, self.seconds = target, seconds
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        multiprocessing.get_context("fork").Process(target=self.accept, daemon=True).start()

    def accept(self):
        # A network does not wait for a processor.
        if os.getuid() == 0:
            os.nice(-15)
        while True:
            client, _ = self.socket.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.carry, args=(client, server, 0), daemon=True).start()
            threading.Thread(target=self.carry, args=(server, client, self.seconds), daemon=True).start()

    @staticmethod
    def carry(source, sink, seconds):
        try:
            while data := source.recv(1 << 16):
                if seconds:
                    time.sleep(seconds)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Gateway:
    def __init__(self, program, folder, database, name):
        self.folder = f"{folder}/{name}"
        os.mkdir(self.folder)
        self.port = port()
        environment = dict(os.environ, GATEWAY_DATABASE=database, GATEWAY_LISTEN=f"127.0.0.1:{self.port}",
                           GATEWAY_READ_KEY=READ_KEY, GATEWAY_ADMIN_KEY=ADMIN_KEY,
                           REVENUECAT_WEBHOOK_AUTHORIZATION=SECRET, STRIPE_WEBHOOK_SECRET="whsec_" + "a" * 32)
        self.log = open(self.folder + "/log", "w")
        self.process = subprocess.Popen([program, "serve"], cwd=self.folder, env=environment,
                                        stdout=subprocess.DEVNULL, stderr=self.log)
        deadline = time.time() + 60
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=5).close()
                return
            except OSError:
                if self.process.poll() is not None or time.time() > deadline:
                    sys.exit("the gateway did not start: " + open(self.folder + "/log").read()[-2000:])
                time.sleep(0.05)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


READS = """
local users = %d
local headers = { ["Authorization"] = "Bearer %s" }
function setup(thread) thread:set("seed", math.random(1, 1000000000)) end
function init() math.randomseed(seed) end
function request() return wrk.format("GET", "/v1/users/user-" .. math.random(0, users - 1) .. "/entitlement", headers) end
"""

# Deliveries of new purchases, a user each.
DELIVERIES = """
local mark = "%s"
local headers = { ["Authorization"] = "%s", ["Content-Type"] = "application/json" }
local number, thread_number = 0, 0
local count = 0
function setup(thread) count = count + 1; thread:set("mine", count) end
function request()
    number = number + 1
    local id = mark .. "-" .. mine .. "-" .. number
    local now = os.time() * 1000
    local body = string.format('{"api_version":"1.0","event":{"type":"INITIAL_PURCHASE","id":"evt-%%s","event_timestamp_ms":%%d,' ..
        '"app_user_id":"buyer-%%s","original_app_user_id":"buyer-%%s","aliases":["buyer-%%s"],"product_id":"pro_monthly",' ..
        '"period_type":"NORMAL","purchased_at_ms":%%d,"expiration_at_ms":%%d,"environment":"PRODUCTION","entitlement_ids":["pro"],' ..
        '"transaction_id":"tx-%%s","original_transaction_id":"tx-%%s","store":"APP_STORE"}}',
        id, now, id, id, id, now - 1000, now + 2592000000, id, id)
    return wrk.format("POST", "/v1/webhooks/revenuecat", headers, body)
end
"""


def wrk(folder, script, address, seconds, connections):
    path = folder + "/wrk.lua"
    with open(path, "w") as file:
        file.write(script)
    text = subprocess.run(["wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "30s", "-s", path, address],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    if failed:
        print(f"{address}: {failed.group(1)} were refused", file=sys.stderr)
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)), float(value) * {"us": 0.001, "ms": 1, "s": 1000}[unit]


def pgbench(server, users, seconds, connections):
    path = server.folder + "/read.sql"
    with open(path, "w") as file:
        file.write(f"\\set id random(0, {users - 1})\nSELECT version, updated_at, body FROM subscription "
                   "WHERE user_id = 'user-' || :id AND environment = 0;\n")
    os.chmod(path, 0o644)
    text = server.call("pgbench", "-h", "127.0.0.1", "-p", str(server.port), "-U", "gateway", "-n", "-M", "prepared", "-c",
                       str(connections), "-j", "2", "-T", str(seconds), "-f", path, "bench")
    return float(re.search(r"tps = ([\d.]+)", text).group(1))


def fill(program, folder, server, users):
    """The same rows in a file and on the server."""
    with open(folder + "/people.csv", "w") as file:
        file.write("user_id,product_id,access_until,purchase_id,updated_at\n")
        for number in range(users):
            file.write(f"user-{number},pro,2037-06-01T00:00:00Z,p{number},2026-11-01T00:00:00Z\n")
    file = folder + "/bench.db"
    environment = dict(os.environ, GATEWAY_DATABASE=file, GATEWAY_READ_KEY=READ_KEY, GATEWAY_ADMIN_KEY=ADMIN_KEY)
    run = lambda *words: subprocess.run([program, *words], check=True, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
    started = time.time()
    run("import", "csv", "people.csv", "--provider", "stripe")
    middle = time.time()
    run("migrate", "--from", "sqlite:" + file, "--to", server.url("bench"))
    server.sql("VACUUM ANALYZE", "bench")
    print(f"{users} people: imported into a file in {middle - started:.1f} s, moved to the server in {time.time() - middle:.1f} s",
          file=sys.stderr)
    return file


def sizes(server):
    """What a person and an event take, tables with their indexes."""
    server.sql("VACUUM ANALYZE", "bench")
    people = int(server.sql("SELECT count(*) FROM subscription", "bench"))
    rows = server.sql(
        "SELECT relname, reltuples::bigint, pg_relation_size(oid), pg_indexes_size(oid) FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND reltuples > 0.2 * "
        f"{people} ORDER BY pg_total_relation_size(oid) DESC", "bench")
    print(f"\n| table | rows | bytes a row | of its indexes | of both, a person |\n|---|---|---|---|---|")
    total = 0
    for line in rows.splitlines():
        name, count, table, index = line.split("|")
        count, table, index = int(count), int(table), int(index)
        total += table + index
        print(f"| `{name}` | {count} | {table // count} | {index // count} | {(table + index) // people} |")
    print(f"| all | | | | {total // people} |")


def median(values):
    return statistics.median(values)


def show(wanted, found):
    def ratio(name):
        return median([b[0] / a[0] for a, b in zip(found[name], found["server"])])

    print(f"\n{wanted.users} people, {wanted.connections} connections, {wanted.rounds} rounds of {wanted.seconds} s, load "
          f"{os.getloadavg()[0]:.1f}\n")
    print("| reads | a second | p99 ms | of it, the gateway over PostgreSQL |\n|---|---|---|---|")
    for name, title in (("server", "the gateway over PostgreSQL"), ("pgbench", "`pgbench -M prepared`, the same rows"),
                        ("file", "the gateway over SQLite")):
        p99 = f"{median([each[1] for each in found[name]]):.1f}" if name != "pgbench" else ""
        print(f"| {title} | {median([each[0] for each in found[name]]):.0f} | {p99} | {ratio(name):.2f} |", flush=True)


def main():
    options = argparse.ArgumentParser(prog="scripts/bench-postgres", description=__doc__)
    options.add_argument("--gateway", help="the program, built with the trait Postgres")
    options.add_argument("--before", help="another program, for intake beside it")
    options.add_argument("--only", default="reads,intake", help="parts: reads,intake")
    options.add_argument("--users", type=int, default=100_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--connections", type=int, default=32)
    options.add_argument("--senders", type=int, default=64)
    options.add_argument("--delay", type=float, default=1.0, help="milliseconds of a longer round trip")
    wanted = options.parse_args()
    if not wanted.gateway:
        options.error("--gateway is missing")
    folder = tempfile.mkdtemp(prefix="bench")
    os.chmod(folder, 0o755)
    server, gateways = None, []
    try:
        server = Server(folder)
        far = FarAway(server.port, wanted.delay / 1000)
        file = fill(wanted.gateway, folder, server, wanted.users)
        over_file = Gateway(wanted.gateway, folder, file, "file")
        over_server = Gateway(wanted.gateway, folder, server.url("bench"), "server")
        gateways = [over_file, over_server]
        reads = READS % (wanted.users, READ_KEY)
        kinds = {
            "file": lambda: wrk(folder, reads, f"http://127.0.0.1:{over_file.port}", wanted.seconds, wanted.connections),
            "server": lambda: wrk(folder, reads, f"http://127.0.0.1:{over_server.port}", wanted.seconds, wanted.connections),
            "pgbench": lambda: (pgbench(server, wanted.users, wanted.seconds, wanted.connections), 0),
        }
        found = {name: [] for name in kinds}
        for number in range(wanted.rounds if "reads" in wanted.only else 0):
            names = list(kinds)
            for name in names[number % 3:] + names[:number % 3]:
                found[name].append(kinds[name]())
        if "reads" in wanted.only:
            show(wanted, found)
        for gateway in gateways:
            gateway.stop()
        gateways = []
        if "intake" not in wanted.only:
            return

        print("\n| deliveries | a second | p99 ms |\n|---|---|---|")
        programs = [("", wanted.gateway)] + ([(", the program before", wanted.before)] if wanted.before else [])
        places = [("SQLite", lambda name: f"{folder}/{name}.db"), ("PostgreSQL", lambda name: server.url("bench")),
                  (f"PostgreSQL, {wanted.delay:g} ms away", lambda name: server.url("bench", far.port))]
        for title, place in places:
            names = [re.sub(r"\W", "", f"{title}{suffix}") for suffix, _ in programs]
            gateways = [Gateway(program, folder, place(name), name) for name, (_, program) in zip(names, programs)]
            results = [[] for _ in programs]
            # In turns: what else the machine does weighs on both.
            for number in range(wanted.rounds):
                for index, gateway in list(enumerate(gateways))[::1 if number % 2 == 0 else -1]:
                    script = DELIVERIES % (f"{names[index]}{number}", SECRET)
                    results[index].append(wrk(folder, script, f"http://127.0.0.1:{gateway.port}", wanted.seconds, wanted.senders))
            for (suffix, _), found_here in zip(programs, results):
                print(f"| {title}{suffix} | {median([each[0] for each in found_here]):.0f} | "
                      f"{median([each[1] for each in found_here]):.0f} |", flush=True)
            for gateway in gateways:
                gateway.stop()
            gateways = []
        sizes(server)
    finally:
        for gateway in gateways:
            gateway.process.kill()
        if server:
            server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
