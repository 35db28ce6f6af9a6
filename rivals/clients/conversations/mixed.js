// The client's native tools and our commands, taking turns on one list.

import assert from 'node:assert/strict';
import fs from 'node:fs';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];
const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };

export const conversations = [
  {
    name: 'numbers are given out once, whoever makes and deletes',
    between: BOTH,
    async play({ client, house }) {
      await client.talk(
        house,
        async (main) => {
          const numbers = [];
          const native = async (subject) => {
            const { text } = await main.call('TaskCreate', { subject, description: 'd' });
            numbers.push(text.match(/#(\d+)/)[1]);
          };
          const ours = async (subject) => numbers.push((await house.json(['create', subject], { env })).task.id);
          await native('one');
          await ours('two');
          await native('three');
          await main.call('TaskUpdate', { taskId: '3', status: 'deleted' });
          await ours('four');
          await house.must('delete 4', { env });
          await native('five');
          await ours('six');
          assert.deepEqual(numbers, ['1', '2', '3', '4', '5', '6']);
        },
        { list },
      );
    },
  },
  {
    name: 'what we keep with a task survives the updates of the client',
    between: BOTH,
    async play({ client, house }) {
      await house.must(['create', 'Kept', '--priority', 'high', '--tag', 'db', '--meta', 'deep={"a":[1]}'], { env });
      await house.must('create Waits --blocked-by 1', { env });
      const before = house.tasks(list)[0].metadata;
      await client.talk(
        house,
        async (main) => {
          await main.call('TaskUpdate', { taskId: '1', status: 'in_progress', owner: 'ana', metadata: { theirs: 1 } });
          await main.call('TaskUpdate', { taskId: '1', subject: 'Kept anyway' });
        },
        { list },
      );
      const [task] = house.tasks(list);
      assert.deepEqual(task.metadata, { ...before, theirs: 1 });
      assert.deepEqual(task.blocks, ['2']);
      const shown = await house.json('show 1', { env });
      assert.equal(shown.task.subject, 'Kept anyway');
      assert.equal(shown.task.metadata.priority, 'high');
    },
  },
  {
    name: 'what the client changes and deletes is in the history, and can be taken back',
    between: BOTH,
    async play({ client, house }) {
      await house.must('create First', { env });
      await client.talk(
        house,
        async (main) => {
          await main.call('TaskCreate', { subject: 'Second', description: 'by the client' });
          await house.must('list', { env });
          await main.call('TaskUpdate', { taskId: '1', subject: 'Changed' });
          await house.must('list', { env });
          await main.call('TaskUpdate', { taskId: '2', status: 'deleted' });
        },
        { list },
      );
      assert.deepEqual((await house.json('doctor', { env })).findings, [], 'a deletion is no damage');
      await house.must('restore 2', { env });
      assert.deepEqual(house.tasks(list).map(({ subject }) => subject), ['Changed', 'Second']);
      const { entries } = await house.json('history', { env });
      const told = entries.map(({ op, task }) => `${op} ${task}`);
      for (const line of ['created_elsewhere 2', 'changed_elsewhere 1', 'deleted_elsewhere 2']) assert.ok(told.includes(line), told.join(', '));
    },
  },
  {
    name: 'edges made on one side are edges for the other',
    between: BOTH,
    async play({ client, house }) {
      await client.talk(
        house,
        async (main) => {
          await main.calls(['A', 'B', 'C'].map((subject) => ['TaskCreate', { subject, description: 'd' }]));
          await main.call('TaskUpdate', { taskId: '2', addBlockedBy: ['1'] });
          const started = await house.taskyard('start 2', { env });
          assert.equal(started.code, 3, 'a blocked task does not start');
          await house.must('depend 3 --on 2', { env });
          const { text } = await main.call('TaskList');
          assert.match(text, /#2 .*\[blocked by #1\]/);
          assert.match(text, /#3 .*\[blocked by #2\]/);
          const done = await house.json('done 1', { env });
          assert.deepEqual(done.nowReady, ['2']);
          assert.doesNotMatch((await main.call('TaskList')).text, /#2 .*blocked/);
        },
        { list },
      );
    },
  },
  {
    name: 'the bytes of a task that we change are those that the client writes',
    between: BOTH,
    async play({ client, house }) {
      const rules = { ...env, TASKYARD_RULES: 'client', TASKYARD_CLIENT_VERSION: client.version };
      const bytes = (name) => fs.readFileSync(house.path('.claude/tasks', name, '1.json'), 'utf8');
      for (const [name, change] of [
        [list, async (main) => main.call('TaskUpdate', { taskId: '1', owner: 'ana', status: 'in_progress', metadata: { k: 1.5 } })],
        ['ours', async () => house.must('update 1 --owner ana --status in_progress --meta k=1.5', { env: { ...rules, CLAUDE_CODE_TASK_LIST_ID: 'ours' } })],
      ]) {
        await client.talk(
          house,
          async (main) => {
            await main.call('TaskCreate', { subject: 'É', description: 'd', activeForm: 'Doing', metadata: { n: null } });
            await change(main);
          },
          { list: name },
        );
      }
      assert.equal(bytes('ours'), bytes(list));
    },
  },
];
