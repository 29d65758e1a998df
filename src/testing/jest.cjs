/** The entry `binnacle/testing/jest` for `require`, in the context in which Jest runs a test file. */
"use strict";
const { loadModule } = require("./load-module.cjs");

const { useServer } = loadModule("binnacle/testing/jest", __filename, "./jest.js");

exports.useServer = (options = {}) => useServer(options, globalThis);
