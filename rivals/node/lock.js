// node lock.js FILE
//
// One lock, as the newest client takes it for a single change: up to 30 retries, 5 to 100 ms apart, and then it gives up.
// Takes the lock on a file, lets go of it at once and prints {"acquired":true,"milliseconds":12.3}; when it gave up,
// {"acquired":false,"milliseconds":2660.1,"code":"ELOCKED"} and exit code 1.
'use strict';

const { acquire } = require('./locking');

async function main([file]) {
  const start = performance.now();
  const elapsed = () => Math.round((performance.now() - start) * 10) / 10;
  try {
    const release = await acquire(file);
    console.log(JSON.stringify({ acquired: true, milliseconds: elapsed() }));
    await release();
  } catch (error) {
    console.log(JSON.stringify({ acquired: false, milliseconds: elapsed(), code: error.code }));
    process.exitCode = 1;
  }
}

main(process.argv.slice(2));
