"""A webhook handler as somebody would write it by hand, to compare the gateway's intake with.

It keeps the gateway's promise in the least code: the signature over the raw body, an event taken once, the later end
wins, and 200 only after the commit is on the disk. One worker of uvicorn, SQLite in WAL mode, synchronous FULL, one
commit a request.

usage: handler.py DATABASE PORT
"""

import hashlib
import hmac
import json
import os
import sqlite3
import sys

import uvicorn

SECRET = os.environ["CREEM_WEBHOOK_SECRET"].encode()

database = sqlite3.connect(sys.argv[1], isolation_level=None, cached_statements=16)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute("CREATE TABLE IF NOT EXISTS event (id TEXT PRIMARY KEY, type TEXT NOT NULL, body TEXT NOT NULL)")
database.execute(
    "CREATE TABLE IF NOT EXISTS subscription (user_id TEXT PRIMARY KEY, purchase_id TEXT, access_until TEXT, updated INTEGER)"
)


def take(body):
    event = json.loads(body)
    thing = event["object"]
    database.execute("BEGIN IMMEDIATE")
    try:
        known = database.execute(
            "INSERT INTO event VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (event["id"], event["eventType"], body.decode())
        )
        if known.rowcount == 0:
            outcome = "duplicate"
        else:
            outcome = "applied"
            database.execute(
                """INSERT INTO subscription VALUES (?, ?, ?, ?)
                ON CONFLICT (user_id) DO UPDATE SET purchase_id = excluded.purchase_id,
                    access_until = excluded.access_until, updated = excluded.updated
                WHERE excluded.access_until > access_until""",
                (thing["metadata"]["userId"], thing["id"], thing["current_period_end_date"], event["created_at"]),
            )
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise
    return json.dumps({"outcome": outcome, "event_id": event["id"]}).encode()


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    status, answer = 404, b"{}"
    if scope["path"] == "/healthz":
        status = 200
    elif scope["path"] == "/v1/webhooks/creem":
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        headers = dict(scope["headers"])
        expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest().encode()
        if hmac.compare_digest(expected, headers.get(b"creem-signature", b"")):
            status, answer = 200, take(body)
        else:
            status, answer = 401, b"{}"
    fields = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": answer})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning", lifespan="off")
