// node create.js DIRECTORY COUNT
//
// Clients that all create at once: says "ready", waits for a line on its standard input, then creates COUNT tasks as the newest
// client does. A create whose lock was not obtained within the client's retries is counted and not repeated. Prints, at the end,
// {"acknowledged":48,"failed":2,"microseconds":[..]}: how long each acknowledged create took.
'use strict';

const { signal } = require('./signal');
const store = require('./store');

// What a client says in a task, at about the length it says it.
const DESCRIPTION =
  'Read the parser module, add the store handle, thread it through, update the unit tests and the integration test, then ' +
  'run the suite and record the outcome in the progress log so that the reviewer can follow it.';

async function main([directory, count]) {
  await signal();
  let failed = 0;
  const microseconds = [];
  for (let turn = 1; turn <= Number(count); turn++) {
    const start = performance.now();
    try {
      const subject = `Task ${turn}: wire the parser to the store`;
      await store.create(directory, { subject, description: DESCRIPTION, activeForm: `Working on ${turn}` });
      microseconds.push(Math.round((performance.now() - start) * 1000));
    } catch (error) {
      if (error.code !== 'ELOCKED') throw error;
      failed += 1;
    }
  }
  console.log(JSON.stringify({ acknowledged: microseconds.length, failed, microseconds }));
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
