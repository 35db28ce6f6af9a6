// node stale.js DIRECTORY NAME WAIT PACE COUNT [--unlocked]
//
// A client that writes from what it read before: COUNT times, PACE milliseconds apart, it reads the next task of the list in turn,
// works out what to write, waits up to WAIT milliseconds as the client does for its hooks, and writes. With --unlocked as 2.1.34: the
// whole file as it was read, in place, without a lock and without looking again. Otherwise as 2.1.325: under the task's lock it reads the
// task again, and writes over it the metadata and edges that it merged before. Each turn sets a metadata key of its own; every
// third adds an edge, too, where others have made tasks to wait for. Calls overlap, as those of parallel agents do. Prints what it wrote:
// {"written":200,"missed":1}.
'use strict';

const files = require('./files');
const { withLock } = require('./locking');

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function main([directory, name, wait, pace, count, unlocked]) {
  const ids = files.ids(directory).filter((id) => /^[1-4]$/.test(id)).sort();
  const calls = [];
  for (let turn = 0; turn < Number(count); turn++) {
    calls.push(update(directory, ids[turn % ids.length], `${name}${turn}`, turn, Number(wait), unlocked === '--unlocked'));
    await pause(Number(pace));
  }
  const written = (await Promise.all(calls)).filter((isWritten) => isWritten).length;
  console.log(JSON.stringify({ written, missed: Number(count) - written }));
}

/** One call of the client's update. Returns whether it was acknowledged. */
async function update(directory, id, key, turn, wait, isUnlocked) {
  const task = files.read(directory, id);
  if (task === null) return false;
  const changes = { metadata: { ...task.metadata, [key]: turn } };
  if (turn % 3 === 0 && !task.blockedBy.includes('5')) changes.blockedBy = [...task.blockedBy, '5'];
  if (turn % 5 === 0) changes.description = key;
  await pause(Math.random() * wait);
  if (isUnlocked) {
    files.writeTruncating(directory, { ...task, ...changes });
    return true;
  }
  try {
    return await withLock(files.taskFile(directory, id), () => {
      const again = files.read(directory, id);
      if (again === null) return false;
      files.write(directory, { ...again, ...changes });
      return true;
    });
  } catch (error) {
    if (error.code === 'ELOCKED' || error.code === 'ENOENT') return false;
    throw error;
  }
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
