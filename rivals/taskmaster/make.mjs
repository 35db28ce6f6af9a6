// Makes a project with Task Master's own commands, and prints what it counts. With `list` it starts task 2 of a project that is there, and
// counts. Usage: node make.mjs FOLDER [list]
import fs from 'node:fs';
import path from 'node:path';

import { addDependency } from 'task-master-ai/scripts/modules/dependency-manager.js';
import addSubtask from 'task-master-ai/scripts/modules/task-manager/add-subtask.js';
import addTask from 'task-master-ai/scripts/modules/task-manager/add-task.js';
import listTasks from 'task-master-ai/scripts/modules/task-manager/list-tasks.js';
import setTaskStatus from 'task-master-ai/scripts/modules/task-manager/set-task-status.js';

const projectRoot = path.resolve(process.argv[2]);
const file = path.join(projectRoot, '.taskmaster', 'tasks', 'tasks.json');
const tag = 'master';
const quiet = { info() {}, warn() {}, error() {}, debug() {}, success() {} };
const context = { projectRoot, tag, mcpLog: quiet };

const told = console.log;
console.log = () => {};

async function make() {
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, JSON.stringify({ master: { tasks: [], metadata: {} } }));
	const add = (title, dependencies, priority) =>
		addTask(file, null, dependencies, priority, context, 'json', { title, description: `About ${title}`, details: 'Much', testStrategy: 'Try it' }, false, tag);
	await add('Design', [], 'high');
	await add('Build', [1], 'medium');
	await add('Ship', [1], 'low');
	await add('Dropped', [], 'low');
	await addSubtask(file, 2, null, { title: 'Parser', description: '', status: 'pending', dependencies: [] }, false, context);
	await addSubtask(file, 2, null, { title: 'Printer', description: '', status: 'pending', dependencies: [1] }, false, context);
	await addDependency(file, 3, 2, context);
	for (const [id, status] of [['1', 'done'], ['2', 'in-progress'], ['4', 'cancelled'], ['2.1', 'done']]) {
		await setTaskStatus(file, id, status, context, tag);
	}
}

if (process.argv[3] === 'list') {
	await setTaskStatus(file, '2', 'in-progress', context, tag);
} else {
	await make();
}
const listed = listTasks(file, null, null, true, 'json', tag, context);
told(JSON.stringify(listed.stats));
process.exit(0);
