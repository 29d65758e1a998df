/** Messages of connections that fail before there is a handshake or an answer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { connectionProblem } from "./connection-problem.ts";

test("a failed connection names what was dialled or looked up, and how it ended", () => {
  const cases = [
    [{ code: "ENOTFOUND", hostname: "other.example" }, "dial tcp: lookup other.example: no such host"],
    [{ code: "EAI_AGAIN" }, "dial tcp: lookup hook.n.svc: no such host"],
    [{ code: "ECONNREFUSED", address: "::1", port: 1 }, "dial tcp [::1]:1: connect: connection refused"],
    [{ code: "ECONNRESET", syscall: "read" }, "read: connection reset by peer"],
    [{ code: "ECONNRESET" }, "EOF"],
  ] as const;
  for (const [failure, expected] of cases) {
    assert.equal(connectionProblem(Object.assign(new Error("x"), failure), { host: "hook.n.svc:443" }), expected);
  }
});
