// The client rewrites whole files from what it read before: what that takes back is noticed.

import assert from 'node:assert/strict';

import { Mcp } from '../driver/mcp.js';
import { keepCalling } from '../driver/pacing.js';

const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };

export const conversations = [
  {
    name: 'of what the client takes back by stale writes on a hot task nothing goes unnoticed',
    between: ['claude-2.1.34', 'claude-2.1.325'],
    async play({ client, house }) {
      await house.must('create Hot', { env });
      const mcp = await Mcp.connect(house, [], { env: { ...env, TASKYARD_AGENT: 'ana' } });
      let over = false;
      const theirs = client.talk(
        house,
        async (main) => {
          for (let turn = 0; turn < 60; turn += 1) {
            await main.call('TaskUpdate', { taskId: '1', metadata: { [`theirs${turn}`]: 'x'.repeat(200) } });
          }
        },
        { list },
      ).finally(() => (over = true));
      const ours = keepCalling(mcp, 100, () => over, (number) => ({ taskId: '1', metadata: { [`ours-${number}-`]: number } }));
      const [{ acknowledged }] = await Promise.all([ours, theirs]);
      await mcp.close();
      const { findings } = await house.json('doctor', { env });
      const { metadata } = house.tasks(list)[0];
      const lost = acknowledged.map((given) => Object.keys(given.metadata)[0]).filter((key) => !(key in metadata));
      const told = JSON.stringify(findings.filter(({ code }) => code === 'taken_back'));
      const unnoticed = lost.filter((key) => !told.includes(key));
      assert.deepEqual(unnoticed, [], `${lost.length} of ${acknowledged.length} were taken back, ${unnoticed.length} unnoticed`);
    },
  },
];
