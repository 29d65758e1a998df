/** Identity headers of forwarded requests; `test/aggregation/` has the rest. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { identityHeaders } from "./forward-request.ts";

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
