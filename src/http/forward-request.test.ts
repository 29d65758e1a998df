/** Identity headers of forwarded requests; `test/aggregation/` has the rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { forwardRequest, identityHeaders } from "./forward-request.ts";

test("name, groups and extra values are headers of their own, the uid where it is wanted", () => {
  const user = { name: "alice", uid: "7", groups: ["a", "b"], extra: { "acme.io/Project": ["x", "y"], "ä %": ["z"] } };
  const pairs = [
    ["X-Remote-User", "alice"],
    ["X-Remote-Group", "a"],
    ["X-Remote-Group", "b"],
    ["X-Remote-Extra-acme.io%2FProject", "x"],
    ["X-Remote-Extra-acme.io%2FProject", "y"],
    ["X-Remote-Extra-%C3%A4%20%25", "z"],
  ];
  const usual = pairs.flat();
  assert.deepEqual(identityHeaders(user, false), usual);
  assert.deepEqual(identityHeaders(user, true), ["X-Remote-User", "alice", "X-Remote-Uid", "7", ...usual.slice(2)]);
});

test("texts are sent as UTF-8", () => {
  const [, name] = identityHeaders({ name: "jürgen", groups: [] }, false);
  assert.equal(Buffer.from(name!, "latin1").toString(), "jürgen");
});

test("a user whose identity headers would be changed on the way is not sent", () => {
  for (const text of ["root\r\nX-Remote-Group: system:masters", "root ", " root", "\troot", "ro\0ot", "ro\u007fot"]) {
    for (const user of [
      { name: text, groups: [] },
      { name: "a", groups: [text] },
      { name: "a", groups: [], extra: { key: [text] } },
    ]) {
      assert.throws(() => identityHeaders(user, false), /cannot be sent in a header/, JSON.stringify(user));
    }
  }
});

test("discovery is not waited for as long as the rest, and paths of many slashes cost no more than their length", async () => {
  const waits = async (path: string): Promise<number | undefined> => {
    let headMs: number | undefined;
    const send = async (_: unknown, call: { readonly headMs: number }): Promise<never> => {
      headMs = call.headMs;
      throw new Error("no answer");
    };
    const request = {
      method: "GET",
      path,
      query: new URLSearchParams(),
      headers: {},
      headerValues: () => [],
      remoteAddress: "",
      auditId: "",
      user: { name: "a", groups: [] },
      body: async () => Buffer.alloc(0),
    };
    const address = { host: "127.0.0.1", port: 1 };
    const target = { address, serverName: "a", forwarder: { send } };
    await forwardRequest(request as never, target as never, { headMs: 60_000, sendsUid: false } as never);
    return headMs;
  };
  assert.equal(await waits("/apis/a.example/v1"), 5000);
  assert.equal(await waits("/apis/a.example/v1//"), 5000);
  assert.equal(await waits("/apis/a.example/v1/things"), 60_000);
  await growsInProportion(50_000, (count) => waits(`/apis/${"/".repeat(count)}x`));
});
