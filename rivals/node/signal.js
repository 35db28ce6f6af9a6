// Says "ready" and waits for a line on the standard input, so that programs that compete begin together.
'use strict';

function signal() {
  return new Promise((resolve) => {
    process.stdin.once('data', () => {
      process.stdin.destroy();
      resolve();
    });
    console.log('ready');
  });
}

module.exports = { signal };
