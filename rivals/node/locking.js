// How the newest client (2.1.325) locks: `proper-lockfile` makes a directory `<file>.lock` beside the real file, refreshes its
// mtime every 5 s, takes a lock over whose mtime is older than 10 s, and removes the directory to let go. An attempt on a held
// lock is repeated 30 times, 5 to 100 ms apart, and then fails: 2.66 s in all.
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const lockfile = require('proper-lockfile');

const NEWEST = { stale: 10000, retries: { retries: 30, minTimeout: 5, maxTimeout: 100, factor: 2 } };

/** Takes the lock on an existing file and resolves to what releases it; rejects with code ELOCKED when it stayed held. */
function acquire(file) {
  return lockfile.lock(file, NEWEST);
}

/** Runs `work` under the lock on an existing file. */
async function withLock(file, work) {
  const release = await acquire(file);
  try {
    return await work();
  } finally {
    await release();
  }
}

/** Returns the file whose lock guards a whole list, making it the newest client's way: O_CREAT|O_EXCL, never touched again. */
function listLock(directory) {
  const file = path.join(directory, '.lock');
  fs.mkdirSync(directory, { recursive: true });
  try {
    fs.closeSync(fs.openSync(file, 'wx'));
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  return file;
}

/** Takes the lock the way 2.1.34 does: at once or not at all, and not refreshed while the caller works synchronously. */
function acquireSync(file) {
  return lockfile.lockSync(file);
}

module.exports = { acquire, acquireSync, listLock, withLock };
