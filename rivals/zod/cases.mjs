// Random inputs for the client's tools, and what zod finds wrong with each, one JSON object per line:
//   npm install --no-save zod@4.6.7 && node cases.mjs > ../../crates/taskyard-core/tests/fixtures/zod.jsonl
import { z } from "zod";

const status = z.enum(["pending", "in_progress", "completed"]);
const schemas = {
  TaskCreate: z.strictObject({
    subject: z.string(),
    description: z.string(),
    activeForm: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  TaskGet: z.strictObject({ taskId: z.string() }),
  TaskUpdate: z.strictObject({
    taskId: z.string(),
    subject: z.string().optional(),
    description: z.string().optional(),
    activeForm: z.string().optional(),
    status: status.or(z.literal("deleted")).optional(),
    addBlocks: z.array(z.string()).optional(),
    addBlockedBy: z.array(z.string()).optional(),
    owner: z.string().optional(),
    metadata: z.record(z.string(), z.unknown()).optional(),
  }),
  TaskList: z.strictObject({}),
  TodoWrite: z.strictObject({
    todos: z.array(
      z.object({
        content: z.string().min(1, "Content cannot be empty"),
        status,
        activeForm: z.string().min(1, "Active form cannot be empty"),
      }),
    ),
  }),
};

// A generator that gives the same numbers on every machine.
let state = 20261115;
const random = (below) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
};
const pick = (items) => items[random(items.length)];

const anything = (depth = 0) =>
  pick([
    () => "1",
    () => "",
    () => "é\n\"x\"",
    () => 5,
    () => -1.5,
    () => ({ length: random(2) }),
    () => 1e21,
    () => true,
    () => null,
    () => (depth > 2 ? [] : Array.from({ length: random(3) }, () => anything(depth + 1))),
    () => (depth > 2 ? {} : { k: anything(depth + 1), "2": 1, "1": anything(depth + 1) }),
  ])();

const item = () => {
  const made = {};
  for (const key of ["content", "status", "activeForm", "id"]) {
    if (random(6) > 0) made[key] = key === "status" ? pick(["pending", "in_progress", "completed", "later", null]) : "x";
    if (random(5) === 0) made[key] = anything();
  }
  return made;
};

const value = (key) => {
  if (random(3) === 0) return anything();
  if (key === "status") return pick(["pending", "completed", "deleted", "done", "", "Pending"]);
  if (key.startsWith("add")) return Array.from({ length: random(4) }, () => (random(3) ? "7" : anything()));
  if (key === "metadata") return { a: anything() };
  if (key === "todos") return Array.from({ length: random(4) }, () => (random(6) ? item() : anything()));
  return "text";
};

const input = (schema) => {
  if (random(40) === 0) return anything();
  const made = {};
  for (const key of Object.keys(schema.shape)) if (random(4) > 0) made[key] = value(key);
  for (const key of ["bogus", "10", "2", "a`b\"c", "constructor"]) if (random(12) === 0) made[key] = anything();
  return made;
};

for (let count = 0; count < 400; count += 1) {
  const tool = pick(Object.keys(schemas));
  const given = input(schemas[tool]);
  const result = schemas[tool].safeParse(given);
  const outcome = result.success ? { data: result.data } : { issues: JSON.parse(result.error.message) };
  console.log(JSON.stringify({ tool, input: given, ...outcome }));
}
