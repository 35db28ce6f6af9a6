// The client's oldest release never waits for a lock: we are in its way as little as it is in ours.

import assert from 'node:assert/strict';

import { Mcp } from '../driver/mcp.js';
import { keepCalling } from '../driver/pacing.js';

const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };

export const conversations = [
  {
    name: 'at 92 of our changes a second at most 2 % of the tasks that the client makes are refused',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      await house.must('create Busy', { env });
      const mcp = await Mcp.connect(house, [], { env: { ...env, TASKYARD_AGENT: 'ana' } });
      let over = false;
      let [made, refused] = [0, 0];
      const theirs = client.talk(
        house,
        async (main) => {
          for (let turn = 0; turn < 150; turn += 1) {
            const { text, isError } = await main.call('TaskCreate', { subject: `Task ${turn}`, description: 'd' });
            if (isError) {
              assert.match(text, /Lock file is already being held/);
              refused += 1;
            } else made += 1;
          }
        },
        { list },
      ).finally(() => (over = true));
      const ours = keepCalling(mcp, 92, () => over, (number) => ({ taskId: '1', metadata: { number } }));
      const [{ rate }] = await Promise.all([ours, theirs]);
      await mcp.close();
      assert.ok(refused <= 0.02 * (made + refused), `${refused} of ${made + refused} refused at ${rate.toFixed(0)} a second`);
      assert.equal(house.tasks(list).length, made + 1);
    },
  },
];
