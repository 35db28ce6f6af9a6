"""python3 document.py PATH COUNT NAME [--replace]

A program that keeps a document of tasks by the letter of its specification: it opens the path for reading and writing, locks
that descriptor with flock, reads from it, and writes to the path. Of its COUNT writes two of three make a task and the third
changes the one made before. Prints, at the end, every task as it left it: {"NAME-0": "made in turn 0", ..}.

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


def write(document, identity, description):
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    tasks = document["tasks"]
    task = next((task for task in tasks if task["id"] == identity), None)
    if task is None:
        task = {"id": identity, "description": "", "status": "pending", "created_at": now}
        tasks.append(task)
    task["description"] = description
    task["updated_at"] = now
    document["last_updated"] = now


def main(path, count, name, *options):
    left = {}
    for turn in range(int(count)):
        identity = f"{name}-{turn - 1 if turn % 3 == 2 else turn}"
        description = f"{'changed' if turn % 3 == 2 else 'made'} in turn {turn}"
        while not update(path, lambda document: write(document, identity, description), "--replace" in options):
            pass
        left[identity] = description
    print(json.dumps(left))


main(*sys.argv[1:])
