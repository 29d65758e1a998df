/** Events that a reflector delivers, and its retries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { eventOfLine } from "./received-event.ts";
import { reflect } from "./reflector.ts";
import { RestClient } from "./rest-client.ts";
import type { ClientResponse, Transport } from "./transport.ts";

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

const answer = (body: object, code = 200): ClientResponse => ({ code, body: Buffer.from(JSON.stringify(body)) });
const refusal = answer({ kind: "Status", code: 403 }, 403);

/** Follows a collection for `ms`, and returns the numbers of lists and watches. */
async function follow(ms: number, stream: Transport["stream"]) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const counts = { lists: 0, watches: 0, failures: 0 };
  const client = new RestClient({
    request() {
      counts.lists++;
      return Promise.resolve(answer({ metadata: { resourceVersion: "1" }, items: [] }));
    },
    stream(request, onEvent) {
      counts.watches++;
      return stream(request, onEvent);
    },
  });
  const running = reflect({
    client,
    path: "/api/v1/secrets",
    clock,
    signal: stop.signal,
    replaced: () => undefined,
    changed: () => undefined,
    failed: () => void counts.failures++,
  });
  await turns();
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100);
    await turns();
  }
  stop.abort();
  await running;
  return counts;
}

void test("a watch that is refused, that ends at once or that fails is asked for less and less often", async () => {
  const lost = Buffer.from(JSON.stringify({ type: "ERROR", object: { metadata: {} } }));
  const streams: Readonly<Record<string, Transport["stream"]>> = {
    refused: () => Promise.resolve(refusal),
    ended: () => Promise.resolve(answer({})),
    lost: (_request, onEvent) => Promise.resolve(onEvent(eventOfLine(lost))).then(() => answer({})),
    failed: () => Promise.reject(new Error("gone")),
  };
  for (const [name, stream] of Object.entries(streams)) {
    const { lists, watches, failures } = await follow(60_000, stream);
    assert.ok(watches >= 10 && watches <= 13, `${name}: ${watches}`);
    // The version from which the watch began is still good when the watch ended or the connection was lost.
    assert.equal(lists, name === "ended" || name === "failed" ? 1 : watches, name);
    assert.equal(failures, name === "refused" || name === "failed" ? watches : 0, name);
  }
});

void test("where only deletions matter, no other change is told", async () => {
  const events = ["ADDED", "MODIFIED", "DELETED", "ADDED"].map((type, at) => ({
    type,
    object: { metadata: { name: `${type}-${at}`, resourceVersion: `${at + 2}` } },
  }));
  for (const deletionsOnly of [false, true]) {
    const lines: string[] = [];
    const clock = new FakeClock();
    const stop = new AbortController();
    const running = reflect({
      client: new RestClient({
        request: () => Promise.resolve(answer({ metadata: { resourceVersion: "1" }, items: [] })),
        async stream({ signal }, onEvent) {
          for (const event of events) onEvent(eventOfLine(Buffer.from(JSON.stringify(event))));
          await new Promise((resolve) => signal!.addEventListener("abort", resolve));
          return answer({});
        },
      }),
      path: "/api/v1/secrets",
      deletionsOnly,
      clock,
      signal: stop.signal,
      replaced: () => undefined,
      changed: (_type, { metadata }) => void lines.push(metadata.name ?? ""),
    });
    await turns();
    stop.abort();
    await running;
    const expected = events.filter(({ type }) => !deletionsOnly || type === "DELETED");
    assert.deepEqual(
      lines,
      expected.map(({ object }) => object.metadata.name),
    );
  }
});

void test("a watch that lasts is asked for once", async () => {
  const counts = await follow(60_000, ({ signal }) => {
    return new Promise((resolve) => signal!.addEventListener("abort", () => resolve(answer({}))));
  });
  assert.deepEqual(counts, { lists: 1, watches: 1, failures: 0 });
});
