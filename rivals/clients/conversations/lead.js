// The client leads a team, and one of ours is a member.

import assert from 'node:assert/strict';
import fs from 'node:fs';

import { until } from '../driver/until.js';

const TEAMS = { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' };
const as = (name) => ['--as', name];

const messages = async (house, name) => (await house.json(['inbox', ...as(name)])).messages;

/** The names of a team's members as its file has them. */
const members = async (house, team) => (await house.whole('.claude/teams', team, 'config.json')).members.map(({ name }) => name);

export const conversations = [
  {
    name: 'a member of ours joins the team of a lead, works on its list, and is let go',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      const session = await client.start(house, {
        env: TEAMS,
        flags: ['--teammate-mode', 'in-process'],
        parts: {
          async main(lead) {
            const team = JSON.parse((await lead.call('TeamCreate', { team_name: 'launch', description: 'd' })).text);
            assert.equal(team.team_name, 'launch');
            await house.must(['team', 'join', 'launch', ...as('ana')]);
            assert.deepEqual(await members(house, 'launch'), ['team-lead', 'ana']);

            await lead.call('TaskCreate', { subject: 'Engine', description: 'd' });
            await lead.call('TaskUpdate', { taskId: '1', owner: 'ana' });
            const sent = { type: 'message', recipient: 'ana', content: 'Begin with the engine', summary: 'begin' };
            assert.match((await lead.call('SendMessage', sent)).text, /"success": true/);
            const got = await messages(house, 'ana');
            assert.deepEqual(got.map(({ from }) => from), ['team-lead', 'team-lead'], 'the task, and the message');
            assert.match(JSON.stringify(got), /task_assignment[^]*Begin with the engine/);
            await house.must(['inbox', '--ack', ...as('ana')]);

            await house.must(['claim', '1', ...as('ana')]);
            assert.match((await lead.call('TaskList')).text, /#1 \[in_progress\] Engine \(ana\)/);
            await house.must(['done', '1', ...as('ana')]);
            await house.must(['send', '--to', 'team-lead', 'The engine runs', '--summary', 'engine', ...as('ana')]);
            const told = await lead.wait(/The engine runs/);
            assert.match(told, /teammate_id="ana"/);
            assert.doesNotMatch(told, /summary=/, 'in print mode the client leaves it out');

            await lead.call('SendMessage', { type: 'shutdown_request', recipient: 'ana', content: 'thank you' });
            const [asked] = await messages(house, 'ana');
            const { requestId } = JSON.parse(asked.text);
            await house.must(['send', '--to', 'team-lead', '--approve', requestId, ...as('ana')]);
            await until('the lead takes ana out', async () => !(await members(house, 'launch')).includes('ana'));
          },
        },
      });
      await session.ended;
    },
  },
  {
    name: 'members of the client and of ours write to each other, and to all',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      const session = await client.start(house, {
        env: TEAMS,
        flags: ['--teammate-mode', 'in-process'],
        parts: {
          async main(lead) {
            await lead.call('TeamCreate', { team_name: 'launch' });
            await house.must(['team', 'join', 'launch', ...as('ana')]);
            await lead.call('Task', {
              description: 'work', prompt: 'PART:bob begin', subagent_type: 'general-purpose', name: 'bob', team_name: 'launch',
            });
            await lead.wait(/bob is finished/);
          },
          async bob(bob) {
            await house.must(['send', '--to', 'bob', 'Hello Bob', ...as('ana')]);
            assert.match(await bob.wait(/Hello Bob/), /teammate_id="ana"/);
            await bob.call('SendMessage', { type: 'message', recipient: 'ana', content: 'Hello Ana', summary: 'greeting' });
            assert.match(JSON.stringify(await messages(house, 'ana')), /Hello Ana/);
            await bob.call('SendMessage', { type: 'broadcast', content: 'To all of you', summary: 'all' });
            assert.match(JSON.stringify(await messages(house, 'ana')), /To all of you/);
            const shown = (await house.json(['team', 'show', 'launch'])).members.map(({ name }) => name);
            assert.deepEqual(shown.sort(), ['ana', 'bob', 'team-lead']);
            await bob.call('SendMessage', { type: 'message', recipient: 'team-lead', content: 'bob is finished', summary: 'end' });
          },
        },
      });
      await session.ended;
    },
  },
  {
    name: 'the sender of a message to a lead without a teammate of its own learns that it will not be read until then',
    between: ['claude-2.1.325'],
    async play({ client, house }) {
      const session = await client.start(house, { env: TEAMS, terminal: true, parts: { main: async () => {} } });
      await client.ask(session, 'PART:main begin');
      await session.played();
      const [team] = await until('its team', () => fs.existsSync(house.path('.claude/teams')) && fs.readdirSync(house.path('.claude/teams')));
      await house.must(['team', 'join', team, ...as('ana')]);
      const sent = await house.taskyard(['send', '--to', 'team-lead', 'Hello', ...as('ana')]);
      assert.match(sent.stdout + sent.stderr, /teammate of its own/);
      await session.kill();
    },
  },
  {
    name: 'a lead with a teammate of its own reads what a member of ours writes',
    between: ['claude-2.1.325'],
    async play({ client, house }) {
      const session = await client.start(house, {
        env: TEAMS,
        terminal: true,
        flags: ['--teammate-mode', 'in-process'],
        parts: {
          async main(lead) {
            await lead.call('Agent', { description: 'work', prompt: 'PART:bob begin', subagent_type: 'general-purpose', name: 'bob' });
            const [team] = fs.readdirSync(house.path('.claude/teams'));
            await house.must(['team', 'join', team, ...as('ana')]);
            assert.ok((await members(house, team)).includes('ana'));
            await lead.call('SendMessage', { to: 'ana', message: 'Are you there?', summary: 'asking' });
            assert.match(JSON.stringify(await messages(house, 'ana')), /Are you there\?/);
            await house.must(['send', '--to', 'team-lead', 'I am here', '--summary', 'here', ...as('ana')]);
            assert.match(await lead.wait(/I am here/), /ana/);
          },
          async bob(bob) {
            await bob.call('TaskList');
          },
        },
      });
      await client.ask(session, 'PART:main begin');
      await session.played();
      await session.kill();
    },
  },
];
