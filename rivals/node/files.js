// The files of a list as the client reads and writes them: one `<id>.json` per task, checked against a schema (an unfit file is
// as good as absent, unknown keys are dropped), and written in place, never by temporary file and rename. So a reader may see
// the front of a new text followed by the end of an old one (newest client), or an empty file (2.1.34).
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { z } = require('zod');

// The order of the keys matters: reading puts a task's keys into this order.
const Task = z.object({
  id: z.string(),
  subject: z.string(),
  description: z.string(),
  activeForm: z.string().optional(),
  owner: z.string().optional(),
  status: z.enum(['pending', 'in_progress', 'completed']),
  blocks: z.array(z.string()),
  blockedBy: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/** Returns the file of a task. */
function taskFile(directory, id) {
  return path.join(directory, `${String(id).replace(/[^a-zA-Z0-9_-]/g, '-')}.json`);
}

/** Returns a task, or null for a file that is absent, torn or unfit. */
function read(directory, id) {
  try {
    const parsed = Task.safeParse(JSON.parse(fs.readFileSync(taskFile(directory, id), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Writes a task the newest client's way: over the old text, then cut to length. */
function write(directory, task) {
  const bytes = Buffer.from(JSON.stringify(task, null, 2));
  const file = fs.openSync(taskFile(directory, task.id), fs.constants.O_WRONLY | fs.constants.O_CREAT, 0o666);
  try {
    fs.writeSync(file, bytes);
    fs.ftruncateSync(file, bytes.length);
  } finally {
    fs.closeSync(file);
  }
}

/** Writes a task the way 2.1.34 does: the file is empty until the text is written. */
function writeTruncating(directory, task) {
  fs.writeFileSync(taskFile(directory, task.id), JSON.stringify(task, null, 2));
}

/** Returns the ids of the task files, by name, whatever they hold. */
function ids(directory) {
  try {
    return fs.readdirSync(directory).filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -5));
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Returns the highest number any task file of the list is named by. */
function highestNumber(directory) {
  return ids(directory).reduce((highest, id) => Math.max(highest, parseInt(id, 10) || 0), 0);
}

/** Returns the high water mark; garbage counts as 0. */
function readMark(directory) {
  try {
    return parseInt(fs.readFileSync(path.join(directory, '.highwatermark'), 'utf8').trim(), 10) || 0;
  } catch {
    return 0;
  }
}

/** Raises the high water mark, without a lock: two that do it at once can lower it. */
function raiseMark(directory, number) {
  if (number > readMark(directory)) fs.writeFileSync(path.join(directory, '.highwatermark'), String(number));
}

module.exports = { highestNumber, ids, raiseMark, read, readMark, taskFile, write, writeTruncating };
