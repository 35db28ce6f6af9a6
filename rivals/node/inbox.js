// node inbox.js INBOXES COUNT NAME AGENT...
//
// A newest client (2.1.325) at work on the inboxes of a team: appends COUNT messages to the inboxes of the agents in turn, each
// under the lock it takes for it (10 retries, 5 to 100 ms apart), rewriting the file in place, and drains an inbox now and then
// the way it does: everything is taken out and the file becomes `[]`. What was done is told on a line of its own:
//   {"op":"sent","to":"ana","id":"…","number":3}      the message lies in the inbox
//   {"op":"failed","to":"ana","number":4}             the lock was not obtained: nothing was written
//   {"op":"drained","agent":"ana","messages":[…]}     these were taken out, and are nobody else's now
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { randomUUID } = require('node:crypto');
const lockfile = require('proper-lockfile');

const NEWEST = { stale: 10000, retries: { retries: 10, minTimeout: 5, maxTimeout: 100, factor: 2 } };

async function main([inboxes, count, name, ...agents]) {
  for (let number = 1; number <= Number(count); number++) {
    const to = agents[number % agents.length];
    const id = randomUUID();
    const message = {
      from: name, text: String(number), timestamp: new Date().toISOString(), color: 'cyan',
      msgV: 1, msg_id: id, type: 'message', read: false,
    };
    const done = await change(path.join(inboxes, `${to}.json`), (messages) => [...messages, message]);
    tell(done ? { op: 'sent', to, id, number } : { op: 'failed', to, number });
    if (number % 7 === 0) await drain(inboxes, agents[(number * 3) % agents.length]);
  }
}

async function drain(inboxes, agent) {
  let taken = [];
  const done = await change(path.join(inboxes, `${agent}.json`), (messages) => {
    taken = messages;
    return [];
  });
  if (done) {
    tell({ op: 'drained', agent, messages: taken.map(({ msg_id: id, from, text }) => ({ id, from, text })) });
  }
}

/** Changes an inbox under its lock; resolves to false when the lock stayed held. */
async function change(file, edit) {
  try {
    fs.writeFileSync(file, '[]', { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  let release;
  try {
    release = await lockfile.lock(file, NEWEST);
  } catch (error) {
    if (error.code === 'ELOCKED') return false;
    throw error;
  }
  try {
    const bytes = Buffer.from(JSON.stringify(edit(JSON.parse(fs.readFileSync(file, 'utf8'))), null, 2));
    const opened = fs.openSync(file, fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o666);
    fs.writeSync(opened, bytes);
    fs.ftruncateSync(opened, bytes.length);
    fs.closeSync(opened);
    return true;
  } finally {
    await release();
  }
}

// Synchronous, so that what was done has been told even if the process is killed in the next instant.
function tell(line) {
  fs.writeSync(1, `${JSON.stringify(line)}\n`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
