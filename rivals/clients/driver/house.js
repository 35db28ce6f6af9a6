// A throw-away home with a project in it, the binary on the PATH, and everything of it gone at the end.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';

import { until } from './until.js';

const SYSTEM = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** A home directory, a project named `rocket` in it, and `taskyard` on its PATH. */
export class House {
  #sessions = [];

  constructor(binary, name = 'house') {
    this.root = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), `taskyard-${name}-`)));
    this.home = path.join(this.root, 'home');
    this.project = path.join(this.home, 'rocket');
    this.bin = path.join(this.root, 'bin');
    for (const folder of ['.claude', 'tmp', 'rocket/.git']) {
      fs.mkdirSync(path.join(this.home, folder), { recursive: true });
    }
    fs.mkdirSync(this.bin);
    // A login shell sets its own PATH.
    this.write('.profile', `PATH='${this.bin}':"$PATH"\n`);
    fs.symlinkSync(path.resolve(binary), path.join(this.bin, 'taskyard'));
  }

  /** The environment of everything that runs here: nothing of ours, and no way out of the machine. */
  env(more = {}) {
    return {
      HOME: this.home,
      PATH: `${this.bin}:${path.dirname(process.execPath)}:${SYSTEM}`,
      TASKYARD_HOME: path.join(this.root, 'data'),
      TMPDIR: path.join(this.home, 'tmp'),
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      SHELL: '/bin/bash',
      USER: 'ana',
      LOGNAME: 'ana',
      HTTP_PROXY: 'http://127.0.0.1:9',
      HTTPS_PROXY: 'http://127.0.0.1:9',
      NO_PROXY: '127.0.0.1,localhost',
      ...more,
    };
  }

  /** Runs any program in the project, and returns its end whatever it was. */
  run(program, words, { env = {}, cwd = this.project, input = '' } = {}) {
    return new Promise((resolve, reject) => {
      const child = spawn(program, words, { cwd, env: this.env(env) });
      let [stdout, stderr] = ['', ''];
      child.stdout.on('data', (data) => (stdout += data));
      child.stderr.on('data', (data) => (stderr += data));
      child.on('error', reject);
      child.on('close', (code) => resolve({ code, stdout, stderr }));
      child.stdin.on('error', () => {}); // it need not read
      child.stdin.end(input);
    });
  }

  /** Runs `taskyard` as a person in the project does; `words` are split at spaces unless they are a list. */
  taskyard(words, options) {
    return this.run(path.join(this.bin, 'taskyard'), Array.isArray(words) ? words : words.split(' '), options);
  }

  /** Runs `taskyard --json` and returns the object; a refusal is one, too. */
  async json(words, options) {
    const list = Array.isArray(words) ? words : words.split(' ');
    const ran = await this.taskyard([...list, '--json'], options);
    if (!ran.stdout.startsWith('{')) throw new Error(`taskyard ${list.join(' ')}: ${ran.code} ${ran.stderr}`);
    return JSON.parse(ran.stdout);
  }

  /** Runs `taskyard`, and throws where it does not succeed. */
  async must(words, options) {
    const ran = await this.taskyard(words, options);
    if (ran.code !== 0) throw new Error(`taskyard ${words}: ${ran.code} ${ran.stdout}${ran.stderr}`);
    return ran.stdout;
  }

  /** Starts `taskyard` with something that goes on, such as `watch`; `lines` has what it printed so far. */
  follow(words, options = {}) {
    const child = spawn(path.join(this.bin, 'taskyard'), words.split(' '), { cwd: this.project, env: this.env(options.env) });
    const following = { lines: [], kill: async () => child.kill() };
    readline.createInterface({ input: child.stdout }).on('line', (line) => following.lines.push(line));
    child.stderr.resume();
    this.holds(following);
    return following;
  }

  /** Makes so many tasks. */
  async fill(count, options) {
    for (let number = 1; number <= count; number += 1) await this.must(['create', `Task ${number}`], options);
  }

  /** The path of something in the home directory. */
  path(...names) {
    return path.join(this.home, ...names);
  }

  /** Reads a file of the home directory; nothing where there is none. */
  read(...names) {
    try {
      return fs.readFileSync(this.path(...names), 'utf8');
    } catch (error) {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Reads a file of JSON that the client rewrites in place, and may just be doing so. */
  whole(...names) {
    return until(`${names.join('/')} is whole`, () => {
      try {
        return JSON.parse(this.read(...names) ?? '');
      } catch {
        return undefined;
      }
    });
  }

  /** Writes a file of the home directory. */
  write(name, text, mode = 0o644) {
    fs.mkdirSync(path.dirname(this.path(name)), { recursive: true });
    fs.writeFileSync(this.path(name), typeof text === 'string' ? text : JSON.stringify(text, null, 2), { mode });
  }

  /** Reads the task files of a list as they are on disk. */
  tasks(list) {
    const folder = this.path('.claude/tasks', list);
    const names = fs.existsSync(folder) ? fs.readdirSync(folder).filter((name) => /^\d+\.json$/.test(name)) : [];
    const read = names.map((name) => JSON.parse(fs.readFileSync(path.join(folder, name), 'utf8')));
    return read.sort((one, other) => Number(one.id) - Number(other.id));
  }

  /** The paths of the conversations that Claude Code has written down. */
  transcripts() {
    const folder = this.path('.claude/projects');
    const names = fs.existsSync(folder) ? fs.readdirSync(folder, { recursive: true }) : [];
    return names.filter((name) => name.endsWith('.jsonl')).map((name) => path.join(folder, name));
  }

  /** Remembers a session, so that it is ended with the house. */
  holds(session) {
    this.#sessions.push(session);
  }

  /** Ends every session and whatever it left running, and removes everything. */
  async tidy() {
    for (const session of this.#sessions) await session.kill();
    const isRemoved = () => {
      this.#endRest();
      try {
        fs.rmSync(this.root, { recursive: true, force: true });
        return true;
      } catch (error) {
        if (error.code === 'ENOTEMPTY') return false; // somebody who is about to end wrote into it
        throw error;
      }
    };
    await until(`${this.root} is removed`, isRemoved);
  }

  /** Ends the processes whose home this is: what an agent started in a terminal is in no group of ours. */
  #endRest() {
    const numbers = fs.existsSync('/proc') ? fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)) : [];
    for (const number of numbers) {
      try {
        const environment = fs.readFileSync(`/proc/${number}/environ`, 'utf8').split('\0');
        if (environment.includes(`HOME=${this.home}`)) process.kill(Number(number), 'SIGKILL');
      } catch {
        continue; // it is gone, or somebody else's
      }
    }
  }
}
