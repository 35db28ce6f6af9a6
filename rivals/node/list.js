// node list.js DIRECTORY
//
// The client's TaskList in a process of its own: reads every task file, parses it, checks it against the schema, sorts by
// number. Prints how many tasks there are.
'use strict';

const store = require('./store');

console.log(store.list(process.argv[2]).length);
