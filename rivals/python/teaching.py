"""python3 teaching.py FOLDER NAME [--later]

A program that keeps a folder of tasks as the tutorial does: it reads a task's file, looks whether the task can be claimed, and
writes the file in place, without any lock and without looking again. It is told the id of a task on each line of its input, claims
that task for NAME and prints {"claimed": .., "said": .., "took": ..}, where `took` is how many seconds went by between its look at
the task and the end of its writing.

With --later its tasks have the key that later chapters give them, `worktree`, which must still be in every file it reads.
"""

import json
import random
import sys
import time
from dataclasses import asdict, make_dataclass
from pathlib import Path

KEYS = ["id", "subject", "description", "status", "owner", "blockedBy"]


class Folder:
    def __init__(self, path, later):
        self.path = Path(path)
        self.path.mkdir(exist_ok=True)
        self.Task = make_dataclass("Task", KEYS + (["worktree"] if later else []))

    def file(self, identity):
        return self.path / f"{identity}.json"

    def save(self, task):
        self.file(task.id).write_text(json.dumps(asdict(task), indent=2))

    def load(self, identity):
        return self.Task(**json.loads(self.file(identity).read_text()))

    def create(self, subject, blocked_by=(), **more):
        identity = f"task_{int(time.time())}_{random.randint(0, 9999):04d}"
        task = self.Task(identity, subject, "", "pending", None, list(blocked_by), **more)
        self.save(task)
        return task

    def can_start(self, identity):
        for blocker in self.load(identity).blockedBy:
            if not self.file(blocker).exists() or self.load(blocker).status != "completed":
                return False
        return True

    def claim(self, identity, owner):
        task = self.load(identity)
        if task.status != "pending":
            return f"Task {identity} is {task.status}, cannot claim"
        if not self.can_start(identity):
            return f"Blocked by: {task.blockedBy}"
        task.owner = owner
        task.status = "in_progress"
        self.save(task)
        return f"Claimed {identity}"

    def complete(self, identity):
        task = self.load(identity)
        if task.status != "in_progress":
            return f"Task {identity} is {task.status}, cannot complete"
        task.status = "completed"
        self.save(task)
        return f"Completed {identity}"


def main(path, name, *options):
    folder = Folder(path, "--later" in options)
    print("ready", flush=True)
    for line in sys.stdin:
        started = time.monotonic()
        try:
            said = folder.claim(line.strip(), name)
        except (json.JSONDecodeError, FileNotFoundError) as error:
            # Its own reads are torn by others of its kind, too.
            said = f"Error: {error}"
        took = time.monotonic() - started
        print(json.dumps({"claimed": said.startswith("Claimed"), "said": said, "took": took}), flush=True)


main(*sys.argv[1:])
