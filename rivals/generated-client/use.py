"""Uses a client that was generated from the OpenAPI document: make a task, claim it, complete it, and lose a claim."""

import importlib
import os
import pkgutil
import sys

sys.path.insert(0, sys.argv[1])

import taskyard_client.api
from taskyard_client import AuthenticatedClient
from taskyard_client.models import NewTask, Proof, Terms

MODULES = {module.name.rsplit(".", 1)[1]: module.name
           for module in pkgutil.walk_packages(taskyard_client.api.__path__, "taskyard_client.api.")}
CLIENT = AuthenticatedClient(base_url=os.environ["TASKYARD_URL"], token=os.environ["TASKYARD_TOKEN"])


def call(operation, **arguments):
    return importlib.import_module(MODULES[operation]).sync(client=CLIENT, list_="rocket", **arguments)


made = call("create_task", body=NewTask(subject="By a generated client"), taskyard_agent="gen")
won = call("claim_task", id=made.task.id, body=Terms(), taskyard_agent="gen")
assert won.claimed and won.token > 0, won
lost = call("claim_task", id=made.task.id, body=Terms(), taskyard_agent="other")
assert lost.reason == "already_claimed", lost
done = call("complete_task", id=made.task.id, body=Proof(token=won.token), taskyard_agent="gen")
assert done.task.status == "completed", done
print("created, claimed, completed", made.task.id)
