/** Tests of events that arrive as lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventOfLine } from "./received-event.ts";

test("the type of an event is known before its object is decoded, and the object once it is asked for", () => {
  const line = Buffer.from('{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a"}}}');
  const event = eventOfLine(line);
  assert.equal(event.type, "MODIFIED");
  assert.equal(event.decoded, undefined);
  assert.deepEqual(event.object(), { kind: "Pod", metadata: { name: "a" } });
  assert.equal(event.decoded, event.object());
  assert.equal(event.json(), line);
});

test("servers may write the type where they like, and what is not JSON is an error", () => {
  const event = eventOfLine(Buffer.from('{ "object": {"metadata":{"name":"b"}}, "type": "DELETED" }'));
  assert.equal(event.type, "DELETED");
  assert.deepEqual(event.object(), { metadata: { name: "b" } });
  assert.throws(() => eventOfLine(Buffer.from("<html>")), SyntaxError);
});
