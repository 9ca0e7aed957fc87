#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A worker (handler = worker, payload = json): one line of JSON in, one line out.

With an argument, the ID of each entry is remembered with its work in that SQLite database, in one
transaction, so that what comes again is not done again.
"""

import json
import sqlite3
import sys


class NeverAgain(Exception):
    """No attempt will ever succeed."""


def open_database(path):
    db = sqlite3.connect(path, timeout=20, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")  # FULL where a power cut must not undo what was done
    db.execute("CREATE TABLE IF NOT EXISTS done (id TEXT PRIMARY KEY)")
    return db


def work(entry, db):
    if not entry["fields"]:
        raise NeverAgain("an entry without fields")
    if not db:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("INSERT OR IGNORE INTO done VALUES (?)", (entry["id"],)).rowcount:
            pass  # the work itself: statements of the same transaction
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise


def main():
    db = open_database(sys.argv[1]) if len(sys.argv) > 1 else None
    for line in sys.stdin:  # ends when the daemon closes it: time to go
        entry = json.loads(line)
        try:
            work(entry, db)
            answer = "ok"
        except NeverAgain as error:
            answer = f"reject {error}"
        except sqlite3.OperationalError as error:
            answer = f"retry {error}"
        print(entry["id"], answer, flush=True)


if __name__ == "__main__":
    main()
