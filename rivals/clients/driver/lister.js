// Agents whose own command says which servers they find: most of them start each one to do so.

import path from 'node:path';

/** What each program is asked, and what it says of a server that it has started, or at least found. */
const KINDS = {
  auggie: { words: ['mcp', 'list'], says: /✓ taskyard\b/ },
  // In a project it finds servers once it was told on a terminal to trust the folder.
  copilot: { words: ['mcp', 'list'], says: /^ *taskyard \(local\)/m, scopes: ['user'] },
  droid: { words: ['mcp', 'list'], says: /taskyard\s+stdio\s+connected/ },
  // Its script wants to be prepared by another one when it is installed; the program itself does not.
  opencode: { words: ['mcp', 'list'], says: /✓ taskyard\b.*connected/, program: `opencode-${process.platform}-${process.arch}/bin/opencode` },
  qwen: { words: ['mcp', 'list'], says: /✓.*taskyard: .* - Connected/ },
};

/** One of them, installed in a folder. */
export class Lister {
  constructor(version, folder) {
    this.version = version;
    this.name = path.basename(folder);
    const { program = `.bin/${this.name}`, scopes = ['user', 'project'] } = KINDS[this.name];
    this.program = path.join(folder, 'node_modules', program);
    this.scopes = scopes;
  }

  /** Asks the program which servers it has in the project, and returns whether ours is among them, with everything it said. */
  async finds(house) {
    const { words, says } = KINDS[this.name];
    const { stdout, stderr } = await house.run(this.program, words);
    const said = (stdout + stderr).replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, '');
    return { found: says.test(said), said };
  }
}
