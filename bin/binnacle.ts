#!/usr/bin/env -S node --max-semi-space-size=16
/**
 * Starts the program if this Node.js can run it, else prints a message: an older one could not parse the program.
 * The flag above bounds the young part of the heap (`docs/performance.md`).
 */

/** The oldest version of Node that `engines` in `package.json` allows. */
const needed = [24, 15] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > needed[0] || (major === needed[0] && minor >= needed[1])) {
  const { program } = await import("./program.ts");
  await program(process.argv.slice(2), import.meta.url);
} else {
  const version = needed.join(".");
  process.stderr.write(`binnacle: needs Node.js ${version} or newer, and this is ${process.versions.node}\n`);
  process.exitCode = 1;
}
