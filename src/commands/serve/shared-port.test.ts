/** The port that serving processes share: who gets a connection, and how many wait. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { systemClock } from "#std/clock.ts";
import type { WaitingLimits } from "#server/processes.ts";
import type { ToProcess } from "./messages.ts";
import { SharedPort } from "./shared-port.ts";

const limits: WaitingLimits = { connections: 100, connectionsPerAddress: 100, waitMs: 60_000 };

/** A process that is given connections. Resolves each call of `next` with one. */
class Process {
  readonly #given: Socket[] = [];
  readonly #asked: ((socket: Socket) => void)[] = [];

  id = -1;

  send(message: ToProcess, socket: unknown): void {
    assert.ok(message.type === "connection" && socket instanceof Socket);
    this.id = message.id;
    const asked = this.#asked.shift();
    if (asked === undefined) this.#given.push(socket);
    else asked(socket);
  }

  get count(): number {
    return this.#given.length;
  }

  next(): Promise<Socket> {
    const socket = this.#given.shift();
    return socket === undefined ? new Promise((resolve) => this.#asked.push(resolve)) : Promise.resolve(socket);
  }
}

async function opened(t: TestContext, some: Partial<WaitingLimits> = {}) {
  const log = { warn: () => undefined, error: () => undefined };
  const port = new SharedPort({ limits: { ...limits, ...some }, clock: systemClock, log });
  const clients: Socket[] = [];
  t.after(() => {
    port.close();
    for (const client of clients) client.destroy();
  });
  const { port: number } = await port.open({ host: "127.0.0.1", port: 0, backlog: 100 });
  const client = async (): Promise<Socket> => {
    const socket = connect(number, "127.0.0.1");
    socket.on("error", () => undefined);
    clients.push(socket);
    await once(socket, "connect");
    return socket;
  };
  return { port, client };
}

/** Whether these are the two ends of one connection. */
const isSame = (client: Socket, accepted: Socket): boolean => client.localPort === accepted.remotePort;

test("a process gets its next connection when it has taken the last one", async (t) => {
  const { port, client } = await opened(t);
  const [a, b] = [new Process(), new Process()];
  port.join(a);
  port.join(b);
  const clients = [await client(), await client(), await client()];
  const first = await a.next();
  assert.ok(isSame(clients[0]!, first));
  assert.ok(isSame(clients[1]!, await b.next()));
  assert.equal(a.count + b.count, 0);
  port.took(b, b.id, true);
  assert.ok(isSame(clients[2]!, await b.next()));
  assert.equal(first.destroyed, false);
  port.took(a, a.id, true);
  assert.equal(first.destroyed, true);
});

test("a connection that a process has not taken before its end goes to another one", async (t) => {
  const { port, client } = await opened(t);
  const [a, b, c] = [new Process(), new Process(), new Process()];
  port.join(a);
  const [first, second] = [await client(), await client()];
  assert.ok(isSame(first, await a.next()));
  port.leave(a);
  port.join(b);
  assert.ok(isSame(first, await b.next()));
  port.took(b, b.id, false);
  port.join(c);
  assert.ok(isSame(first, await c.next()));
  port.took(c, c.id, true);
  assert.ok(isSame(second, await c.next()));
  port.took(a, a.id, true);
  assert.equal(b.count, 0);
});

test("beyond the bound the oldest connection that waits is closed", async (t) => {
  const { port, client } = await opened(t, { connections: 2 });
  const first = await client();
  const closed = once(first.resume(), "close");
  const second = await client();
  const third = await client();
  await closed;
  const process = new Process();
  port.join(process);
  assert.ok(isSame(second, await process.next()));
  port.took(process, process.id, true);
  assert.ok(isSame(third, await process.next()));
});

test("an address has its own bound, beyond which its new connections are closed", async (t) => {
  const { port, client } = await opened(t, { connectionsPerAddress: 1 });
  const first = await client();
  const second = await client();
  await once(second.resume(), "close");
  const process = new Process();
  port.join(process);
  assert.ok(isSame(first, await process.next()));
  port.took(process, process.id, true);
  const third = await client();
  assert.ok(isSame(third, await process.next()));
});

test("a connection that nobody takes is closed", async (t) => {
  const { port, client } = await opened(t, { waitMs: 200 });
  const first = await client();
  await once(first.resume(), "close");
  const process = new Process();
  port.join(process);
  const second = await client();
  assert.ok(isSame(second, await process.next()));
  const { id } = process;
  await once(second.resume(), "close");
  // The process may go on, and say then that it has taken the connection.
  const third = await client();
  assert.ok(isSame(third, await process.next()));
  port.took(process, id, true);
  await client();
  assert.equal(process.count, 0);
});

test("the port is closed when the last process takes no more", async (t) => {
  const { port, client } = await opened(t);
  const process = new Process();
  port.join(process);
  port.closeWithLast();
  await client();
  await process.next();
  port.took(process, process.id, true);
  port.leave(process);
  await assert.rejects(client(), { code: "ECONNREFUSED" });
});

test("a port that cannot be held can be asked for again", async (t) => {
  const { port } = await opened(t);
  const log = { warn: () => undefined, error: () => undefined };
  const other = new SharedPort({ limits, clock: systemClock, log });
  t.after(() => other.close());
  const at = { host: "127.0.0.1", backlog: 100 };
  await assert.rejects(other.open({ ...at, port: port.number! }), { code: "EADDRINUSE" });
  assert.equal(other.number, undefined);
  assert.equal((await other.open({ ...at, port: 0 })).port, other.number);
});
