// One list for an agent's native tools, its MCP server, its shell and the people in its project.

import assert from 'node:assert/strict';

import { until } from '../driver/until.js';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];

/** Has everybody make a task and look, and returns what each saw at the end. */
async function everybody(house, main) {
  const made = [
    (await main.call('TaskCreate', { subject: 'Native', description: 'by the client' })).text,
    (await main.call('mcp__taskyard__TaskCreate', { subject: 'Served', description: 'over MCP' })).text,
    (await main.call('Bash', { command: 'taskyard create Shell', description: 'a command of the agent' })).text,
    await house.must('create Person'),
  ];
  const seen = {
    native: (await main.call('TaskList')).text,
    served: (await main.call('mcp__taskyard__TaskList')).text,
    shell: (await main.call('Bash', { command: 'taskyard list', description: 'look' })).text,
    person: await house.must('list'),
  };
  return { made, seen };
}

/** Everybody saw what everybody made, under numbers of its own. */
function assertOneList({ made, seen }) {
  const numbers = made.map((text) => text.match(/#(\d+)/)?.[1]);
  assert.equal(new Set(numbers).size, 4, made.join('\n'));
  for (const [who, list] of Object.entries(seen)) {
    for (const subject of ['Native', 'Served', 'Shell', 'Person']) assert.match(list, new RegExp(subject), `${who} sees ${list}`);
  }
}

/** What the hook told a session at its start. */
function context(main) {
  const told = main.heard.join('\n').match(/SessionStart hook additional context: [^]*?(?=\n\n|<\/system-reminder>|$)/);
  assert.ok(told, 'the hook said something');
  return told[0];
}

export const conversations = [
  {
    name: 'set up for a project, native tools, MCP, the shell and a person are on one list',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --scope project --allow-tools --yes');
      house.write('.claude/settings.json', { enableAllProjectMcpServers: true });
      // The project's settings alone make the client offer its task tools.
      const env = { CLAUDE_CODE_ENABLE_TODO_TOOLS: undefined };
      const play = async (main) => {
        await main.call('TaskCreate', { subject: 'Native', description: 'by the client' });
        await main.call('Bash', { command: 'taskyard create Shell', description: 'a command of the agent' });
        await house.must('create Person');
        const claimed = await main.call('mcp__taskyard__TaskClaim', { taskId: '1' });
        assert.match(claimed.text, /Native/, 'the server only adds what the client lacks');
        const native = (await main.call('TaskList')).text;
        assert.match(native, /Native \(.+\)/);
        const shell = (await main.call('Bash', { command: 'taskyard list', description: 'look' })).text;
        for (const list of [native, shell, await house.must('list')]) {
          for (const subject of ['Native', 'Shell', 'Person']) assert.match(list, new RegExp(subject));
        }
      };
      await client.talk(house, play, { env });
      assert.equal(house.tasks('rocket').length, 3, 'it is the list that the project had before');
    },
  },
  {
    name: 'with the list in the environment, native tools, MCP, the shell and a person are on one list',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('use shared');
      const main = async (part) => assertOneList(await everybody(house, part));
      await client.talk(house, main, { list: 'shared' });
      assert.equal(house.tasks('shared').length, 4);
    },
  },
  {
    name: 'set up for a person, MCP, the shell and a person are on the list of the project',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await client.talk(house, async (main) => {
        await main.call('mcp__taskyard__TaskCreate', { subject: 'Served', description: 'd' });
        await main.call('Bash', { command: 'taskyard create Shell', description: 'd' });
        await house.must('create Person');
        const shell = await main.call('Bash', { command: 'taskyard list', description: 'd' });
        const served = await main.call('mcp__taskyard__TaskList');
        for (const subject of ['Served', 'Shell', 'Person']) {
          assert.match(shell.text, new RegExp(subject));
          assert.match(served.text, new RegExp(subject));
        }
      });
      assert.deepEqual(house.tasks('rocket').map(({ subject }) => subject), ['Served', 'Shell', 'Person']);
    },
  },
  {
    name: 'a new session is told which list it is on, and offered only lists that are others',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --scope project --allow-tools --yes');
      house.write('.claude/settings.json', { enableAllProjectMcpServers: true });
      await house.must('create Person');
      await client.talk(house, async (main) => {
        const told = context(main);
        assert.match(told, /rocket/);
        assert.match(told, /#1 Person/);
        assert.doesNotMatch(told, /adopt/);
      });
    },
  },
  {
    name: 'what an earlier session left behind is offered, and adopting it leaves the list of the project whole',
    between: BOTH,
    async play({ client, house }) {
      await house.must('create Person');
      await client.talk(house, async (main) => {
        await main.call('TaskCreate', { subject: 'Left', description: 'in a session of its own' });
        // A session that has not yet written anything down when it is killed is nobody's.
        await until('the session writes its transcript', () => house.transcripts().length > 0);
      });
      await house.must('setup claude --yes');
      await client.talk(house, async (main) => {
        assert.match(context(main), /adopt/);
        const adopted = await main.call('Bash', { command: 'taskyard adopt --yes', description: 'd' });
        assert.ok(!adopted.isError, adopted.text);
      });
      assert.deepEqual(house.tasks('rocket').map(({ subject }) => subject), ['Person', 'Left']);
    },
  },
];
