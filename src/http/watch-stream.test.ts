/**
 * Watches of clients that stop reading (initial objects are released, and read again at the same revision), and of readers in
 * the server's process.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { storageReadError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { Entry, WatchCache } from "#storage/watch-cache.ts";
import { openMemoryStore } from "#storage/memory.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import type { StreamSink } from "./api-request.ts";
import { slowMs } from "./api-request.ts";
import { type EventObjects, type FrameEncoder, WatchStream } from "./watch-stream.ts";

const prefix = "/registry/core/configmaps/n/";
const encoder: FrameEncoder = {
  isText: true,
  headBytes: 0,
  name: "text",
  event: (type, entry) => Buffer.from(`${type} ${entry.key.slice(prefix.length)} ${entry.value.toString()}\n`),
  bookmark: (revision) => Buffer.from(`BOOKMARK ${revision}\n`),
  error: ({ reason = "" }) => Buffer.from(`ERROR ${reason}\n`),
};

const put = (cache: WatchCache, name: string, text: string): Promise<unknown> =>
  cache.put(prefix + name, cache.get(prefix + name)?.revision ?? 0, {
    ...withoutRevision(Buffer.from(text)),
    decode: () => undefined,
  });

/** A client that reads nothing until `read` is called. */
class SlowSink implements StreamSink {
  text = "";
  blocked = false;
  isReading = false;
  onDrain: (() => void) | undefined;
  onClose: (() => void) | undefined;

  write(bytes: Buffer): boolean {
    this.text += bytes.toString();
    this.blocked = !this.isReading;
    return !this.blocked;
  }

  end(): void {
    this.text += "END\n";
  }

  async readAll(): Promise<void> {
    this.isReading = true;
    this.blocked = false;
    this.onDrain?.();
    for (let round = 0; round < 20; round++) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function open(filter?: (name: string) => boolean) {
  const clock = new FakeClock();
  const cache = await openMemoryStore({ clock });
  for (let i = 0; i < 300; i++) await put(cache, `c${String(i).padStart(3, "0")}`, "x".repeat(200));
  const { entries, revision } = cache.range(prefix);
  const sink = new SlowSink();
  let hasBegun = false;
  const passes =
    filter === undefined ? undefined : (entry: { readonly key: string }) => filter(entry.key.slice(prefix.length));
  const stream = new WatchStream({
    cache,
    prefix,
    exact: false,
    initial: passes === undefined ? entries : entries.filter(passes),
    after: revision,
    filter: passes,
    encoder,
    bookmarks: false,
    initialEventsEnd: revision,
    timeoutMs: 1e6,
    clock,
  });
  stream.onBegun = () => (hasBegun = true);
  stream.open(sink);
  return { cache, clock, sink, hasBegun: () => hasBegun, count: entries.length };
}

const lines = ({ text }: SlowSink, start: string): string[] =>
  text.split("\n").filter((line) => line.startsWith(start));

test("a client that does not read gives up its seats, and gets all objects as they were once it reads", async () => {
  const { cache, clock, sink, hasBegun, count } = await open();
  assert.ok(lines(sink, "ADDED").length < 100, "little waits for a client that reads nothing");
  assert.equal(hasBegun(), false);
  clock.advance(slowMs);
  assert.equal(hasBegun(), true);
  await put(cache, "c299", "changed");
  await sink.readAll();
  assert.equal(lines(sink, "ADDED").length, count);
  assert.match(lines(sink, "ADDED c299")[0]!, /x{200}$/, "as it was when the watch began");
  assert.deepEqual(lines(sink, "MODIFIED"), ["MODIFIED c299 changed"]);
  assert.ok(sink.text.indexOf("BOOKMARK") > sink.text.lastIndexOf("ADDED"));
});

test("objects that a selector excludes stay out after a pause", async () => {
  const { clock, sink } = await open((name) => name.endsWith("7"));
  clock.advance(slowMs);
  await sink.readAll();
  assert.equal(lines(sink, "ADDED").length, 30);
});

test("when the history has gone on without the client, it is told to start anew", async () => {
  const { cache, clock, sink } = await open();
  clock.advance(slowMs);
  await put(cache, "c299", "changed");
  await cache.compact(cache.revision);
  await sink.readAll();
  assert.equal(lines(sink, "ERROR")[0], "ERROR Expired");
  assert.ok(sink.text.endsWith("END\n"));
});

test("objects that cannot be encoded once a webhook has converted them end the stream, initial ones and events", async () => {
  const cache = await openMemoryStore({ clock: new FakeClock() });
  await put(cache, "first", "broken");
  const { entries, revision } = cache.range(prefix);
  for (const initial of [entries, []]) {
    const sink = new SlowSink();
    sink.isReading = true;
    const stream = new WatchStream({
      cache,
      prefix,
      exact: false,
      initial,
      after: revision,
      filter: undefined,
      convert: () => Promise.resolve(undefined),
      encoder: {
        ...encoder,
        event() {
          throw storageReadError("first", "it is broken");
        },
      },
      bookmarks: false,
      initialEventsEnd: undefined,
      timeoutMs: 1e6,
      clock: new FakeClock(),
    });
    stream.open(sink);
    await put(cache, "second", "broken");
    await sink.readAll();
    assert.equal(sink.text, "ERROR StorageReadError\nEND\n");
  }
});

test("a reader in this process is handed the events that a socket would be sent, and nothing is encoded for it", async () => {
  const cache = await openMemoryStore({ clock: new FakeClock() });
  const handed: string[] = [];
  let encoded = 0;
  const metadata = { name: "n" };
  const objects: EventObjects = {
    peekDecoded: () => undefined,
    object: (entry) => ({ apiVersion: "v1", kind: "ConfigMap", metadata, text: entry.value.toString() }),
  };
  const options = {
    cache,
    prefix,
    exact: false,
    initial: [],
    after: cache.revision,
    filter: ({ value }: Entry) => value.toString().startsWith("marked"),
    bookmarks: false,
    initialEventsEnd: undefined,
    timeoutMs: 1e6,
    clock: new FakeClock(),
  };
  const event: FrameEncoder["event"] = (type, entry, revision) => {
    encoded++;
    return encoder.event(type, entry, revision);
  };
  const reader: StreamSink = {
    write: () => true,
    blocked: false,
    onDrain: undefined,
    onClose: undefined,
    end() {},
    event: (received) => void handed.push(`${received.type} ${(received.object() as { text?: string }).text}`),
  };
  new WatchStream({ ...options, encoder: { ...encoder, event, objects } }).open(reader);
  const sink = new SlowSink();
  new WatchStream({ ...options, encoder }).open(sink);
  for (const text of ["other", "marked 1", "marked 2", "other again", "marked 3"]) await put(cache, "a", text);
  await cache.remove(prefix + "a", cache.get(prefix + "a")!.revision);
  await sink.readAll();
  const sent = sink.text.trimEnd().split("\n");
  assert.deepEqual(
    handed,
    sent.map((line) => line.replace(" a ", " ")),
  );
  assert.equal(handed.length, 5);
  assert.equal(encoded, 0);
});
