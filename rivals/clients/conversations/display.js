// Displays follow: the client's terminal shows what we change, and our followers tell what the client changes.

import assert from 'node:assert/strict';

import { until } from '../driver/until.js';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];
const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };

/** Starts the client in a terminal, where it lists its tasks and is at work until it is let go. */
async function atWork(client, house) {
  let leave;
  const left = new Promise((resolve) => (leave = resolve));
  const main = async (part) => {
    await part.call('TaskList');
    await part.call('TaskCreate', { subject: 'Native', description: 'd' });
    await left;
  };
  const session = await client.start(house, { terminal: true, list, parts: { main } });
  await client.ask(session, 'PART:main begin');
  await session.shows('Native');
  return { session, leave };
}

export const conversations = [
  {
    name: 'the terminal of the client shows what a person makes, renames and starts, as it happens',
    between: BOTH,
    async play({ client, house }) {
      await house.must('create Aardvark', { env });
      const { session, leave } = await atWork(client, house);
      await house.must('create Marmalade', { env });
      await session.shows('Marmalade');
      await house.must('update 3 --subject Xylophone', { env });
      await session.shows('Xylophone');
      await house.must(['update', '3', '--status', 'in_progress', '--active-form', 'Zigzagging'], { env });
      await session.shows('Zigzagging');
      leave();
      await session.played();
      await session.kill();
    },
  },
  {
    name: 'a terminal that is older than its list shows it, too',
    between: BOTH,
    async play({ client, house }) {
      const { session, leave } = await atWork(client, house);
      await house.must('create Marmalade', { env });
      await session.shows('Marmalade');
      leave();
      await session.played();
      await session.kill();
    },
  },
  {
    name: 'what the client clears is restored, and restoring says that it will be cleared again',
    between: BOTH,
    async play({ client, house }) {
      const main = async (part) => {
        await part.call('TaskCreate', { subject: 'Aardvark', description: 'd' });
        await house.must('list', { env });
        await part.call('TaskUpdate', { taskId: '1', status: 'completed' });
      };
      const session = await client.start(house, { terminal: true, list, parts: { main } });
      await client.ask(session, 'PART:main begin');
      await session.played();
      await house.must('list --all', { env });
      await until('the client clears the list', () => house.tasks(list).length === 0);
      const restored = await house.taskyard('restore --all', { env });
      assert.equal(restored.code, 0, restored.stderr);
      assert.equal(house.tasks(list)[0].subject, 'Aardvark');
      assert.match(restored.stdout + restored.stderr, /again/, 'it is said that an open client clears it again');
      await session.kill();
    },
  },
  {
    name: 'a list that was cleared by the client is not reused: numbers go on',
    between: BOTH,
    async play({ client, house }) {
      const main = async (part) => {
        await part.call('TaskCreate', { subject: 'Aardvark', description: 'd' });
        await part.call('TaskUpdate', { taskId: '1', status: 'completed' });
        await house.must('list', { env });
      };
      const session = await client.start(house, { terminal: true, list, parts: { main } });
      await client.ask(session, 'PART:main begin');
      await session.played();
      await until('the client clears the list', () => house.tasks(list).length === 0);
      assert.equal((await house.json('create Next', { env })).task.id, '2');
      await session.kill();
    },
  },
  {
    name: '`watch` tells of everything that the client changes, as it happens',
    between: BOTH,
    async play({ client, house }) {
      await house.must('create First', { env });
      const watch = house.follow('watch', { env });
      const told = async (op, task) =>
        until(`${op} ${task} in ${watch.lines}`, () =>
          watch.lines.map((line) => JSON.parse(line)).some((line) => line.op === op && line.task === task),
        );
      await client.talk(
        house,
        async (main) => {
          await main.call('TaskCreate', { subject: 'Second', description: 'd' });
          await told('created_elsewhere', '2');
          await main.call('TaskUpdate', { taskId: '1', status: 'in_progress' });
          await told('changed_elsewhere', '1');
          await main.call('TaskUpdate', { taskId: '2', status: 'deleted' });
          await told('deleted_elsewhere', '2');
        },
        { list },
      );
    },
  },
];
