/** Requests that a connection ends before they are sent. Answers are tested with servers, in `test/client/`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Dispatcher } from "undici";
import { ConnectionError } from "../connection-error.ts";
import { exchange } from "./exchange.ts";

/** Returns the error of a request that still waits for its turn when the pool fails. */
async function failureOf(error: Error): Promise<unknown> {
  const dispatch: Dispatcher["dispatch"] = (_options, handler) => {
    handler.onResponseError?.(null as never, error); // the handler does not use it
    return true;
  };
  const request = { method: "POST", path: "/", headers: [], address: "https://api", bodyBytesMax: 1 } as const;
  const pool = { dispatch } as Dispatcher; // nothing else of it is used
  return exchange(pool, { ...request, headers: [] }, () => undefined).catch((failure: unknown) => failure);
}

test("a request that was not sent when its connection ended can be sent again, also a write", async () => {
  for (const code of ["ERR_HTTP2_SESSION_ERROR", "ERR_HTTP2_PING_CANCEL", "ECONNRESET", "UND_ERR_SOCKET"]) {
    const failure = await failureOf(Object.assign(new Error("it ended"), { code }));
    assert.ok(failure instanceof ConnectionError, code);
    assert.deepEqual([failure.code, failure.sent, failure.temporary], [code, false, true]);
    assert.equal(failure.message, "the connection to https://api was lost before an answer (it ended)");
  }
});

test("the error of a connection that cannot be opened stays as it is", async () => {
  const own = new ConnectionError("closed", { code: "ECONNRESET", sent: false, temporary: true });
  const source = new Error("the authorities cannot be read");
  assert.equal(await failureOf(own), own);
  assert.equal(await failureOf(source), source);
});
