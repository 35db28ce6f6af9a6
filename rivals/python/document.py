"""python3 document.py PATH COUNT NAME [--replace]

A program that keeps a document of tasks by the letter of its specification: it opens the path for reading and writing, locks
that descriptor with flock, reads from it, and writes to the path. With every write it makes or changes one of ten tasks of its
own, and counts up under its name in a task that all share. Prints, at the end, every task as it left it:
{"NAME-0": "turn 0", ..}.

With --replace it puts a new file in the document's place instead, as editors do, still under the lock.
"""

import fcntl
import json
import os
import sys
from datetime import datetime, timezone


def update(path, change, replace):
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if replace and os.fstat(descriptor).st_ino != os.stat(path).st_ino:
            return False
        with os.fdopen(os.dup(descriptor), encoding="utf-8") as file:
            document = json.load(file)
        change(document)
        target = f"{path}.{os.getpid()}" if replace else path
        with open(target, "w", encoding="utf-8") as file:
            file.write(json.dumps(document, indent=2))
        if replace:
            os.replace(target, path)
        return True
    finally:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def task_of(document, identity, description):
    task = next((task for task in document["tasks"] if task["id"] == identity), None)
    if task is None:
        task = {"id": identity, "description": description, "status": "pending", "created_at": now()}
        document["tasks"].append(task)
    task["description"] = description
    task["updated_at"] = document["last_updated"] = now()
    return task


def write(document, name, turn):
    task_of(document, f"{name}-{turn % 10}", f"turn {turn}")
    counts = task_of(document, "counts", "counts").setdefault("metadata", {}).setdefault("custom_fields", {})
    counts[name] = counts.get(name, 0) + 1


def main(path, count, name, *options):
    for turn in range(int(count)):
        while not update(path, lambda document: write(document, name, turn), "--replace" in options):
            pass
    print(json.dumps({f"{name}-{turn % 10}": f"turn {turn}" for turn in range(int(count))}))


main(*sys.argv[1:])
