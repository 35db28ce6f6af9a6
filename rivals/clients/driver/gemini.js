// How Gemini CLI is started.

import path from 'node:path';

import { serve } from './model.js';
import { Session } from './session.js';
import * as generate from './wires/generate.js';

/** Gemini CLI, installed in a folder. */
export class Gemini {
  constructor(version, folder) {
    this.version = version;
    this.name = 'gemini';
    this.script = path.join(folder, 'node_modules/@google/gemini-cli/bundle/gemini.js');
  }

  /** Writes the settings of somebody who logs in with a key. Without them it takes the mock's address for a gateway and refuses to start. */
  prepare(house) {
    house.write('.gemini/settings.json', { security: { auth: { selectedType: 'gemini-api-key' } } });
  }

  /** What it does in a project without anybody at the keyboard; `main` is the part its model plays. */
  async talk(house, main, { env = {}, flags = [], cwd = house.project, seconds } = {}) {
    const model = await serve(generate, { main });
    const words = ['--yolo', '--model', 'gemini-2.5-flash', '--prompt', 'PART:main begin'];
    const session = new Session({
      program: process.execPath,
      words: [this.script, ...words, ...flags],
      env: house.env({
        GOOGLE_GEMINI_BASE_URL: model.url,
        GEMINI_API_KEY: 'no-key',
        GEMINI_CLI_NO_RELAUNCH: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
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
