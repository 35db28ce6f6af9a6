// How Codex is started.

import path from 'node:path';

import { serve } from './model.js';
import { Session } from './session.js';
import * as responses from './wires/responses.js';

/** Codex, installed in a folder. */
export class Codex {
  constructor(version, folder) {
    this.version = version;
    this.name = 'codex';
    this.script = path.join(folder, 'node_modules/@openai/codex/bin/codex.js');
  }

  /** What it does in a project without anybody at the keyboard; `main` is the part its model plays. */
  async talk(house, main, { env = {}, flags = [], cwd = house.project, seconds } = {}) {
    const model = await serve(responses, { main });
    const settings = {
      model: '"mock"',
      model_provider: '"mock"',
      'model_providers.mock': `{name="mock",base_url="${model.url}/v1",env_key="MOCK_KEY",wire_api="responses",supports_websockets=false}`,
    };
    const given = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
    const words = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const session = new Session({
      program: process.execPath,
      words: [this.script, ...words, ...given, ...flags, 'PART:main begin'],
      env: house.env({ MOCK_KEY: 'no-key', ...env }),
      cwd,
      model,
      seconds,
    });
    house.holds(session);
    await session.ended;
    return session;
  }
}
