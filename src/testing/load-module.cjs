/** Loads ES modules by Node's own loader, also inside of Jest. Old Nodes get one sentence. */
"use strict";

/** The oldest version of Node that `engines` in `package.json` allows. */
const needed = [24, 15];

exports.loadModule = (what, from, path) => {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
    throw new Error(`${what} needs Node.js ${needed.join(".")} or newer, and this is ${process.versions.node}`);
  }
  // In Jest, `process` and `node:module` are its own; a script in Node's main context gets Node's.
  const main = require("node:vm").runInThisContext("process");
  return main.getBuiltinModule("node:module").createRequire(from)(path);
};
