// node rewrite.js DIRECTORY COUNT [--unlocked]
//
// A client that updates tasks in place, as fast as it can: COUNT times it takes the next task file of the list in turn and
// rewrites it, changing only the metadata key `rewrites`. A task's text grows and shrinks by turns, so that a reader who comes
// between the write and the cut to length sees the end of the older text behind the new one. Under the task's lock, as the
// newest client; with --unlocked as 2.1.34: no lock, and the file is empty for an instant. A task that cannot be read at that
// instant is passed over: with several rewriters the client itself then says "Task not found". Prints how often it wrote:
// {"rewritten":1998,"missed":2}.
'use strict';

const files = require('./files');
const store = require('./store');

async function main([directory, count, unlocked]) {
  const write = unlocked === '--unlocked' ? rewriteUnlocked : store.update;
  const ids = files.ids(directory);
  let missed = 0;
  for (let turn = 0; turn < Number(count); turn++) {
    const round = Math.floor(turn / ids.length);
    const metadata = { rewrites: round % 2 === 0 ? 'x'.repeat(2000) : String(round) };
    if ((await write(directory, ids[turn % ids.length], { metadata })) === null) missed += 1;
  }
  console.log(JSON.stringify({ rewritten: Number(count) - missed, missed }));
}

function rewriteUnlocked(directory, id, { metadata }) {
  const task = files.read(directory, id);
  if (task !== null) files.writeTruncating(directory, { ...task, metadata: { ...task.metadata, ...metadata } });
  return task;
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
