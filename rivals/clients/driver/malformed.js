// Random calls of the client's tools whose input is mostly wrong in some way, the same for the same seed.

const TEXTS = ['', ' ', 'x', 'line\ntwo', '  padded '];
const NO_TEXTS = [5, null, [], {}, true, ['a']];

/** Which keys an input of a tool may have, and how likely each is. */
const KEYS = {
  TaskCreate: {
    subject: 0.35, description: 0.35, activeForm: 0.12, active_form: 0.15, title: 0.25, name: 0.2, content: 0.25, task: 0.3, metadata: 0.12,
    bogus: 0.1, status: 0.1, priority: 0.05, prompt: 0.12, subagent_type: 0.05, id: 0.05, owner: 0.05, tasks: 0.02, todos: 0.02,
  },
  TaskUpdate: { taskId: 0.45, id: 0.4, task_id: 0.3, active_form: 0.4, activeForm: 0.2, subject: 0.3, status: 0.15, bogus: 0.1, owner: 0.1 },
  TaskGet: { taskId: 0.6, id: 0.4, task_id: 0.3, bogus: 0.1 },
  TaskStop: { task_id: 0.4, taskId: 0.3, id: 0.3, bash_id: 0.3, shell_id: 0.2, bogus: 0.15 },
};

/** Returns so many calls, half of them of TaskCreate. */
export function malformed(seed, count) {
  let state = seed;
  const random = () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const one = (values) => values[Math.floor(random() * values.length)];
  const value = (key) => {
    if (/id$/i.test(key)) return one(['1', '1', '1', '', ' ', '#1', 1, null, '9']);
    if (key === 'status') return one(['pending', 'in_progress', 'done', '', 5]);
    if (key === 'metadata' && random() < 0.5) return { k: 1 };
    if (key === 'task' && random() < 0.5) return input({ subject: 0.2, description: 0.2, title: 0.2, name: 0.2, content: 0.2, prompt: 0.1, bogus: 0.1 });
    return one(random() < 0.85 ? TEXTS : NO_TEXTS);
  };
  const input = (keys) => {
    const chosen = Object.keys(keys).filter((key) => random() < keys[key]);
    for (let last = chosen.length - 1; last > 0; last -= 1) {
      const other = Math.floor(random() * (last + 1));
      [chosen[last], chosen[other]] = [chosen[other], chosen[last]];
    }
    return Object.fromEntries(chosen.map((key) => [key, value(key)]));
  };
  const tools = ['TaskCreate', 'TaskCreate', 'TaskCreate', 'TaskCreate', 'TaskUpdate', 'TaskUpdate', 'TaskGet', 'TaskStop'];
  return Array.from({ length: count }, (_, index) => {
    const tool = tools[index % tools.length];
    return [tool, input(KEYS[tool])];
  });
}
