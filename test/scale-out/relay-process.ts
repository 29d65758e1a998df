/**
 * A process between servers and etcd, and between the members of etcd. Each link is a port that leads to another; the
 * parent tells how the bytes between two nodes pass. Messages are those of `relay.ts`.
 */
import { createServer, connect, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Link, RelayCommand, Rule } from "./relay.ts";

const passing: Rule = { mode: "pass", delayMs: 0 };
const rules = new Map<string, Rule>();
/** The names of members by their ids in etcd. */
let members: Readonly<Record<string, string>> = {};

const ruleOf = (from: string, to: string): Rule => rules.get(`${from}>${to}`) ?? passing;

/** One direction of a connection. Bytes that are held stay in the order in which they came. */
class Pipe {
  readonly #from: Socket;
  readonly #to: Socket;
  readonly #rule: () => Rule;
  #queue: { readonly bytes: Buffer | undefined; readonly dueMs: number }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(from: Socket, to: Socket, rule: () => Rule) {
    this.#from = from;
    this.#to = to;
    this.#rule = rule;
    from.on("data", (bytes: Buffer) => this.#add(bytes));
    from.once("end", () => this.#add(undefined));
  }

  /** `undefined` is the end of the direction. */
  #add(bytes: Buffer | undefined): void {
    this.#queue.push({ bytes, dueMs: performance.now() + this.#rule().delayMs });
    if (this.#queue.length > 1000) this.#from.pause();
    this.move();
  }

  /** Hands on what may pass now. */
  move(): void {
    clearTimeout(this.#timer);
    if (this.#rule().mode !== "pass") return;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const waitMs = next.dueMs - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.move(), waitMs);
        return;
      }
      this.#queue.shift();
      if (next.bytes === undefined) this.#to.end();
      else this.#to.write(next.bytes);
    }
    if (this.#from.isPaused()) this.#from.resume();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#queue = [];
  }
}

/** A connection through the relay. */
class Passage {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #to: string;
  readonly #pipes: readonly Pipe[];
  #from: string;

  constructor(near: Socket, link: Link) {
    this.#near = near;
    this.#to = link.to;
    this.#from = link.from ?? "unknown";
    this.#far = connect({ host: "127.0.0.1", port: link.port, noDelay: true });
    // A member says who it is in the head of each request.
    if (link.from === undefined) near.once("data", (bytes: Buffer) => this.#identify(bytes));
    this.#pipes = [
      new Pipe(near, this.#far, () => ruleOf(this.#from, this.#to)),
      new Pipe(this.#far, near, () => ruleOf(this.#to, this.#from)),
    ];
    for (const socket of [near, this.#far]) {
      socket.on("error", () => this.close());
      socket.once("close", () => this.#closed());
    }
  }

  #identify(bytes: Buffer): void {
    const id = /^x-server-from: *([0-9a-f]+)/im.exec(bytes.toString("latin1"))?.[1] ?? "";
    this.#from = members[id] ?? this.#from;
    this.check();
  }

  #closed(): void {
    // Bytes that are held, and the end itself, arrive when the link passes again, as over a network.
    if (this.#near.destroyed && this.#far.destroyed) passages.delete(this);
    else if (this.#isOpen()) for (const pipe of this.#pipes) pipe.move();
  }

  #isOpen(): boolean {
    return ruleOf(this.#from, this.#to).mode === "pass" && ruleOf(this.#to, this.#from).mode === "pass";
  }

  /** Applies the rules that hold now. */
  check(): void {
    const modes = [ruleOf(this.#from, this.#to).mode, ruleOf(this.#to, this.#from).mode];
    if (modes.includes("reset")) this.close();
    else for (const pipe of this.#pipes) pipe.move();
  }

  close(): void {
    passages.delete(this);
    for (const pipe of this.#pipes) pipe.stop();
    this.#near.destroy();
    this.#far.destroy();
  }
}

const passages = new Set<Passage>();

async function open(links: readonly Link[]): Promise<readonly number[]> {
  const ports: number[] = [];
  for (const link of links) {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      const passage = new Passage(socket, link);
      passages.add(passage);
      passage.check();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    ports.push((server.address() as AddressInfo).port); // a TCP server has a port
  }
  return ports;
}

process.on("message", (command: RelayCommand) => {
  if (command.do === "open") {
    void open(command.links).then((ports) => process.send!({ ports }));
    return;
  }
  if (command.do === "name") members = command.members;
  else if (command.do === "pass-all") rules.clear();
  else rules.set(`${command.from}>${command.to}`, command.rule);
  for (const passage of passages) passage.check();
});
process.once("disconnect", () => process.exit());
