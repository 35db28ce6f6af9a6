// A running agent: its process, its model, and what it prints.

import { spawn } from 'node:child_process';

import xterm from '@xterm/headless';

import { PATIENCE, until } from './until.js';

const [COLUMNS, ROWS] = [160, 50];

/** Quotes a word for the shell. */
const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** An agent at work. `ended` is fulfilled when its process is gone and its parts are played, and fails where one of them does. */
export class Session {
  #child;
  #output = '';
  #errors = '';
  #gone;
  #terminal;
  #killed = false;

  /** Starts a program that asks `model`; with `terminal` in a pseudo terminal. Output that `isLast` ends it once its part is played. */
  constructor({ program, words, env, cwd, model, terminal = false, isLast, seconds = PATIENCE }) {
    this.model = model;
    const shell = `stty cols ${COLUMNS} rows ${ROWS}; exec ${[program, ...words].map(quoted).join(' ')}`;
    // util-linux's `script` gives it a terminal; `detached` makes it the leader of a group that can be ended as a whole.
    const [name, given] = terminal ? ['script', ['-qfec', shell, '/dev/null']] : [program, words];
    this.#child = spawn(name, given, { cwd, env, detached: true });
    if (terminal) this.#terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
    this.#child.stdout.on('data', (data) => {
      this.#output += data;
      this.#terminal?.write(data);
      if (isLast?.(String(data)) && model.parts.get('main').isPlayed) this.kill('SIGKILL');
    });
    this.#child.stderr.on('data', (data) => (this.#errors += data));
    this.#child.stdin.on('error', () => {}); // it may have ended
    if (!terminal) this.#child.stdin.end();
    this.#gone = new Promise((resolve) => {
      this.#child.on('error', (error) => resolve({ code: null, error }));
      this.#child.on('close', (code) => resolve({ code }));
    });
    this.ended = this.#end(seconds, terminal);
    this.ended.catch(() => {}); // whoever waits for it hears of it
  }

  /** What it printed as lines of JSON. */
  get events() {
    const lines = this.#output.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line));
  }

  /** What it printed. */
  get output() {
    return this.#output;
  }

  /** What it printed to stderr. */
  get errors() {
    return this.#errors;
  }

  /** What its terminal shows, line by line. */
  get screen() {
    const { active } = this.#terminal.buffer;
    const lines = Array.from({ length: ROWS }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '');
    return lines.join('\n').trimEnd();
  }

  /** Waits until the terminal shows something. */
  async shows(words, seconds = PATIENCE) {
    try {
      await until(words, () => this.screen.includes(words), seconds);
    } catch {
      throw new Error(`the terminal does not show "${words}" but\n${this.screen}`);
    }
  }

  /** Types into the terminal. */
  type(text) {
    this.#child.stdin.write(text);
  }

  /** Waits until a part is played; throws what it throws. */
  played(part = 'main') {
    return Promise.race([this.model.parts.get(part).ended, this.ended]);
  }

  /** Ends it with everything it started. */
  async kill(...signals) {
    this.#killed = true;
    for (const signal of signals.length > 0 ? signals : ['SIGTERM', 'SIGKILL']) {
      try {
        process.kill(-this.#child.pid, signal);
      } catch {
        break; // nothing of it is left
      }
      const waited = new Promise((resolve) => setTimeout(resolve, 1500, undefined));
      if (await Promise.race([this.#gone, waited])) break;
    }
    this.model.close();
  }

  async #end(seconds, terminal) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no end after ${seconds} s`)), seconds * 1000);
    });
    const parts = [...this.model.parts.values()];
    const failed = parts.map(({ ended }) => ended.then(() => new Promise(() => {})));
    try {
      const { code, error } = await Promise.race([this.#gone, late, ...failed]);
      if (error) throw error;
      const left = parts.filter(({ isPlayed }) => !isPlayed).map(({ name }) => name);
      if (left.length > 0 && !(this.#killed && terminal)) throw new Error(`it ended with ${code}, and nobody played ${left}`);
      return { code };
    } catch (error) {
      error.message += `\n  the agent said: ${this.#errors.slice(-500)} ${this.#output.slice(-700)}`;
      throw error;
    } finally {
      clearTimeout(timer);
      await this.kill();
    }
  }
}
