// Conversations that say what must be true and is not yet, with what they wait for. They are played and told of, and fail nothing.
// One that is played without a mistake is to be taken off this list. `NAME · PROGRAM` waits with that program alone.

export const waiting = new Map([]);
