// node claim.js DIRECTORY NAME
//
// A client whose agent NAME claims what it is told to: says "ready", then for every line on standard input, a task's id, claims
// that task the newest client's way (under the task's own lock) and answers {"claimed":true} or {"claimed":false,"reason":".."}.
// A line `ID --if-idle` claims with the check for other work (under the list's lock instead). Ends with its input; exit code 1
// for any failure, a lock not obtained among them.
'use strict';

const fs = require('node:fs');
const readline = require('node:readline');
const store = require('./store');

async function main([directory, name]) {
  say('ready');
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [id, way] = line.split(' ');
    const claim = way === '--if-idle' ? store.claimWhenIdle : store.claim;
    const { task, reason } = await claim(directory, id, name);
    say(JSON.stringify(task === undefined ? { claimed: false, reason } : { claimed: true }));
  }
}

function say(line) {
  fs.writeSync(1, `${line}\n`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
