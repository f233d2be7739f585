"""Asks more of a gateway than it can do, step by step, and draws what becomes of memory and of everybody else's latency.

Somebody on a connection of their own asks the gate a hundred times a second all the while. What is required: they are always
answered, memory stays below a bound, and when the flood is over everything is as before.
"""

import argparse
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from instructions import READ_KEY, SECRET, delivery, read, say

READS_LUA = """
local head = " HTTP/1.1\\r\\nHost: a\\r\\nAuthorization: Bearer "
function init(arguments) key = arguments[1] end
function request()
    return "GET /v1/users/user-" .. math.random(0, 63) .. "-count/entitlement" .. head .. key .. "\\r\\n\\r\\n"
end
"""
# Each thread has every second delivery of the file: its length in ten digits, and its head and body.
DELIVERIES_LUA = """
local threads = 0
function setup(thread)
    thread:set("number", threads)
    threads = threads + 1
end
function init(arguments)
    requests = {}
    local file = assert(io.open(arguments[1], "rb"))
    local count = 0
    while true do
        local length = file:read(10)
        if length == nil then break end
        local request = file:read(tonumber(length))
        if count % 2 == number then requests[#requests + 1] = request end
        count = count + 1
    end
    place = 0
end
function request()
    place = place % #requests + 1
    return requests[place]
end
"""


class Probe(threading.Thread):
    """Asks the gate all the time and looks at the process."""

    def __init__(self, port, pid):
        super().__init__(daemon=True)
        self.port, self.pid = port, pid
        self.samples = []
        self.failures = 0
        self.over = False
        self.started = time.monotonic()

    def memory(self):
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return 0

    def run(self):
        connection = None
        while not self.over:
            begun = time.monotonic()
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(read(int(begun * 1000)))
                answer = b""
                while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
                    more = connection.recv(65536)
                    if not more:
                        raise OSError("ended")
                    answer += more
                if not answer.startswith(b"HTTP/1.1 200"):
                    self.failures += 1
            except OSError:
                self.failures += 1
                connection = None
            took = (time.monotonic() - begun) * 1000
            self.samples.append((begun - self.started, took, self.memory()))
            time.sleep(max(0, 0.01 - took / 1000))


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else 0


def curve(points, left, top, width, height, x_max, y_max, colour, text):
    line = " ".join(
        f"{left + width * x / x_max:.1f},{top + height - height * min(y, y_max) / y_max:.1f}" for x, y in points
    )
    return (
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{line}"><title>{text}</title></polyline>'
    )


def draw(path, phases, samples):
    """Two diagrams, one above the other, with one axis of time."""
    end = samples[-1][0]
    left, width, height = 70, 700, 150
    seconds = {}
    for at, took, memory in samples:
        seconds.setdefault(int(at), []).append((took, memory))
    medians = [(second + 0.5, percentile([t for t, _ in some], 0.5)) for second, some in sorted(seconds.items())]
    worst = [(second + 0.5, percentile([t for t, _ in some], 0.99)) for second, some in sorted(seconds.items())]
    memory = [(second + 0.5, max(m for _, m in some)) for second, some in sorted(seconds.items())]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 20} {2 * height + 130}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{left + width + 20}" height="{2 * height + 130}" fill="white"/>',
    ]

    def axes(top, label, marks):
        parts.append(f'<text x="{left}" y="{top - 8}" font-weight="bold">{label}</text>')
        for step, mark in enumerate(marks):
            y = top + height - height * step / (len(marks) - 1)
            parts.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{mark}</text>')

    def ceiling(values):
        step = 1
        while True:
            for factor in (1, 2, 4):
                if max(values) <= step * factor:
                    return step * factor
            step *= 10

    memory_max = ceiling([y for _, y in memory])
    # Latency by powers of ten.
    def power(points):
        return [(x, max(0, math.log10(max(y, 0.1)) + 1)) for x, y in points]

    powers = max(3, math.ceil(max(y for _, y in power(worst))))
    title = "milliseconds of a read beside the flood, by powers of ten: median (blue), 99th percentile of each second (red)"
    axes(40, title, [f"{10 ** (step - 1):g}" for step in range(powers + 1)])
    axes(height + 80, "resident memory in MiB", [f"{memory_max * step / 4:g}" for step in range(5)])
    for begun, ended, name in phases:
        x = left + width * begun / end
        parts.append(f'<line x1="{x:.1f}" y1="40" x2="{x:.1f}" y2="{2 * height + 80}" stroke="#aaa" stroke-dasharray="3"/>')
        middle = left + width * (begun + ended) / 2 / end
        parts.append(f'<text x="{middle:.1f}" y="{2 * height + 98}" text-anchor="middle" font-size="9">{name}</text>')
    parts.append(curve(power(medians), left, 40, width, height, end, powers, "#1565c0", "median"))
    parts.append(curve(power(worst), left, 40, width, height, end, powers, "#c62828", "99th percentile"))
    parts.append(curve(memory, left, height + 80, width, height, end, memory_max, "#2e7d32", "memory"))
    parts.append(f'<text x="{left + width / 2}" y="{2 * height + 118}" text-anchor="middle">{end:.0f} seconds</text></svg>')
    with open(path, "w") as file:
        file.write("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(prog="scripts/flood", description=__doc__)
    parser.add_argument("--gateway", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--sample", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--plot", required=True, help="where the drawing goes")
    parser.add_argument("--seconds", type=int, default=8, help="of each step (default: 8)")
    parser.add_argument("--memory", type=int, default=512, help="MiB that are allowed (default: 512)")
    options = parser.parse_args()
    with open(options.sample, "rb") as file:
        sample = file.read()
    with tempfile.TemporaryDirectory(prefix="flood") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "GATEWAY_LISTEN": f"127.0.0.1:{port}",
            "GATEWAY_DATABASE": os.path.join(folder, "gateway.db"),
            "GATEWAY_ADMIN_KEY": "admin_key_of_the_flood",
            "GATEWAY_READ_KEY": READ_KEY,
            "CREEM_WEBHOOK_SECRET": SECRET,
        }
        with open(os.path.join(folder, "log"), "wb") as log:
            gateway = subprocess.Popen([options.gateway, "serve"], env=environment, cwd=folder, stdout=log, stderr=log)
        for name, text in (("reads.lua", READS_LUA), ("deliveries.lua", DELIVERIES_LUA)):
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        say("preparing deliveries …")
        with open(os.path.join(folder, "deliveries"), "wb") as file:
            for number in range(20_000):
                request = delivery(number, sample)
                file.write(b"%010d" % len(request) + request)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.05)
        probe = Probe(port, gateway.pid)
        probe.start()
        phases = []

        def phase(name, words=None, script=None, arguments=()):
            begun = time.monotonic() - probe.started
            say(f"{name} …")
            if words is None:
                time.sleep(options.seconds)
            else:
                result = subprocess.run(
                    ["wrk", "-t2", f"-d{options.seconds}s", "--timeout", "20s", *words, "-s", os.path.join(folder, script),
                     f"http://127.0.0.1:{port}/v1/webhooks/creem", "--", *arguments],
                    capture_output=True, text=True,
                )
                rate = [line.split()[-1] for line in result.stdout.splitlines() if line.startswith("Requests/sec")]
                say(f"   {rate[0] if rate else result.stderr} a second")
            phases.append((begun, time.monotonic() - probe.started, name))

        try:
            phase("calm")
            for connections in (32, 512, 4096):
                phase(f"{connections} readers", [f"-c{connections}"], "reads.lua", [READ_KEY])
            for connections in (64, 1024, 4096):
                phase(f"{connections} senders", [f"-c{connections}"], "deliveries.lua", [os.path.join(folder, "deliveries")])
            phase("calm again")
        finally:
            probe.over = True
            probe.join(15)
            ended = gateway.poll()
            gateway.send_signal(signal.SIGTERM)
            gateway.wait(30)
        draw(options.plot, phases, probe.samples)
        wrong = []
        if ended is not None:
            wrong.append(f"the gateway ended: {ended}")
        print(f"{'step':14} {'p50 ms':>8} {'p99 ms':>8} {'worst ms':>9} {'MiB':>6}")
        medians = {}
        for begun, end, name in phases:
            some = [(took, memory) for at, took, memory in probe.samples if begun <= at < end]
            medians[name] = percentile([took for took, _ in some], 0.5)
            memory = max(memory for _, memory in some)
            print(
                f"{name:14} {medians[name]:8.2f} {percentile([t for t, _ in some], 0.99):8.2f} "
                f"{max(t for t, _ in some):9.2f} {memory:6.0f}"
            )
            if memory > options.memory:
                wrong.append(f"{name}: {memory:.0f} MiB of memory")
        if probe.failures:
            wrong.append(f"{probe.failures} of {len(probe.samples)} reads beside the flood failed")
        if medians["calm again"] > 5 * medians["calm"] + 1:
            wrong.append("the flood is over, and reads are slower than before")
        if wrong:
            sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
