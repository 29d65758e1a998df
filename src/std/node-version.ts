/** The check of the version of Node for entries of the package: one sentence instead of an error about missing parts. */

/** The oldest version of Node that `engines` in `package.json` allows. */
const needed = [24, 15] as const;

/** Throws `Error` when this Node is too old. `what` names the entry. */
export function checkNodeVersion(what: string): void {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > needed[0] || (major === needed[0] && minor >= needed[1])) return;
  throw new Error(`${what} needs Node.js ${needed.join(".")} or newer, and this is ${process.versions.node}`);
}
