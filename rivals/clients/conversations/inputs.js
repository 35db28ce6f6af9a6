// Malformed input of the tools: our server in client rules answers and writes as the client does.

import assert from 'node:assert/strict';

import { Mcp } from '../driver/mcp.js';
import { malformed } from '../driver/malformed.js';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];
const BLANKS = [undefined, '', ' ', 'x'];
const OTHERS = [
  {},
  ...['title', 'name', 'content', 'task', 'activeForm', 'active_form'].flatMap((key) =>
    ['', ' ', `${key} y`].map((value) => ({ [key]: value })),
  ),
  { bogus: 1 },
  { metadata: 'no object' },
];

/** 336 inputs: subject and description missing, empty, blank or there, each with every other field that may stand for one. */
function blank() {
  return BLANKS.flatMap((subject) =>
    BLANKS.flatMap((description) =>
      OTHERS.map((other) => [
        'TaskCreate',
        {
          ...(subject === undefined ? {} : { subject: subject.trim() ? 'a subject' : subject }),
          ...(description === undefined ? {} : { description: description.trim() ? 'first line\nsecond' : description }),
          ...other,
        },
      ]),
    ),
  );
}

/** The words of an answer, without the tag that the client puts around errors, the blanks it cuts off there, and its reminders. */
function bare({ text, isError }) {
  const said = text.replace(/\s*<system-reminder>[^]*<\/system-reminder>\s*$/, '');
  return { text: isError ? said.replace(/^<tool_use_error>([^]*)<\/tool_use_error>$/, '$1').trimEnd() : said, isError };
}

/** Makes the same calls on a list of the client's and on one of ours, and compares every answer, and all files. */
async function assertAlike(client, house, calls) {
  const theirs = [];
  const part = async (main) => {
    for (const [tool, input] of calls) theirs.push(bare(await main.call(tool, input)));
  };
  await client.talk(house, part, { list: 'theirs', seconds: 400 });
  const ours = [];
  const mcp = await Mcp.connect(house, ['--rules', 'client', '--client-version', client.version, '--list', 'ours']);
  for (const [tool, input] of calls) ours.push(bare(await mcp.call(tool, input)));
  await mcp.close();
  const differences = calls.flatMap(([tool, input], index) => {
    const same = theirs[index].text === ours[index].text && theirs[index].isError === ours[index].isError;
    return same ? [] : [{ tool, input, theirs: theirs[index], ours: ours[index] }];
  });
  assert.equal(theirs.length, calls.length);
  assert.equal(JSON.stringify(differences.slice(0, 5), null, 1), '[]', `${differences.length} of ${calls.length} differ`);
  assert.deepEqual(house.tasks('ours'), house.tasks('theirs'));
  assert.ok(house.tasks('ours').length > 0, 'some were taken');
}

export const conversations = [
  {
    name: '336 blank, missing and misnamed inputs of TaskCreate are answered and written alike',
    between: BOTH,
    async play({ client, house }) {
      assert.equal(blank().length, 336);
      await assertAlike(client, house, blank());
    },
  },
  {
    name: 'random inputs of TaskCreate, TaskUpdate, TaskGet and TaskStop are answered and written alike',
    between: BOTH,
    async play({ client, house }) {
      const first = ['TaskCreate', { subject: 'first', description: 'd' }];
      await assertAlike(client, house, [first, ...malformed(Number(process.env.TASKYARD_SEED ?? 1), 160)]);
    },
  },
];
