// Set-up and plugin: what `taskyard setup` and the plugin register is what the client finds.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { meeting } from '../driver/until.js';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];
const REPOSITORY = path.join(import.meta.dirname, '../../..');
const TOOLS = ['TaskClaim', 'TaskCreate', 'TaskGet', 'TaskList', 'TaskRelease', 'TaskUpdate'];

/** The tools of ours that a part is offered, without the name the client puts before them. */
const offered = (part, before) => part.tools.filter((name) => name.startsWith(before)).map((name) => name.slice(before.length));

/** The tools that the client lacks: those a project gets, where its own tools work on the same list. */
const CLAIMS = ['TaskClaim', 'TaskRelease'];

/** Checks that everything of ours is there: server, hook, skill. */
async function assertRegistered(client, house, before, skill, tools = TOOLS) {
  await house.must('create Open');
  const session = await client.talk(house, async (main) => {
    const ours = offered(main, before);
    for (const tool of tools) assert.ok(ours.includes(tool), `${tool} is offered: ${ours}`);
    if (tools === CLAIMS) {
      assert.deepEqual(ours.toSorted(), CLAIMS);
      assert.match((await main.call(`${before}TaskClaim`, { taskId: '1' })).text, /Open/);
    } else {
      assert.match((await main.call(`${before}TaskList`)).text, /Open|No tasks found/);
    }
    assert.match(main.heard.join('\n'), /SessionStart hook additional context: [^]{0,300}[Oo]pen/);
    const learnt = await main.call('Skill', { skill });
    assert.ok(!learnt.isError, learnt.text);
    assert.match([learnt.text, ...main.heard].join('\n'), /[Ll]aunching skill|taskyard prime/);
  });
  const init = session.events.find(({ type, subtype }) => type === 'system' && subtype === 'init');
  assert.ok(init.mcp_servers.some(({ name, status }) => name.includes('taskyard') && status === 'connected'), JSON.stringify(init.mcp_servers));
}

/** Copies what a marketplace needs of this repository, and returns where it is. */
function marketplace(house) {
  const folder = path.join(house.root, 'repository');
  for (const name of ['.claude-plugin', 'plugin', 'README.md', 'LICENSE-MIT', 'LICENSE-APACHE']) {
    fs.cpSync(path.join(REPOSITORY, name), path.join(folder, name), { recursive: true });
  }
  return folder;
}

/** Every file of a project that set-up may touch, with its bytes. */
const files = (house) => ['.mcp.json', '.claude/settings.json', '.claude/skills/taskyard/SKILL.md'].map((name) => house.read('rocket', name));

export const conversations = [
  {
    name: 'set up for a person, the client finds server, hooks and skill; removed, it finds none',
    between: BOTH,
    async play({ client, house }) {
      house.write('.claude/settings.json', '{\n    "cleanupPeriodDays": 30\n}\n');
      const settings = house.read('.claude/settings.json');
      await house.must('setup claude --yes');
      await assertRegistered(client, house, 'mcp__taskyard__', 'taskyard');
      await house.must('setup claude --remove --yes');
      assert.equal(house.read('.claude/settings.json'), settings, 'the client did not change it, so it is as it was');
      assert.equal(JSON.parse(house.read('.claude.json')).mcpServers, undefined, 'the client rewrote this one, and only our entry went');
      await client.talk(house, async (main) => {
        assert.deepEqual(offered(main, 'mcp__taskyard__'), []);
        assert.doesNotMatch(main.heard.join('\n'), /SessionStart hook additional context/);
      });
    },
  },
  {
    name: 'where the client rewrote its settings meanwhile, removing leaves nothing of ours behind',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      house.write('.claude/settings.json', { model: 'sonnet' }); // which this release takes out at its start
      await house.must('setup claude --yes');
      await client.talk(house, async () => {});
      assert.equal(JSON.parse(house.read('.claude/settings.json')).model, undefined);
      await house.must('setup claude --remove --yes');
      assert.deepEqual(JSON.parse(house.read('.claude/settings.json')), {});
    },
  },
  {
    name: 'set up for a project, the client finds server, hooks and skill; removed, every byte is as it was',
    between: BOTH,
    async play({ client, house }) {
      house.write('.claude/settings.json', '{"enableAllProjectMcpServers": true}');
      house.write('rocket/.claude/settings.json', '{\n\t"cleanupPeriodDays": 30\n}');
      const before = files(house);
      await house.must('setup claude --scope project --yes');
      await house.must('setup claude --scope project --yes');
      await assertRegistered(client, house, 'mcp__taskyard__', 'taskyard', CLAIMS);
      await house.must('setup claude --scope project --remove --yes');
      assert.deepEqual(files(house), before);
    },
  },
  {
    name: 'the plugin is installed from its marketplace, and the client finds server, hooks and skill',
    between: BOTH,
    async play({ client, house }) {
      for (const words of [['marketplace', 'add', marketplace(house)], ['install', 'taskyard@taskyard']]) {
        const ran = await client.commandLine(house, ['plugin', ...words]);
        assert.equal(ran.code, 0, ran.stdout + ran.stderr);
      }
      await assertRegistered(client, house, 'mcp__plugin_taskyard_taskyard__', 'taskyard:taskyard');
    },
  },
  {
    name: 'the client has nothing to say against plugin and marketplace',
    between: BOTH,
    async play({ client, house }) {
      const repository = marketplace(house);
      for (const folder of [repository, path.join(repository, 'plugin')]) {
        const checked = await client.commandLine(house, ['plugin', 'validate', folder]);
        assert.equal(checked.code, 0, checked.stdout + checked.stderr);
        assert.match(checked.stdout, /Validation passed\n/, 'and not with warnings');
        assert.doesNotMatch(checked.stdout, /refuses/);
      }
    },
  },
  {
    name: 'Codex finds the server, works on the list of the project and of its shell',
    between: ['codex'],
    async play({ client, house }) {
      house.write('.codex/config.toml', '# mine\nmodel_reasoning_effort = "low"\n');
      const before = house.read('.codex/config.toml');
      await house.must('setup codex --yes');
      await house.must('create Person');
      await client.talk(house, async (main) => {
        const ours = offered(main, 'mcp__taskyard__');
        for (const tool of TOOLS) assert.ok(ours.includes(tool), `${tool} is offered: ${main.tools}`);
        assert.match((await main.call('mcp__taskyard__TaskCreate', { subject: 'Codex', description: 'd' })).text, /Task #2 created/);
        const claim = await main.call('mcp__taskyard__TaskClaim', { taskId: '1' });
        assert.match(claim.text, /Task #1/);
        const shell = await main.call('exec_command', { cmd: 'taskyard list' });
        assert.match(shell.text, /Person[^]*Codex/);
        await main.call('mcp__taskyard__TaskUpdate', { taskId: '1', status: 'completed' });
      });
      assert.deepEqual(house.tasks('rocket').map(({ status }) => status), ['completed', 'pending']);
      await house.must('setup codex --remove --yes');
      assert.equal(house.read('.codex/config.toml'), before);
    },
  },
  {
    name: 'Codex passes the names of list and agent on to the server',
    between: ['codex'],
    async play({ client, house }) {
      await house.must('setup codex --yes');
      for (const env of [{ CLAUDE_CODE_TASK_LIST_ID: 'shared' }, { TASKYARD_LIST: 'shared', TASKYARD_AGENT: 'cody' }]) {
        await client.talk(
          house,
          async (main) => {
            await main.call('mcp__taskyard__TaskCreate', { subject: 'Served', description: 'd' });
            const shell = await main.call('exec_command', { cmd: 'taskyard where; taskyard list' });
            assert.match(shell.text, /shared/);
            assert.match(shell.text, /Served/);
            if (env.TASKYARD_AGENT) {
              await main.call('mcp__taskyard__TaskClaim', {});
              assert.match((await main.call('mcp__taskyard__TaskList')).text, /\(cody\)/);
            }
          },
          { env },
        );
      }
      assert.equal(house.read('.local/share/taskyard/machine.sqlite'), undefined, 'the server has the data directory of the shell');
    },
  },
  {
    name: 'Gemini CLI finds the server, works on the list of the project and of its shell',
    between: ['gemini'],
    async play({ client, house }) {
      client.prepare(house);
      const before = house.read('.gemini/settings.json');
      await house.must('setup gemini --yes');
      await house.must('create Person');
      await client.talk(house, async (main) => {
        const ours = offered(main, 'mcp_taskyard_');
        for (const tool of TOOLS) assert.ok(ours.includes(tool), `${tool} is offered: ${main.tools}`);
        assert.match((await main.call('mcp_taskyard_TaskCreate', { subject: 'Gemini', description: 'd' })).text, /Task #2 created/);
        assert.match((await main.call('mcp_taskyard_TaskClaim', { taskId: '1' })).text, /Task #1/);
        const shell = await main.call('run_shell_command', { command: 'taskyard list' });
        assert.match(shell.text, /Person[^]*Gemini/);
        await main.call('mcp_taskyard_TaskUpdate', { taskId: '1', status: 'completed' });
      }, { flags: ['--skip-trust'] });
      assert.deepEqual(house.tasks('rocket').map(({ status }) => status), ['completed', 'pending']);
      await house.must('setup gemini --remove --yes');
      assert.equal(house.read('.gemini/settings.json'), before);
    },
  },
  {
    name: 'Gemini CLI passes the names of list and agent on to the server',
    between: ['gemini'],
    async play({ client, house }) {
      client.prepare(house);
      await house.must('setup gemini --yes');
      await client.talk(
        house,
        async (main) => {
          await main.call('mcp_taskyard_TaskCreate', { subject: 'Served', description: 'd' });
          const shell = await main.call('run_shell_command', { command: 'taskyard where; taskyard list' });
          assert.match(shell.text, /shared[^]*Served/);
        },
        { flags: ['--skip-trust'], env: { TASKYARD_LIST: 'shared', TASKYARD_AGENT: 'gem' } },
      );
    },
  },
  {
    name: 'set-up says that Gemini CLI starts no servers in a folder that is not trusted',
    between: ['gemini'],
    async play({ client, house }) {
      client.prepare(house);
      const { stdout, stderr } = await house.taskyard('setup gemini --yes');
      assert.match(stdout + stderr, /trust/);
      await assert.rejects(client.talk(house, async () => {}), /not running in a trusted directory/);
    },
  },
  {
    name: 'the program finds the server where set-up registers it, and nothing of it when it is removed',
    between: ['auggie', 'copilot', 'droid', 'opencode', 'qwen'],
    async play({ client, house }) {
      for (const scope of client.scopes) {
        assert.ok(!(await client.finds(house)).found, 'it does not know it yet');
        await house.must(`setup ${client.name} --scope ${scope} --yes`);
        const { found, said } = await client.finds(house);
        assert.ok(found, `${scope}: ${said}`);
        await house.must(`setup ${client.name} --scope ${scope} --remove --yes`);
      }
      assert.ok(!(await client.finds(house)).found);
    },
  },
  {
    name: 'Goose finds the server, works on the list of the project, and keeps its other extensions',
    between: ['goose'],
    async play({ client, house }) {
      const before = '# mine\nextensions:\n  developer:\n    enabled: true\n    type: builtin\n    name: developer\n    timeout: 300\n';
      house.write('.config/goose/config.yaml', before);
      await house.must('setup goose --yes');
      await house.must('create Person');
      await client.talk(house, async (main) => {
        const ours = offered(main, 'taskyard__');
        for (const tool of TOOLS) assert.ok(ours.includes(tool), `${tool} is offered: ${main.tools}`);
        assert.ok(main.tools.some((name) => name.includes('shell')), main.tools.join(' '));
        assert.match((await main.call('taskyard__TaskCreate', { subject: 'Goose', description: 'd' })).text, /Task #2 created/);
        assert.match((await main.call('taskyard__TaskClaim', { taskId: '1' })).text, /Task #1/);
        await main.call('taskyard__TaskUpdate', { taskId: '1', status: 'completed' });
      });
      assert.deepEqual(house.tasks('rocket').map(({ status }) => status), ['completed', 'pending']);
      await house.must('setup goose --remove --yes');
      assert.equal(house.read('.config/goose/config.yaml'), before);
    },
  },
  {
    name: 'Claude Code, Codex and Gemini CLI take tasks from one list, and none is won twice',
    between: [['claude-2.1.325', 'codex', 'gemini'], ['claude-2.1.34', 'codex', 'gemini']],
    async play({ clients, house }) {
      const [claude, codex, gemini] = clients;
      gemini.prepare(house);
      for (const agent of ['claude', 'codex', 'gemini']) await house.must(`setup ${agent} --yes`);
      await house.fill(9);
      await house.must('use rocket');
      const won = [];
      const begin = meeting(3);
      const work = (before) => async (main) => {
        await begin();
        for (;;) {
          const { text } = await main.call(`${before}TaskClaim`);
          const task = text.match(/Task #(\d+):/)?.[1];
          if (!task) return;
          won.push(task);
          await main.call(`${before}TaskUpdate`, { taskId: task, status: 'completed' });
        }
      };
      await Promise.all([
        claude.talk(house, work('mcp__taskyard__'), { list: 'rocket' }),
        codex.talk(house, work('mcp__taskyard__')),
        gemini.talk(house, work('mcp_taskyard_'), { flags: ['--skip-trust'] }),
      ]);
      assert.deepEqual(won.sort(), ['1', '2', '3', '4', '5', '6', '7', '8', '9']);
      assert.ok(house.tasks('rocket').every(({ status }) => status === 'completed'));
    },
  },
];
