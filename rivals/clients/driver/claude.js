// How Claude Code is started.

import fs from 'node:fs';
import path from 'node:path';

import { serve } from './model.js';
import { Session } from './session.js';
import * as messages from './wires/messages.js';

const KEY = 'no-key-at-all-for-nobody';

/** One release of Claude Code, installed in a folder. */
export class Claude {
  constructor(version, folder) {
    this.version = version;
    this.name = `claude-${version}`;
    const packages = path.join(folder, 'node_modules/@anthropic-ai');
    const script = path.join(packages, 'claude-code/cli.js');
    const native = path.join(packages, `claude-code-${process.platform}-${process.arch}/claude`);
    this.command = fs.existsSync(script) ? [process.execPath, script] : [native];
  }

  /** Whether this is the older release, which has teams of its own making and todo lists. */
  get isOld() {
    return this.version === '2.1.34';
  }

  /** What it does in a project without anybody at the keyboard; `main` is the part its model plays. */
  async talk(house, main, options = {}) {
    const session = await this.start(house, { ...options, parts: { ...options.parts, main } });
    await session.ended;
    return session;
  }

  /** Starts it. `terminal` gives it one, and nothing is asked before somebody types; `list` is the task list's variable. */
  async start(house, { parts, list, env = {}, flags = [], cwd = house.project, terminal = false, seconds }) {
    const model = await serve(messages, parts);
    const words = terminal ? flags : ['-p', 'PART:main begin', '--output-format', 'stream-json', '--verbose', ...flags];
    if (terminal) this.#welcome(house, cwd);
    const [program, ...first] = this.command;
    const session = new Session({
      program,
      words: [...first, '--dangerously-skip-permissions', ...words],
      env: this.env(house, model.url, { ...(list ? { CLAUDE_CODE_TASK_LIST_ID: list } : {}), ...env }, terminal),
      cwd,
      model,
      terminal,
      // It would take its time to end; what it prints then is its last word.
      isLast: terminal ? undefined : (text) => text.includes('"type":"result"'),
      seconds,
    });
    house.holds(session);
    return session;
  }

  /** Has `taskyard work` run it for each task in turn; its model plays `main` in the first run, and is done at once in the others. */
  async work(house, main, { list, flags = [] }) {
    const model = await serve(messages, { main });
    const words = ['--dangerously-skip-permissions', '-p', 'PART:main begin', '--output-format', 'stream-json', '--verbose'];
    try {
      const env = this.env(house, model.url, { CLAUDE_CODE_TASK_LIST_ID: list });
      const ran = await house.taskyard(['work', ...flags, '--', ...this.command, ...words], { env });
      await model.parts.get('main').ended;
      return ran;
    } finally {
      model.close();
    }
  }

  /** Waits until somebody could type into its terminal. */
  ready(session) {
    return session.shows('bypass permissions on');
  }

  /** Types something into its terminal, and sends it. */
  async ask(session, text) {
    await this.ready(session);
    session.type(text);
    await session.shows(text);
    session.type('\r');
  }

  /** Runs one of its own commands, such as `plugin install`. */
  commandLine(house, words) {
    const [program, ...first] = this.command;
    return house.run(program, [...first, ...words], { env: this.env(house, 'http://127.0.0.1:9') });
  }

  /** Its environment: the mock for a model, tasks switched on, and nothing that asks the network. */
  env(house, url, more = {}, terminal = false) {
    return house.env({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_ENABLE_TASKS: '1',
      CLAUDE_CODE_ENABLE_TODO_TOOLS: '1',
      CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION: 'false',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CODE_TMPDIR: house.path('tmp'),
      DISABLE_AUTOUPDATER: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_TELEMETRY: '1',
      ENABLE_TOOL_SEARCH: 'false',
      IS_SANDBOX: '1',
      ...(terminal ? { TERM: 'xterm-256color', COLUMNS: '160', LINES: '50' } : {}),
      ...more,
    });
  }

  /** Answers in advance what it asks at its first start in a terminal. */
  #welcome(house, cwd) {
    const state = JSON.parse(house.read('.claude.json') ?? '{}');
    const project = { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true, allowedTools: [] };
    house.write('.claude.json', {
      ...state,
      hasCompletedOnboarding: true,
      theme: 'dark',
      bypassPermissionsModeAccepted: true,
      numStartups: 10,
      customApiKeyResponses: { approved: [KEY.slice(-20)], rejected: [] },
      projects: { ...state.projects, [cwd]: { ...state.projects?.[cwd], ...project } },
    });
  }
}
