// The programs that take part, at the versions that are tried. `programs/` pins them for npm.

import fs from 'node:fs';
import path from 'node:path';

import { Claude } from './driver/claude.js';
import { Codex } from './driver/codex.js';
import { Gemini } from './driver/gemini.js';
import { Goose } from './driver/goose.js';
import { Lister } from './driver/lister.js';

const kinds = {
  auggie: Lister,
  claude: Claude,
  codex: Codex,
  copilot: Lister,
  droid: Lister,
  gemini: Gemini,
  goose: Goose,
  opencode: Lister,
  qwen: Lister,
};

export const folder = path.join(import.meta.dirname, 'programs');

/** The names of all programs. */
export const names = fs.readdirSync(folder).sort();

/** The version of a program that is pinned. */
function version(name) {
  const { dependencies } = JSON.parse(fs.readFileSync(path.join(folder, name, 'package.json'), 'utf8'));
  return Object.values(dependencies)[0];
}

/** Returns a program by its name. */
export function program(name) {
  const place = path.join(folder, name);
  if (!fs.existsSync(path.join(place, 'node_modules'))) throw new Error(`${name} is not installed; run scripts/interop`);
  return new kinds[name.split('-')[0]](version(name), place);
}
