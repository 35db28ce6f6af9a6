// node impatient.js DIRECTORY COUNT MILLISECONDS
//
// A client that creates tasks as 2.1.34 does, COUNT of them, about so many milliseconds apart: it takes the list's lock
// synchronously, at once or not at all, and writes the file in place. A create that finds the lock held is refused and not
// repeated. Says "ready", waits for a line on its standard input, and prints at the end
// {"created":[{"id":"7","subject":"Theirs 3"}],"refused":1}.
'use strict';

const { setTimeout: elapse } = require('node:timers/promises');
const fs = require('node:fs');
const path = require('node:path');
const files = require('./files');
const { acquireSync } = require('./locking');
const { signal } = require('./signal');

async function main([directory, count, milliseconds]) {
  await signal();
  const created = [];
  let refused = 0;
  for (let turn = 1; turn <= Number(count); turn++) {
    const subject = `Theirs ${turn}`;
    const id = create(directory, subject);
    if (id === null) refused += 1;
    else created.push({ id, subject });
    // Uneven, so that two who do something at fixed times do not march in step.
    await elapse(Number(milliseconds) * (0.5 + Math.random()));
  }
  console.log(JSON.stringify({ created, refused }));
}

/** Creates a task and returns its id; null where the lock is held. */
function create(directory, subject) {
  const file = path.join(directory, '.lock');
  if (!fs.existsSync(file)) fs.writeFileSync(file, '');
  let release;
  try {
    release = acquireSync(file);
  } catch (error) {
    if (error.code === 'ELOCKED') return null;
    throw error;
  }
  try {
    const id = String(Math.max(files.highestNumber(directory), files.readMark(directory)) + 1);
    files.writeTruncating(directory, { id, subject, description: '', status: 'pending', blocks: [], blockedBy: [] });
    return id;
  } finally {
    release();
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
