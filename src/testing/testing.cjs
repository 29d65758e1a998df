/**
 * The entry `binnacle/testing` for `require`. Jest runs tests in a context of its own, which loads no ES modules, so
 * this file asks Node's loader: the server runs outside of that context, once for all test files of a worker.
 */
"use strict";
const { loadModule } = require("./load-module.cjs");

module.exports = loadModule("binnacle/testing", __filename, "./testing.js");
