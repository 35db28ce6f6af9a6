// How Goose is started.

import path from 'node:path';

import { serve } from './model.js';
import { Session } from './session.js';
import * as messages from './wires/messages.js';

/** Goose, installed in a folder. */
export class Goose {
  constructor(version, folder) {
    this.version = version;
    this.name = 'goose';
    this.program = path.join(folder, 'node_modules/.bin/goose');
  }

  /** What it does in a project without anybody at the keyboard; `main` is the part its model plays. */
  async talk(house, main, { env = {}, flags = [], cwd = house.project, seconds } = {}) {
    const model = await serve(messages, { main });
    const session = new Session({
      program: this.program,
      words: ['run', '--no-session', '--text', 'PART:main begin', ...flags],
      env: house.env({
        GOOSE_PROVIDER: 'anthropic',
        GOOSE_MODEL: 'claude-sonnet-4-5',
        GOOSE_MODE: 'auto',
        GOOSE_DISABLE_KEYRING: '1',
        ANTHROPIC_HOST: model.url,
        ANTHROPIC_API_KEY: 'no-key',
        ...env,
      }),
      cwd,
      model,
      seconds,
    });
    house.holds(session);
    await session.ended;
    return session;
  }
}
