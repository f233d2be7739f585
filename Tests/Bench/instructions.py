"""Counts the instructions of a read and of a delivery, by callgrind, and compares them with what is kept.

Instructions are counted and not sampled, so a busy machine makes no difference; what the kernel does is not in them.
"""

import argparse
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

READ_KEY = "read_key_of_the_count"
SECRET = "a secret of the count"
# Users who are read in turn; enough that no single row is all there is.
USERS = 64


def say(text):
    print(text, file=sys.stderr, flush=True)


class Gateway:
    """A gateway under callgrind that counts nothing until it is told to."""

    def __init__(self, program, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "GATEWAY_LISTEN": f"127.0.0.1:{self.port}",
            "GATEWAY_DATABASE": os.path.join(folder, "gateway.db"),
            "GATEWAY_ADMIN_KEY": "admin_key_of_the_count",
            "GATEWAY_READ_KEY": READ_KEY,
            "CREEM_WEBHOOK_SECRET": SECRET,
        }
        # valgrind cannot read the newest debug information; the names of functions stay.
        bare = os.path.join(folder, "entitlement-gateway")
        subprocess.run(["strip", "--strip-debug", "-o", bare, program], check=True)
        self.log = open(os.path.join(folder, "gateway.log"), "wb")
        self.process = subprocess.Popen(
            [
                "valgrind", "-q", "--tool=callgrind", "--instr-atstart=no",
                f"--callgrind-out-file={folder}/counted", bare, "serve",
            ],
            env=environment, cwd=folder, stdout=self.log, stderr=self.log,
        )
        self.connection = None
        end = time.monotonic() + 120
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.exchange(b"GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n").startswith(b"HTTP/1.1 200"):
                    return
            except OSError:
                self.connection = None
            time.sleep(0.2)
        with open(self.log.name) as log:
            sys.exit("the gateway did not start:\n" + log.read()[-2000:])

    def exchange(self, request, answers=1):
        """Sends bytes and reads that many whole answers."""
        if self.connection is None:
            self.connection = socket.create_connection(("127.0.0.1", self.port), timeout=120)
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connection.sendall(request)
        received = b""
        position = 0
        while answers > 0:
            end = received.find(b"\r\n\r\n", position)
            if end >= 0:
                head = received[position:end].lower()
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                if len(received) >= end + 4 + length:
                    position = end + 4 + length
                    answers -= 1
                    continue
            more = self.connection.recv(1 << 20)
            if not more:
                raise OSError("the connection ended")
            received += more
        return received

    def control(self, *words):
        subprocess.run(
            ["vgdb", f"--pid={self.process.pid}", *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def count(self, work):
        """Instructions of all threads while `work` runs."""
        before = set(os.listdir(self.folder))
        self.control("zero")
        work()
        self.control("dump")
        made = [name for name in os.listdir(self.folder) if name.startswith("counted") and name not in before]
        total = 0
        for name in made:
            with open(os.path.join(self.folder, name)) as lines:
                for line in lines:
                    if line.startswith("totals:") or line.startswith("summary:"):
                        total = max(total, int(line.split()[1]))
        return total

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


def read(number):
    return (
        f"GET /v1/users/user-{number % USERS}-count/entitlement HTTP/1.1\r\nHost: gateway\r\n"
        f"Authorization: Bearer {READ_KEY}\r\nAccept: */*\r\n\r\n"
    ).encode()


def delivery(number, sample):
    """A subscription of its own; the first ones are those of the users who are read."""
    event = json.loads(sample)
    event["id"] = f"evt_count{number}"
    subscription = event["object"]
    subscription["id"] = f"sub_count{number}"
    subscription["customer"]["id"] = f"cust_count{number}"
    subscription["last_transaction_id"] = f"tran_count{number}"
    subscription["metadata"] = {"userId": f"user-{number}-count"}
    body = json.dumps(event, separators=(",", ":")).encode()
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    head = (
        f"POST /v1/webhooks/creem HTTP/1.1\r\nHost: gateway\r\ncreem-signature: {signature}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def measure(program, sample, requests):
    with tempfile.TemporaryDirectory(prefix="instructions") as folder:
        gateway = Gateway(program, folder)
        try:
            gateway.control("instrumentation", "on")
            deliveries = [delivery(number, sample) for number in range(USERS + requests)]

            def deliver(some):
                for request in some:
                    answer = gateway.exchange(request)
                    if not answer.startswith(b"HTTP/1.1 200") or b'"applied"' not in answer:
                        sys.exit(f"a delivery was not applied: {answer.decode()}")

            def ask(count, at_once):
                for first in range(0, count, at_once):
                    request = b"".join(read(number) for number in range(first, first + at_once))
                    answer = gateway.exchange(request, at_once)
                    if answer.count(b'"entitled":true') + answer.count(b'"entitled":false') != at_once:
                        sys.exit(f"a read was not answered: {answer.decode()}")

            say("warming up …")
            deliver(deliveries[:USERS])
            ask(2 * USERS, 1)
            ask(2 * USERS, 16)
            counts = {}
            say(f"{requests} reads, one at a time …")
            counts["read"] = gateway.count(lambda: ask(requests, 1)) / requests
            say(f"{requests} reads, sixteen in a piece …")
            counts["read, pipelined"] = gateway.count(lambda: ask(requests, 16)) / requests
            say(f"{requests} deliveries …")
            counts["delivery"] = gateway.count(lambda: deliver(deliveries[USERS:])) / requests
            return {name: round(value) for name, value in counts.items()}
        finally:
            gateway.stop()


def main():
    parser = argparse.ArgumentParser(prog="scripts/instructions", description=__doc__)
    parser.add_argument("--gateway", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--sample", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--kept", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--record", action="store_true", help="keep what is counted now as what is allowed")
    parser.add_argument("--requests", type=int, default=512, help="requests of each kind (default: 512)")
    options = parser.parse_args()
    requests = max(16, options.requests // 16 * 16)
    with open(options.sample, "rb") as file:
        counts = measure(options.gateway, file.read(), requests)
    if options.record:
        with open(options.kept, "w") as file:
            json.dump({"allowed_percent": 8, "instructions": counts}, file, indent=2)
            file.write("\n")
    with open(options.kept) as file:
        kept = json.load(file)
    failed = False
    print(f"{'path':18} {'instructions':>12} {'kept':>12} {'change':>8}")
    for name, count in counts.items():
        was = kept["instructions"].get(name)
        change = (count / was - 1) * 100 if was else 0
        print(f"{name:18} {count:12,} {was or 0:12,} {change:+7.1f}%")
        failed = failed or was is None or change > kept["allowed_percent"]
    if failed:
        sys.exit(
            f"More than {kept['allowed_percent']} % above what is kept. Where that is meant: scripts/instructions --record"
        )


if __name__ == "__main__":
    main()
