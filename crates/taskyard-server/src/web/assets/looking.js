// Looking tasks up by what people type of them.

import { call, ofList } from "./acts.js";

/** Returns the open tasks that some words mean, or the task of that number, whatever its state. */
export async function tasksLike(words, limit) {
  const query = new URLSearchParams({ limit });
  const number = words.match(/^#?(\d+)$/);
  if (number) query.set("query", `id:${number[1]}`);
  else {
    if (words) query.set("query", words.split(/\s+/).map((word) => JSON.stringify(word)).join(" "));
    for (const status of ["pending", "in_progress"]) query.append("status", status);
  }
  try {
    return (await call("GET", `${ofList("/tasks")}?${query}`)).tasks;
  } catch {
    return [];
  }
}

/** Returns the tasks of all lists that some words mean, each with its list. */
export async function tasksEverywhere(words, limit) {
  try {
    const { tasks, hits } = await call("GET", `/search?${new URLSearchParams({ query: words })}`);
    return tasks.slice(0, limit).map((task, at) => ({ task, list: hits[at].list }));
  } catch {
    return [];
  }
}
