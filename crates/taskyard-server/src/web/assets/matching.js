// Finding things by what people type of them: in any order, in part, and with a slip of the finger.

const plain = (text) => text.toLowerCase().normalize("NFKD").replace(/\p{M}/gu, "");
const wordsOf = (text) => plain(text).split(/[^\p{L}\p{N}#]+/u).filter(Boolean);

/** Returns how well a typed word is found in another; 0 if it is not. */
function likeness(typed, word) {
  if (word === typed) return 10;
  if (word.startsWith(typed)) return 8 - Math.min(3, (word.length - typed.length) / 4);
  if (typed.length > 1 && word.includes(typed)) return 4;
  const allowed = typed.length > 7 ? 2 : typed.length > 3 ? 1 : 0;
  // What is still being typed is compared with the beginning.
  return allowed && (distance(typed, word) <= allowed || distance(typed, word.slice(0, typed.length)) <= allowed) ? 2 : 0;
}

/** Returns how many letters are wrong, missing, too many or exchanged. */
function distance(one, other) {
  if (Math.abs(one.length - other.length) > 2) return 3;
  let [before, last] = [[], Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let at = 1; at <= other.length; at++) {
      const isSame = one[row - 1] === other[at - 1];
      next[at] = Math.min(last[at] + 1, next[at - 1] + 1, last[at - 1] + !isSame);
      if (row > 1 && at > 1 && one[row - 1] === other[at - 2] && one[row - 2] === other[at - 1]) next[at] = Math.min(next[at], before[at - 2] + 1);
    }
    [before, last] = [last, next];
  }
  return last[other.length];
}

/** Returns how well typed words are found in a text, in any order; 0 if one of them is not. */
export function score(typed, text) {
  const words = wordsOf(text);
  let sum = 0;
  for (const [place, one] of wordsOf(typed).entries()) {
    let best = 0;
    for (const [at, word] of words.entries()) best = Math.max(best, likeness(one, word) + (at === place ? 0.5 : 0));
    if (best < 1) return 0;
    sum += best;
  }
  return sum || 1;
}

/** Returns the items that typed words are found in, best first; all of them, as they are, if nothing is typed. */
export function ranked(typed, items, textOf) {
  if (!wordsOf(typed).length) return items;
  const scored = items.map((item) => ({ item, score: score(typed, textOf(item)) })).filter((one) => one.score);
  return scored.sort((one, two) => two.score - one.score).map((one) => one.item);
}
