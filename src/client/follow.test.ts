/** Following a collection: pauses, expired pages, bounds of what waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { follow, type FollowStep } from "./follow.ts";
import { eventOfLine, type ReceivedEvent } from "./received-event.ts";
import { RestClient } from "./rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

const answer = (body: object, code = 200): ClientResponse => ({ code, body: Buffer.from(JSON.stringify(body)) });
const status = (code: number, details: object = {}): object => ({ kind: "Status", code, details });
const object = (version: number): object => ({ metadata: { name: "a", resourceVersion: String(version) } });
const event = (type: string, of: object) => eventOfLine(Buffer.from(JSON.stringify({ type, object: of })));
const list = (version: number, more: object = {}): ClientResponse =>
  answer({ metadata: { resourceVersion: String(version), ...more }, items: [] });

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Follows a collection over a transport; `advance` lets time pass. */
function start(transport: Transport) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const steps: FollowStep<{ metadata: object }>[] = [];
  const failures: unknown[] = [];
  const running = (async () => {
    const options = {
      client: new RestClient(transport),
      path: "/api/v1/pods",
      clock,
      signal: stop.signal,
    };
    const all = follow<{ metadata: object }>({
      ...options,
      random: seededRandom(1),
      failed: (error) => failures.push(error),
    });
    for await (const step of all) steps.push(step);
  })();
  return {
    steps,
    failures,
    async advance(ms: number) {
      for (let passed = 0; passed < ms; passed += 50) {
        await turns();
        clock.advance(50);
      }
      await turns();
    },
    async stop() {
      stop.abort();
      await running;
    },
  };
}

const untilAborted = ({ signal }: ClientRequest): Promise<ClientResponse> =>
  new Promise((resolve) => {
    signal?.addEventListener("abort", () => resolve(answer({})));
  });

void test("watches that fail or end at once are asked for less and less often", async () => {
  const failing: readonly Transport["stream"][] = [
    () => Promise.reject(new Error("cut")),
    () => Promise.resolve(answer({})),
    () => Promise.resolve(answer(status(500), 500)),
    (_request, onEvent) => {
      onEvent(event("ERROR", status(500)));
      return Promise.resolve(answer({}));
    },
  ];
  for (const stream of failing) {
    const counts = { lists: 0, watches: 0 };
    const following = start({
      request: () => Promise.resolve(list(++counts.lists)),
      stream(request, onEvent) {
        counts.watches++;
        return stream(request, onEvent);
      },
    });
    await following.advance(60_000);
    assert.ok(counts.lists === 1 || counts.lists === counts.watches);
    assert.ok(counts.watches > 6 && counts.watches < 20, String(counts.watches));
    await following.stop();
  }
});

void test("a server that forgets at once is asked less and less often as well", async () => {
  let lists = 0;
  const following = start({
    request: () => Promise.resolve(list(++lists)),
    stream: () => Promise.resolve(answer(status(410), 410)),
  });
  await following.advance(60_000);
  assert.ok(lists > 6 && lists < 20, String(lists));
  await following.stop();
});

void test("a server that has lost the version, as after a restored backup, is listed again", async () => {
  const versions: string[] = [];
  let lists = 0;
  const tooNew = status(504, { causes: [{ reason: "ResourceVersionTooLarge" }] });
  const following = start({
    request: () => Promise.resolve(list(lists++ === 0 ? 900 : 5)),
    stream(request) {
      const version = new URLSearchParams(request.path.split("?")[1]).get("resourceVersion")!;
      versions.push(version);
      return version === "900" ? Promise.resolve(answer(tooNew, 504)) : untilAborted(request);
    },
  });
  await following.advance(30_000);
  assert.equal(versions.at(-1), "5");
  assert.equal(lists, 2);
  await following.stop();
});

void test("when a page expires, the whole collection is read in one answer of one version", async () => {
  const asked: string[] = [];
  const following = start({
    request({ path }) {
      asked.push(path);
      if (path.includes("continue")) return Promise.resolve(answer(status(410), 410));
      return Promise.resolve(path.includes("limit") ? list(1, { continue: "next" }) : list(2));
    },
    stream: untilAborted,
  });
  await turns();
  assert.deepEqual(asked, ["/api/v1/pods?limit=500", "/api/v1/pods?limit=500&continue=next", "/api/v1/pods"]);
  assert.equal(following.steps.length, 1);
  await following.stop();
});

/** Follows a collection that has `last` changes of objects with so many characters. Returns where watches began. */
async function startsOfWatches(last: number, characters: number): Promise<readonly number[]> {
  const starts: number[] = [];
  const text = "x".repeat(characters);
  const following = start({
    request: () => Promise.resolve(list(0)),
    stream(request, onEvent) {
      const from = Number(new URLSearchParams(request.path.split("?")[1]).get("resourceVersion"));
      starts.push(from);
      for (let version = from + 1; version <= last && request.signal?.aborted !== true; version++) {
        onEvent(event("MODIFIED", { ...object(version), text }));
      }
      return from === last ? untilAborted(request) : Promise.resolve(answer({}));
    },
  });
  await following.advance(1000);
  const versions = following.steps.flatMap((step) =>
    step.type === "LISTED" ? [] : [(step.object.metadata as { resourceVersion: string }).resourceVersion],
  );
  assert.deepEqual(
    versions,
    Array.from({ length: last }, (_, at) => String(at + 1)),
  );
  await following.stop();
  return starts;
}

void test("more events than may wait end the watch, which is resumed where the caller is", async () => {
  assert.deepEqual(await startsOfWatches(25_000, 0), [0, 10_000, 20_000, 25_000]);
  const [first, second = 0, ...more] = await startsOfWatches(100, 1_000_000);
  assert.equal(first, 0);
  assert.ok(second > 60 && second < 70, `64 MiB wait, not ${second} MB`);
  assert.deepEqual(more, [100]);
});

void test("events that the caller has begun to take count as waiting", async () => {
  const stop = new AbortController();
  let watch: AbortSignal | undefined;
  let send = (_event: ReceivedEvent): void => undefined;
  const following = follow<{ metadata: object }>({
    client: new RestClient({
      request: () => Promise.resolve(list(0)),
      stream(request, onEvent) {
        send = onEvent;
        watch = request.signal;
        return untilAborted(request);
      },
    }),
    path: "/api/v1/pods",
    clock: new FakeClock(),
    random: seededRandom(1),
    signal: stop.signal,
  });
  await following.next();
  const first = following.next();
  await turns();
  const text = "x".repeat(1_000_000);
  let sent = 0;
  const push = (): void => send(event("MODIFIED", { ...object(++sent), text }));
  while (sent < 40) push();
  await first;
  while (sent < 100 && watch?.aborted === false) push();
  assert.ok(sent > 60 && sent < 70, `64 MiB wait, not ${sent} MB`);
  stop.abort();
  await following.return(undefined);
});

void test("a bookmark moves the version on and is no step", async () => {
  const starts: string[] = [];
  const following = start({
    request: () => Promise.resolve(list(1)),
    stream(request, onEvent) {
      starts.push(new URLSearchParams(request.path.split("?")[1]).get("resourceVersion")!);
      if (starts.length > 1) return untilAborted(request);
      onEvent(event("BOOKMARK", object(7)));
      return Promise.resolve(answer({}));
    },
  });
  await following.advance(1000);
  assert.deepEqual(starts, ["1", "7"]);
  assert.equal(following.steps.length, 1);
  await following.stop();
});

void test("events that the caller has taken are not kept, also when it is never the fastest", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const events: WeakRef<object>[] = [];
  let send = (_event: ReceivedEvent): void => undefined;
  const push = (): void => {
    const one = event("MODIFIED", object(events.length));
    events.push(new WeakRef(one));
    send(one);
  };
  const stop = new AbortController();
  const following = follow<{ metadata: object }>({
    client: new RestClient({
      request: () => Promise.resolve(list(0)),
      stream(request, onEvent) {
        send = onEvent;
        return untilAborted(request);
      },
    }),
    path: "/api/v1/pods",
    clock: new FakeClock(),
    random: seededRandom(1),
    signal: stop.signal,
  });
  await following.next();
  const first = following.next();
  await turns();
  for (let count = 0; count < 100; count++) push();
  await first;
  for (let count = 0; count < 5000; count++) {
    push();
    await following.next();
  }
  await turns();
  collectGarbage();
  const kept = events.filter((one) => one.deref() !== undefined).length;
  assert.ok(kept < 1000, `${kept} are kept`);
  stop.abort();
  await following.return(undefined);
});

void test("the version of a watch is one parameter, whatever the server calls it", async () => {
  const paths: string[] = [];
  const following = start({
    request: () => Promise.resolve(answer({ metadata: { resourceVersion: "5&watch=false x" }, items: [] })),
    stream(request) {
      paths.push(request.path);
      return untilAborted(request);
    },
  });
  await turns();
  assert.deepEqual(
    paths.map((path) => path.split("&").at(-1)),
    ["resourceVersion=5%26watch%3Dfalse%20x"],
  );
  await following.stop();
});
