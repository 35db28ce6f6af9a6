// Plays conversations of real agents with a `taskyard`, and says of each whether everything in it was true.
//
//   node run.js --binary PATH [--client NAME].. [--subject NAME].. [--only TEXT] [--most COUNT [--from PLACE]] [--at-once COUNT] [--list]
//
// A subject is a file in `conversations/`. Without `--client` all programs take part. With `--most` so many conversations are played of
// those that are chosen, beginning with the one at PLACE; behind the last comes the first.

import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { House } from './driver/house.js';
import { names, program } from './programs.js';
import { waiting } from './waiting.js';

const { values: given } = parseArgs({
  options: {
    binary: { type: 'string' },
    client: { type: 'string', multiple: true },
    subject: { type: 'string', multiple: true },
    only: { type: 'string', default: '' },
    most: { type: 'string' },
    from: { type: 'string', default: '0' },
    'at-once': { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});

const folder = path.join(import.meta.dirname, 'conversations');
const subjects = fs.readdirSync(folder).map((file) => path.basename(file, '.js')).sort();

/** Every conversation with everybody it is held with: one program, or several at once. */
async function conversations() {
  const chosen = given.subject ?? subjects;
  const found = [];
  for (const subject of chosen) {
    const { conversations } = await import(path.join(folder, `${subject}.js`));
    for (const { name, between, play } of conversations) {
      for (const party of between) {
        const clients = [party].flat();
        const title = `${subject} · ${clients.join(' and ') || 'nobody'} · ${name}`;
        const wanted = clients.every((client) => (given.client ?? names).includes(client));
        if (wanted && title.includes(given.only)) found.push({ name, title, clients, play });
      }
    }
  }
  return found;
}

/** Plays one in a house of its own, and returns what went wrong. */
async function failure({ clients, play }) {
  const house = new House(given.binary);
  const wrong = async (what) => what().then(() => undefined, (error) => error);
  const played = await wrong(async () => {
    const programs = clients.map(program);
    await play({ house, client: programs[0], clients: programs });
  });
  if (given.keep) console.log(`  kept ${house.root}`);
  const tidied = given.keep ? undefined : await wrong(() => house.tidy());
  return played ?? tidied;
}

/** What a conversation waits for: with everybody, or with one program alone. */
const reason = ({ name, clients }) => waiting.get(name) ?? waiting.get(`${name} · ${clients.join(' and ')}`);

const all = await conversations();
const first = all.length && Number(given.from) % all.length;
const chosen = [...all.slice(first), ...all.slice(0, first)].slice(0, given.most && Number(given.most));
if (given.list) {
  for (const { title } of chosen) console.log(title);
  process.exit(0);
}
const failed = [];
const waits = [];

/** Plays one and says how it went. */
async function tell(conversation) {
  const began = Date.now();
  const error = await failure(conversation);
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  const reasoned = reason(conversation);
  const said = error ? (reasoned ? 'waits' : 'FAILS') : 'ok   ';
  console.log(`${said} ${conversation.title} (${seconds} s)`);
  if (error) console.log(`      ${String(error.stack ?? error).replaceAll('\n', '\n      ')}`);
  if (reasoned) waits.push(`${conversation.title}: ${error ? `waits for ${reasoned}` : 'no longer waits, take it off waiting.js'}`);
  else if (error) failed.push(conversation.title);
}

// Each has a house of its own, so that several can be played side by side.
const left = chosen.values();
const player = async () => {
  for (const conversation of left) await tell(conversation);
};
await Promise.all(Array.from({ length: Number(given['at-once']) }, player));
console.log(`\n${chosen.length} played, ${failed.length} failed, ${waits.length} waiting`);
for (const line of waits) console.log(`  ${line}`);
if (chosen.length === 0) console.log('nothing was played');
process.exit(failed.length > 0 || chosen.length === 0 ? 1 : 0);
