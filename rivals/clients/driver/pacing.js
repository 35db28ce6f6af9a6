// Calling a tool of ours at a steady rate.

/** Calls a tool of ours again and again, at most so often a second, until told to stop; returns what was acknowledged. */
export async function keepCalling(mcp, rate, isOver, input) {
  const acknowledged = [];
  const began = Date.now();
  for (let number = 0; !isOver(); number += 1) {
    const given = input(number);
    const { isError } = await mcp.call('TaskUpdate', given);
    if (!isError) acknowledged.push(given);
    const due = began + ((number + 1) * 1000) / rate;
    if (Date.now() < due) await new Promise((resolve) => setTimeout(resolve, due - Date.now()));
  }
  return { acknowledged, rate: (acknowledged.length * 1000) / (Date.now() - began) };
}
