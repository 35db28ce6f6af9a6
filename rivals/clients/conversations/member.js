// We lead a team, and the client is a member: a process of its own, in a terminal.

import assert from 'node:assert/strict';

import { until } from '../driver/until.js';

const TEAMS = { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' };
const LEAD = ['--as', 'ana'];

/** Makes a team that ana leads, has bob join it, and starts the client as bob. */
async function bob(client, house, main, join = []) {
  await house.must(['team', 'create', 'launch', ...LEAD]);
  await house.must(['team', 'join', 'launch', ...join, '--as', 'bob']);
  const { leadSessionId } = JSON.parse(house.read('.claude/teams/launch/config.json'));
  const who = { 'agent-id': 'bob@launch', 'agent-name': 'bob', 'team-name': 'launch', 'agent-color': 'blue', 'parent-session-id': leadSessionId };
  const flags = Object.entries(who).flatMap(([key, value]) => [`--${key}`, value]);
  const session = await client.start(house, { env: TEAMS, terminal: true, flags, parts: { main } });
  await client.ready(session);
  return session;
}

/** Starts bob, who begins a task and ends when he is asked to. */
async function bobAtWork(client, house) {
  const main = async (part) => {
    await part.call('TaskUpdate', { taskId: '1', status: 'in_progress' });
    const told = await part.wait(/shutdown_request/);
    const yes = { type: 'shutdown_response', request_id: told.match(/shutdown-\d+@bob/)[0], approve: true };
    await part.call('SendMessage', client.isOld ? yes : { to: 'team-lead', message: yes });
  };
  const session = await bob(client, house, main, ['--backend', 'tmux', '--pane', '%7']);
  await house.must(['create', 'Engine', '--list', 'launch', ...LEAD]);
  await house.must(['send', '--to', 'bob', 'PART:main please begin', '--summary', 'begin', ...LEAD]);
  await until('bob works', () => house.tasks('launch')[0].status === 'in_progress');
  return session;
}

/** Asks bob to end, and checks that nothing of him is left when his process is gone. */
async function assertLetGo(house, session) {
  await house.must(['send', '--to', 'bob', '--request', 'shutdown', 'thank you', ...LEAD]);
  await session.ended;
  await house.must('list --list launch'); // any command of anybody takes him out
  const { members } = await house.json(['team', 'show', 'launch']);
  assert.deepEqual(members?.map(({ name }) => name), ['team-lead'], house.read('.claude/teams/launch/config.json'));
  const [task] = house.tasks('launch');
  assert.equal(task.status, 'pending');
  assert.ok(!task.owner);
}

const inbox = async (house) => (await house.json(['inbox', ...LEAD])).messages;

export const conversations = [
  {
    name: 'it is told to begin, works on the list of the team, and its words arrive',
    between: ['claude-2.1.34', 'claude-2.1.325'],
    async play({ client, house }) {
      const say = (content) => (client.isOld ? { type: 'message', recipient: 'team-lead', content, summary: 'news' } : { to: 'team-lead', message: content, summary: 'news' });
      const session = await bob(client, house, async (main) => {
        assert.match((await main.call('TaskList')).text, /#1 \[pending\] Engine/);
        await main.call('TaskUpdate', { taskId: '1', status: 'in_progress' });
        assert.match((await house.json('show 1 --list launch')).task.owner, /^bob/);
        await main.call('SendMessage', say('The engine is on its way'));
        await main.call('TaskUpdate', { taskId: '1', status: 'completed' });
      });
      await house.must(['create', 'Engine', '--list', 'launch', ...LEAD]);
      await house.must(['send', '--to', 'bob', 'PART:main please begin', '--summary', 'begin', ...LEAD]);
      await session.played();
      assert.match(JSON.stringify(await until('its message', async () => {
        const got = await inbox(house);
        return got.length > 0 && got;
      })), /The engine is on its way/);
      assert.equal(house.tasks('launch')[0].status, 'completed');
      await session.kill();
    },
  },
  {
    name: 'a message that was sent without a summary has one',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      const session = await bob(client, house, async () => {});
      await house.must(['send', '--to', 'bob', 'PART:main please begin with the engine', ...LEAD]);
      const [message] = await house.whole('.claude/teams/launch/inboxes/bob.json');
      assert.ok(message.summary, 'the client shows a line without words where there is none');
      await session.played();
      await session.kill();
    },
  },
  {
    name: 'asked to end it approves; it is taken out, its tasks come back, and its process ends',
    between: ['claude-2.1.34', 'claude-2.1.325'],
    async play({ client, house }) {
      const session = await bobAtWork(client, house);
      await until('bob is idle', () => /idle_notification/.test(house.read('.claude/teams/launch/inboxes/team-lead.json')));
      await assertLetGo(house, session);
    },
  },
  {
    name: 'asked to end in the middle of its turn, it leaves a team that is whole',
    between: ['claude-2.1.34', 'claude-2.1.325'],
    async play({ client, house }) {
      await assertLetGo(house, await bobAtWork(client, house));
    },
  },
];
