// node worker.js DIRECTORY COUNT NAME
//
// A client at work on a list it shares: creates COUNT tasks, updating and deleting some of its own in between, each change
// under the locks the newest client takes for it (see store.js). Every change is told on a line of its own once it is
// acknowledged, so that whoever started it can look for every one of them afterwards:
//   {"op":"create","id":"7","subject":"ana 3"}
//   {"op":"update","id":"7","subject":"ana 3, revised","metadata":{"ana":3}}
//   {"op":"delete","id":"5"}
// The same arguments always give the same changes. Any failure, a lock not obtained among them, ends it with exit code 1.
//
// It deletes only tasks older than its newest one: the client raises the high water mark without a lock, and two rivals that
// delete the highest numbers at once can make it lose one (its own fault, and not what the tests are about).
'use strict';

const fs = require('node:fs');
const store = require('./store');

async function main([directory, count, name]) {
  const mine = [];
  for (let turn = 1; turn <= Number(count); turn++) {
    const subject = `${name} ${turn}`;
    const id = await store.create(directory, { subject, description: `Turn ${turn} of ${name}`, activeForm: `Working on ${turn}` });
    acknowledge({ op: 'create', id, subject });
    mine.push({ id, subject });
    if (turn % 2 === 0) await revise(directory, name, turn, mine.at(-1));
    if (turn % 3 === 0) await revise(directory, name, turn, mine.at(0));
    if (turn % 5 === 0) await drop(directory, mine.splice(mine.length >> 1, 1)[0]);
  }
}

async function revise(directory, name, turn, task) {
  const changes = { subject: `${task.subject}, revised`, metadata: { [name]: turn } };
  if ((await store.update(directory, task.id, changes)) === null) throw new Error(`task ${task.id} to update is not there`);
  acknowledge({ op: 'update', id: task.id, ...changes });
}

async function drop(directory, task) {
  if (!(await store.remove(directory, task.id))) throw new Error(`task ${task.id} to delete is not there`);
  acknowledge({ op: 'delete', id: task.id });
}

// Synchronous, so that what was acknowledged has been told even if the process is killed in the next instant.
function acknowledge(change) {
  fs.writeSync(1, `${JSON.stringify(change)}\n`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
