// Looking tasks up by what people type of them. A new lookup ends the one before, whose answer nobody waits for any more.

import { lookUp, ofList } from "./acts.js";

let underWay = new AbortController();

/** Returns what the server answers; nothing if it does not understand the words, or if another lookup began meanwhile. */
async function found(path) {
  underWay.abort();
  underWay = new AbortController();
  return lookUp(path, underWay.signal).catch(() => ({ tasks: [], hits: [] }));
}

/** Returns the query that seeks words as they are: without quotes `done` is a state, and a word with a colon a key. */
const quoted = (words) => words.split(/\s+/).map((word) => JSON.stringify(word)).join(" ");

/** Returns the open tasks that some words mean, or the task of that number, whatever its state. */
export async function tasksLike(words, limit) {
  const query = new URLSearchParams({ limit });
  const number = words.match(/^#?(\d+)$/);
  if (number) query.set("query", `id:${number[1]}`);
  else {
    if (words) query.set("query", quoted(words));
    for (const status of ["pending", "in_progress"]) query.append("status", status);
  }
  return (await found(`${ofList("/tasks")}?${query}`)).tasks;
}

/** Returns the tasks of all lists that some words mean, each with its list. */
export async function tasksEverywhere(words, limit) {
  const { tasks, hits } = await found(`/search?${new URLSearchParams({ query: quoted(words) })}`);
  return tasks.slice(0, limit).map((task, at) => ({ task, list: hits[at].list }));
}
