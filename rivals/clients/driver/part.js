// One agent's part in a conversation: what its model says, as a function that waits for what the agent answers.
//
//   async (main) => {
//     const made = await main.call('TaskCreate', { subject: 'A', description: 'd' });   // {text, isError}
//     const told = await main.say('waiting');                                         // what it is told next
//   }

/** Answers requests of one agent with the moves of its part. */
export class Part {
  #play;
  #running;
  #waiting; // the promise of the play for what the agent does about its last move
  #moves = []; // moves that no request has asked for yet
  #asker; // the request that waits for a move
  #seen = new Map(); // texts the agent was told, and how often
  #finished = false;

  /** Everything the agent was told: prompts, reminders, feedback of hooks, messages of teammates. */
  heard = [];
  /** The names of the tools that the agent offers its model. */
  tools = [];

  constructor(name, play) {
    this.name = name;
    this.#play = play;
    this.ended = new Promise((resolve, reject) => {
      this.#running = { resolve, reject, started: false };
    });
  }

  /** Has the agent call one tool, and returns its answer. */
  async call(tool, input = {}) {
    const [answer] = await this.calls([[tool, input]]);
    return answer;
  }

  /** Has the agent call several tools in one message, and returns their answers. */
  async calls(list) {
    const calls = list.map(([tool, input]) => ({ id: `toolu_${crypto.randomUUID().replaceAll('-', '')}`, tool, input }));
    const { results } = await this.#move({ calls });
    return calls.map(({ id, tool }) => results.get(id) ?? { text: `no answer of ${tool}`, isError: true });
  }

  /** Ends the agent's turn, and returns what it is told next, joined. */
  async say(text) {
    const { told } = await this.#move({ text });
    return told.join('\n');
  }

  /** Ends turn after turn until something the agent is told matches, and returns that. */
  async wait(pattern) {
    for (;;) {
      const told = await this.say('waiting');
      if (pattern.test(told)) return told;
    }
  }

  /** Whether everything of it was played. */
  get isPlayed() {
    return this.#finished;
  }

  /** Returns what was heard so far and matches. */
  remembers(pattern) {
    return this.heard.filter((text) => pattern.test(text));
  }

  /** Takes a request of the agent and returns the next move. */
  async answer({ results, texts, tools }) {
    this.tools = tools;
    const told = this.#news(texts);
    if (this.#finished) return { text: 'done' };
    if (!this.#running.started) {
      this.#running.started = true;
      Promise.resolve()
        .then(() => this.#play(this))
        .then(() => this.#finish(), (error) => this.#finish(error));
    } else if (this.#waiting) {
      const { move, resolve } = this.#waiting;
      const answered = move.calls ? move.calls.some(({ id }) => results.has(id)) : told.length > 0;
      if (!answered) return { text: 'mock' }; // a question beside the conversation, or one asked twice
      this.#waiting = undefined;
      resolve({ results, told });
    }
    return this.#moves.shift() ?? new Promise((resolve) => (this.#asker = resolve));
  }

  #move(move) {
    return new Promise((resolve) => {
      this.#waiting = { move, resolve };
      this.#give(move);
    });
  }

  #give(move) {
    if (!this.#asker) return this.#moves.push(move);
    const asker = this.#asker;
    this.#asker = undefined;
    asker(move);
  }

  #finish(error) {
    this.#finished = true;
    this.#give({ text: 'done' });
    if (error) this.#running.reject(error);
    else this.#running.resolve();
  }

  #news(texts) {
    const now = new Map();
    const fresh = [];
    for (const text of texts) {
      now.set(text, (now.get(text) ?? 0) + 1);
      if (now.get(text) > (this.#seen.get(text) ?? 0)) {
        this.#seen.set(text, now.get(text));
        fresh.push(text);
      }
    }
    this.heard.push(...fresh);
    return fresh;
  }
}
