#!/usr/bin/env node
// Runs the program of the package for this system. Nothing runs when this is installed.
'use strict';
const { spawn } = require('node:child_process');

const isMusl = () => process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
const name = `leafgate-${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;

let program;
try {
  program = require.resolve(`${name}/bin/leafgate`);
} catch {
  const all = Object.keys(require('../package.json').optionalDependencies).join(', ');
  console.error(
    `leafgate: the package ${name} is missing. npm leaves optional packages out where it was told to (--omit=optional, ` +
      `--no-optional) or where a lockfile was made on another system: install it by name. There are: ${all}`,
  );
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
// A terminal sends its signal to both; others send it to this process alone.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`leafgate: ${program} cannot be run: ${error.message}`);
  process.exit(1);
});
child.on('exit', (status, signal) => {
  if (!signal) process.exit(status);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
