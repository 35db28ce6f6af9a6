// A task list kept the way the newest client (2.1.325) keeps it. What it locks, and what it does not:
//   create, reset   the list's `.lock`
//   update, block   `<id>.json` of each task written, around reading it again, merging and writing
//   claim           `<id>.json`; with the check for other work the list's `.lock` instead
//   delete          nothing; the mark is raised first, then the file goes, then each dependent is rewritten under its own lock
// The merge of metadata is computed before the lock is taken, so two updates of one task's metadata can lose one another.
// A lock that stays held for 2.66 s rejects with code ELOCKED.
'use strict';

const fs = require('node:fs');
const files = require('./files');
const { listLock, withLock } = require('./locking');

/** Creates a task and returns its id. */
function create(directory, { subject, description = '', activeForm, metadata }) {
  return withLock(listLock(directory), () => {
    const id = String(Math.max(files.highestNumber(directory), files.readMark(directory)) + 1);
    files.write(directory, { id, subject, description, activeForm, status: 'pending', blocks: [], blockedBy: [], metadata });
    return id;
  });
}

/** Returns a task, or null. */
function get(directory, id) {
  return files.read(directory, id);
}

/** Returns every readable task, by number. */
function list(directory) {
  const tasks = files.ids(directory).map((id) => files.read(directory, id)).filter((task) => task !== null);
  return tasks.sort((one, other) => Number(one.id) - Number(other.id));
}

/** Changes fields of a task; a null in `metadata` deletes that key. Returns the task as written, or null for none. */
async function update(directory, id, { metadata, ...fields }) {
  const before = files.read(directory, id);
  if (before === null) return null;
  const changes = metadata === undefined ? fields : { ...fields, metadata: merged(before.metadata, metadata) };
  return rewrite(directory, id, () => changes);
}

/** Lets one task wait for another, on both sides. */
async function block(directory, blocker, blocked) {
  await rewrite(directory, blocker, (task) => ({ blocks: [...new Set([...task.blocks, blocked])] }));
  await rewrite(directory, blocked, (task) => ({ blockedBy: [...new Set([...task.blockedBy, blocker])] }));
}

/** Deletes a task and takes it out of its dependents. Returns whether there was one. */
async function remove(directory, id) {
  if (files.read(directory, id) === null) return false;
  files.raiseMark(directory, parseInt(id, 10) || 0);
  fs.unlinkSync(files.taskFile(directory, id));
  for (const task of list(directory)) {
    if (!task.blocks.includes(id) && !task.blockedBy.includes(id)) continue;
    await rewrite(directory, task.id, (now) => ({
      blocks: now.blocks.filter((other) => other !== id),
      blockedBy: now.blockedBy.filter((other) => other !== id),
    }));
  }
  return true;
}

/** Makes an agent the owner of a task, unless it is taken, done or blocked. Returns the task or the reason. */
async function claim(directory, id, agent) {
  if (!fs.existsSync(files.taskFile(directory, id))) return { reason: 'task_not_found' };
  return withLock(files.taskFile(directory, id), () => {
    const task = files.read(directory, id);
    const reason = hindrance(task, agent, () => list(directory));
    return reason === undefined ? take(directory, task, agent) : { reason };
  });
}

/** The same with a check that the agent has no other open task: under the list's lock, and not under the task's. */
function claimWhenIdle(directory, id, agent) {
  return withLock(listLock(directory), () => {
    const tasks = list(directory);
    const task = tasks.find((other) => other.id === id) ?? null;
    const reason = hindrance(task, agent, () => tasks);
    if (reason !== undefined) return { reason };
    const isBusy = tasks.some((other) => other.status !== 'completed' && other.owner === agent && other.id !== id);
    return isBusy ? { reason: 'agent_busy' } : take(directory, task, agent);
  });
}

/** Returns why an agent cannot have a task, in the client's order of reasons; undefined where it can. */
function hindrance(task, agent, everyTask) {
  if (task === null) return 'task_not_found';
  if (task.owner && task.owner !== agent) return 'already_claimed';
  if (task.status === 'completed') return 'already_resolved';
  const open = new Set(everyTask().filter((other) => other.status !== 'completed').map((other) => other.id));
  return task.blockedBy.some((blocker) => open.has(blocker)) ? 'blocked' : undefined;
}

function take(directory, task, agent) {
  const claimed = { ...task, owner: agent };
  files.write(directory, claimed);
  return { task: claimed };
}

/** Removes every task, as the interactive client does 5 s after the last one was completed. Numbers are not given out again. */
function reset(directory) {
  return withLock(listLock(directory), () => {
    files.raiseMark(directory, files.highestNumber(directory));
    for (const id of files.ids(directory)) fs.unlinkSync(files.taskFile(directory, id));
  });
}

/** Reads a task again under its lock and writes it with changes. Returns the task as written, or null for none. */
async function rewrite(directory, id, changesTo) {
  const file = files.taskFile(directory, id);
  if (!fs.existsSync(file)) return null;
  return withLock(file, () => {
    const task = files.read(directory, id);
    if (task === null) return null;
    const written = { ...task, ...changesTo(task), id };
    files.write(directory, written);
    return written;
  });
}

/** Merges metadata; a null deletes its key. */
function merged(before = {}, changes) {
  return Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([key]) => changes[key] !== null));
}

module.exports = { block, claim, claimWhenIdle, create, get, list, remove, reset, update };
