// Every hook: those of ours that the client asks, and those of the user that the client and we ask.

import assert from 'node:assert/strict';
import fs from 'node:fs';

const BOTH = ['claude-2.1.34', 'claude-2.1.325'];
const list = 'shared';
const env = { CLAUDE_CODE_TASK_LIST_ID: list };
const AGENTS = ['--agents', JSON.stringify({ builder: { description: 'builds', prompt: 'You build.' } })];
const DELEGATE = { description: 'build', prompt: 'PART:builder build', subagent_type: 'builder', run_in_background: false };

/** What the client wrote into its log about answers it could not use. */
function complaints(house) {
  return (house.read('debug.log') ?? '').split('\n').filter((line) => /validation failed|not valid JSON/i.test(line));
}

const debug = (house) => ['--debug', 'hooks', '--debug-file', house.path('debug.log')];

/** Writes a hook that logs what it reads, and blocks tasks with the word `Forbidden` in their subject. */
function judge(house, events) {
  const script = `#!/bin/sh
read -r line
printf '%s\\n' "$line" >> '${house.path('asked.jsonl')}'
case "$line" in *'"task_subject":"Forbidden'*) echo 'not this one' >&2; exit 2;; esac
exit 0
`;
  house.write('judge.sh', script, 0o755);
  const hook = [{ hooks: [{ type: 'command', command: house.path('judge.sh') }] }];
  house.write('.claude/settings.json', { hooks: Object.fromEntries(events.map((event) => [event, hook])) });
}

/** What the judge was asked about an event. */
function asked(house, event) {
  const lines = (house.read('asked.jsonl') ?? '').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter(({ hook_event_name }) => hook_event_name === event);
}

export const conversations = [
  {
    name: 'work: an agent that claims first gets the task of its run, and no other',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.fill(2, { env });
      const main = async (part) => {
        assert.match(part.heard.join('\n'), /This run is for #1 Task 1/);
        assert.match((await part.call('mcp__taskyard__TaskClaim')).text, /^You are working on #1/);
        const other = await part.call('mcp__taskyard__TaskClaim', { taskId: '2' });
        assert.ok(other.isError && other.text.includes('this run is for #1'), other.text);
        const shell = await part.call('Bash', { command: 'taskyard claim --next --quiet && taskyard done 1', description: 'finish' });
        assert.ok(!shell.isError && /^1\b/.test(shell.text), shell.text);
      };
      const ran = await client.work(house, main, { list, flags: ['--as', 'crew', '--json'] });
      assert.deepEqual(JSON.parse(ran.stdout).completed, ['1', '2'], ran.stderr);
    },
  },
  {
    name: 'SessionStart: a new session is told what is open, and its commands act under one name',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('create Open', { env });
      const main = async (part) => {
        assert.match(part.heard.join('\n'), /SessionStart hook additional context: [^]*#1 Open/);
        const claim = await part.call('mcp__taskyard__TaskClaim', { taskId: '1' });
        assert.ok(!claim.isError, claim.text);
        const done = await part.call('Bash', { command: 'taskyard done 1', description: 'finish' });
        assert.ok(!done.isError, `the session's command is the agent that claimed over MCP: ${done.text}`);
      };
      await client.talk(house, main, { list, flags: debug(house) });
      assert.deepEqual(complaints(house), []);
    },
  },
  {
    name: 'SubagentStop: a subagent that holds unfinished work is kept, and may end when it is done',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('create Wall', { env });
      const builder = async (part) => {
        const claim = await part.call('Bash', { command: 'taskyard claim 1 --as builder', description: 'claim' });
        assert.ok(!claim.isError, claim.text);
        const feedback = await part.say('I am done.');
        assert.match(feedback, /hook feedback/);
        assert.match(feedback, /#1/);
        await part.call('Bash', { command: 'taskyard done 1 --as builder', description: 'finish' });
      };
      const main = async (part) => {
        const built = await part.call('Task', DELEGATE);
        assert.ok(!built.isError, built.text);
      };
      await client.talk(house, main, { list, flags: [...AGENTS, ...debug(house)], parts: { builder } });
      assert.deepEqual(complaints(house), []);
      assert.equal(house.tasks(list)[0].status, 'completed');
    },
  },
  {
    name: 'SubagentStop: a subagent that holds nothing ends, and the client understands the answer',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('create Wall', { env });
      const builder = async (part) => {
        await part.call('TaskList');
      };
      const main = async (part) => {
        const built = await part.call('Task', DELEGATE);
        assert.ok(!built.isError, built.text);
      };
      const session = await client.talk(house, main, { list, flags: [...AGENTS, ...debug(house)], parts: { builder } });
      assert.deepEqual(complaints(house), []);
      assert.deepEqual(session.model.parts.get('builder').remembers(/hook feedback/), []);
    },
  },
  {
    name: 'SubagentStop: what a subagent claims over MCP is its own',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('create Wall', { env });
      const builder = async (part) => {
        const claim = await part.call('mcp__taskyard__TaskClaim', { taskId: '1' });
        assert.ok(!claim.isError, claim.text);
        assert.match(await part.say('I am done.'), /hook feedback[^]*#1/);
        await part.call('mcp__taskyard__TaskUpdate', { taskId: '1', status: 'completed' });
      };
      const main = async (part) => {
        await part.call('Task', DELEGATE);
      };
      await client.talk(house, main, { list, flags: [...AGENTS, ...debug(house)], parts: { builder } });
      assert.equal(house.tasks(list)[0].status, 'completed');
    },
  },
  {
    name: 'SubagentStop: what the session itself claimed does not keep its subagent',
    between: BOTH,
    async play({ client, house }) {
      await house.must('setup claude --yes');
      await house.must('create Wall', { env });
      const builder = async (part) => {
        await part.call('mcp__taskyard__TaskList');
      };
      const main = async (part) => {
        await part.call('mcp__taskyard__TaskClaim', { taskId: '1' });
        const built = await part.call('Task', DELEGATE);
        assert.ok(!built.isError, built.text);
        // Once the session has ended, its task is released.
        assert.equal(house.tasks(list)[0].status, 'in_progress');
      };
      const session = await client.talk(house, main, { list, flags: AGENTS, parts: { builder } });
      assert.deepEqual(session.model.parts.get('builder').remembers(/hook feedback/), []);
    },
  },
  {
    name: 'TaskCompleted: a hook of the user judges what the client completes and what we complete',
    between: BOTH,
    async play({ client, house }) {
      judge(house, ['TaskCompleted']);
      await house.must('setup claude --yes');
      await client.talk(
        house,
        async (main) => {
          for (const subject of ['Forbidden', 'Allowed', 'Also']) await main.call('TaskCreate', { subject, description: 'd' });
          const native = await main.call('TaskUpdate', { taskId: '1', status: 'completed' });
          assert.match(native.text, /TaskCompleted hook feedback:\n.*not this one/);
          const served = await main.call('mcp__taskyard__TaskUpdate', { taskId: '1', status: 'completed' });
          assert.match(served.text, /not this one/);
          await main.call('TaskUpdate', { taskId: '2', status: 'completed' });
        },
        { list },
      );
      assert.equal((await house.taskyard('done 1', { env })).code, 3);
      await house.must('done 3', { env });
      assert.deepEqual(house.tasks(list).map(({ status }) => status), ['pending', 'completed', 'completed']);
      const events = asked(house, 'TaskCompleted');
      assert.deepEqual(events.map(({ task_id }) => task_id), ['1', '1', '2', '1', '3'], 'nobody was asked twice');
      const [theirs, ours] = [Object.keys(events[2]), Object.keys(events[4])];
      assert.deepEqual(theirs.filter((key) => ours.includes(key)), ours, 'what a hook reads of us, it reads of the client');
      if (client.isOld) assert.deepEqual(ours, theirs);
    },
  },
  {
    name: 'TaskCreated: a hook of the user judges what the client makes and what we make',
    between: ['claude-2.1.325'],
    async play({ client, house }) {
      judge(house, ['TaskCreated']);
      await client.talk(
        house,
        async (main) => {
          const native = await main.call('TaskCreate', { subject: 'Forbidden', description: 'd' });
          assert.match(native.text, /TaskCreated hook feedback:\n.*not this one/);
          await main.call('TaskCreate', { subject: 'Allowed', description: 'd' });
        },
        { list },
      );
      assert.equal((await house.taskyard('create Forbidden', { env })).code, 3);
      assert.equal((await house.json('create Also', { env })).task.id, '4', 'a number that was judged away is not given out again');
      assert.deepEqual(house.tasks(list).map(({ subject }) => subject), ['Allowed', 'Also']);
      const [, theirs, , ours] = asked(house, 'TaskCreated').map((event) => Object.keys(event));
      assert.deepEqual(theirs.filter((key) => ours.includes(key)), ours);
    },
  },
  {
    name: 'TeammateIdle: a hook of the user keeps a teammate of the client at work in a team that has a member of ours',
    between: ['claude-2.1.34'],
    async play({ client, house }) {
      const once = `mkdir '${house.path('kept')}' 2>/dev/null && { echo 'ana still waits for you' >&2; exit 2; }; exit 0`;
      house.write('.claude/settings.json', { hooks: { TeammateIdle: [{ hooks: [{ type: 'command', command: once }] }] } });
      const bob = async (part) => {
        await house.must('team join launch --as ana');
        assert.match(await part.say('I am idle.'), /TeammateIdle hook feedback:[^]*ana still waits for you/);
        const word = { type: 'message', recipient: 'ana', content: 'Here I am', summary: 'here' };
        await part.call('SendMessage', word);
        assert.match(await house.must('inbox --as ana --json'), /Here I am/);
        await part.call('SendMessage', { ...word, recipient: 'team-lead', content: 'bob is finished' });
      };
      const main = async (part) => {
        await part.call('TeamCreate', { team_name: 'launch' });
        await part.call('Task', { description: 'work', prompt: 'PART:bob begin', subagent_type: 'general-purpose', name: 'bob', team_name: 'launch' });
        await part.wait(/bob is finished/);
      };
      const teams = { CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1' };
      await client.talk(house, main, { env: teams, flags: ['--teammate-mode', 'in-process'], parts: { bob } });
    },
  },
  {
    name: 'every event: no hook of ours disturbs a session that has a hook for everything',
    between: BOTH,
    async play({ client, house }) {
      const events = 'PreToolUse PostToolUse PostToolUseFailure UserPromptSubmit SessionStart SessionEnd Stop SubagentStart SubagentStop TaskCompleted';
      judge(house, events.split(' '));
      await house.must('setup claude --yes');
      const builder = async (part) => {
        await part.call('TaskList');
      };
      await client.talk(
        house,
        async (main) => {
          await main.call('mcp__taskyard__TaskCreate', { subject: 'Wall', description: 'd' });
          await main.call('mcp__taskyard__TaskGet', {});
          await main.call('Task', DELEGATE);
          await main.call('TaskUpdate', { taskId: '1', status: 'completed' });
        },
        { list, flags: [...AGENTS, ...debug(house)], parts: { builder } },
      );
      for (const event of ['PreToolUse', 'PostToolUse', 'UserPromptSubmit', 'SessionStart', 'Stop', 'SubagentStart', 'SubagentStop', 'TaskCompleted']) {
        assert.ok(asked(house, event).length > 0, `${event} was asked`);
      }
      assert.deepEqual(complaints(house), []);
      await house.must('setup claude --remove --yes');
      const kept = JSON.parse(fs.readFileSync(house.path('.claude/settings.json'), 'utf8'));
      assert.deepEqual(Object.keys(kept.hooks), events.split(' '), 'the hooks of the user are as they were');
      assert.doesNotMatch(JSON.stringify(kept), /taskyard hook/);
    },
  },
];
