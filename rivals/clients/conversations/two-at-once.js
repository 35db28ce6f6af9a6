// Two clients and our processes on one list at the same time.

import assert from 'node:assert/strict';

import { meeting } from '../driver/until.js';

const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };
const PAIRS = [
  ['claude-2.1.34', 'claude-2.1.34'],
  ['claude-2.1.34', 'claude-2.1.325'],
  ['claude-2.1.325', 'claude-2.1.325'],
];

/** Runs the same part with two clients at once. */
async function both(clients, house, play, options = {}) {
  await Promise.all(clients.map((client, index) => client.talk(house, (main) => play(main, index), { list, ...options })));
}

export const conversations = [
  {
    name: 'no task is won twice',
    between: PAIRS,
    async play({ clients, house }) {
      await house.must('setup claude --yes');
      const total = 12;
      await house.fill(total, { env });
      const won = [];
      const begin = meeting(3);
      const people = async () => {
        await begin();
        for (;;) {
          const claim = await house.json('claim --next --as ana', { env });
          if (!claim.claimed) return;
          won.push(claim.task.id);
          await house.must(`done ${claim.task.id} --as ana`, { env });
        }
      };
      const agents = async (main, index) => {
        await begin();
        const command = `taskyard claim --next --as agent-${index} --json`;
        for (;;) {
          const { text } = await main.call('Bash', { command: `${command}; true`, description: 'claim' });
          const claim = JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
          if (!claim.claimed) return;
          won.push(claim.task.id);
          await main.call('TaskUpdate', { taskId: claim.task.id, status: 'completed' });
        }
      };
      await Promise.all([both(clients, house, agents), people()]);
      assert.equal(won.length, total, won.join(' '));
      assert.equal(new Set(won).size, total);
      assert.ok(house.tasks(list).every(({ status }) => status === 'completed'));
    },
  },
  {
    name: 'no number is given out twice, and every task that was made is there',
    between: PAIRS,
    async play({ clients, house }) {
      const made = [];
      const begin = meeting(3);
      const people = async () => {
        await begin();
        for (let index = 0; index < 20; index += 1) {
          made.push((await house.json(['create', `person ${index}`], { env })).task.id);
        }
      };
      const agents = async (main, index) => {
        await begin();
        for (let turn = 0; turn < 10; turn += 1) {
          // 2.1.34 does not try again when the lock is held; an agent does.
          for (;;) {
            const { text, isError } = await main.call('TaskCreate', { subject: `agent ${index} ${turn}`, description: 'd' });
            if (!isError) {
              made.push(text.match(/#(\d+)/)[1]);
              break;
            }
            assert.match(text, /Lock file is already being held/);
          }
        }
      };
      await Promise.all([both(clients, house, agents), people()]);
      assert.equal(new Set(made).size, 40, made.join(' '));
      assert.equal(house.tasks(list).length, 40);
      const doctor = await house.json('doctor', { env });
      assert.deepEqual(doctor.findings.map(({ code }) => code), []);
    },
  },
  {
    name: 'what one client claimed the other gets when it is released, and at once when the first is gone',
    between: PAIRS,
    async play({ clients, house }) {
      await house.must('setup claude --yes');
      await house.fill(3, { env });
      const [first, second] = clients;
      const claim = (main, taskId) => main.call('mcp__taskyard__TaskClaim', { taskId });
      await first.talk(
        house,
        async (main) => {
          for (const task of ['1', '2']) assert.ok(!(await claim(main, task)).isError);
          const inShell = await main.call('Bash', { command: 'taskyard claim 3', description: 'claim' });
          assert.ok(!inShell.isError, inShell.text);
          const other = async (part) => {
            assert.ok((await claim(part, '1')).isError, 'it is the first one\'s');
            await main.call('mcp__taskyard__TaskRelease', { taskId: '1' });
            assert.ok(!(await claim(part, '1')).isError, 'it was released');
          };
          await second.talk(house, other, { list });
        },
        { list },
      );
      await second.talk(
        house,
        async (main) => {
          for (const task of ['2', '3']) {
            const { text, isError } = await claim(main, task);
            assert.ok(!isError, `its process is gone, whether it was claimed over MCP or in the shell: ${text}`);
          }
        },
        { list },
      );
    },
  },
];
