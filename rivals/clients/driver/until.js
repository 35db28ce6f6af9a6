// Waiting for something to become true, and for each other.

/** How long a conversation waits for anything, in seconds: far beyond any load of the machine. */
export const PATIENCE = 300;

/** Returns the first thing the look finds; throws when nothing was found in time. */
export async function until(what, look, seconds = PATIENCE) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${seconds} s in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Returns a function that waits until so many have called it. */
export function meeting(count) {
  let left = count;
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  return () => {
    left -= 1;
    if (left === 0) open();
    return gate;
  };
}
