// node hold.js FILE MILLISECONDS|told [--refresh]
//
// A client that works under a lock for long: takes the lock on a file, says "held", keeps it so long (`told`: until stdin ends, with
// --refresh only), lets go, says "released". With --refresh its event loop turns meanwhile and `proper-lockfile` refreshes the lock every 5 s, as with the newest client.
// Without, it works synchronously, as 2.1.34 does: nothing is refreshed, the lock is stale after 10 s, and letting go removes
// whatever lock directory stands there by then. Exit code 1 when the lock is held by somebody else, or was taken away.
'use strict';

const { once } = require('node:events');
const fs = require('node:fs');
const { setTimeout: elapse } = require('node:timers/promises');
const { acquire, acquireSync } = require('./locking');

async function main([file, milliseconds, refresh]) {
  if (refresh === '--refresh') {
    const release = await acquire(file);
    say('held');
    await (milliseconds === 'told' ? once(process.stdin.resume(), 'end') : elapse(Number(milliseconds)));
    await release();
  } else {
    const release = acquireSync(file);
    say('held');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(milliseconds));
    release();
  }
  say('released');
}

function say(word) {
  fs.writeSync(1, `${word}\n`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
