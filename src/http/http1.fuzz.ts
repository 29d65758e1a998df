/**
 * Random bytes on HTTP/1.1 connections: valid requests come out as they went in, however they were cut; and beside
 * node's own parser, what both take is the same requests, what node refuses is taken only for a reason listed here.
 */
import assert from "node:assert/strict";
import { createServer, METHODS, type Server } from "node:http";
import { after, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { Http1Connection } from "./http1/connection.ts";
import { Outbox } from "./http1/outbox.ts";
import { fakeSocket } from "./http1/fake-socket.ts";
import type { RequestBody } from "./http1/request-body.ts";
import type { RequestHead } from "./http1/request-head.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 4_000);

interface Request {
  readonly method: string;
  readonly target: string;
  /** As sent. */
  readonly minor: number;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  body: string;
  /** Its body has come to its end. */
  complete: boolean;
}

interface Outcome {
  readonly requests: readonly Request[];
  readonly refused: boolean;
}

function pick<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random.next() * list.length)]!;
}

const below = (random: Random, bound: number): number => Math.floor(random.next() * bound);

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const targets = ["/", "/api/v1/pods?watch=1&a=%2f", "*", "/a/b;c=d", "http://a/b", "https://a.b:443/?x", "//", "/~[|]"];
const fields = [
  "Accept: */*",
  "accept:a",
  "Cookie: a=b",
  "X-Empty:",
  "constructor: a",
  "__proto__: b",
  "X-Blank: \t a \t b\t",
  "Authorization: Bearer x",
  "X-High: \xc3\xa9",
  // Not with `Connection: upgrade`: node reads no request after that, whatever it was told.
  "Upgrade: h2c",
  "Connection: keep-alive",
];
const bodies = [
  "",
  "a",
  "\r\n",
  "0\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
  "\0\xff".repeat(50),
  "x".repeat(300),
];

/** The bytes of a valid request, and what is to come out. It does not end the connection. */
function validRequest(random: Random): { readonly text: string; readonly request: Request } {
  const method = pick(random, methods);
  const target = pick(random, targets);
  const minor = random.next() < 0.9 ? 1 : 0;
  const lines = Array.from({ length: below(random, 4) }, () => pick(random, fields));
  lines.splice(below(random, lines.length + 1), 0, `${pick(random, ["Host", "host", "HOST"])}: a`);
  if (minor === 0) lines.push("Connection: keep-alive");
  const body = pick(random, bodies);
  let sent = body;
  if (minor === 1 && random.next() < 0.5) {
    lines.splice(below(random, lines.length + 1), 0, `Transfer-Encoding: ${pick(random, ["chunked", "Chunked"])}`);
    sent = inChunks(random, body);
  } else if (body !== "" || random.next() < 0.5) {
    lines.splice(below(random, lines.length + 1), 0, `Content-Length:${pick(random, ["", " "])}${body.length}`);
  }
  const emptyLine = random.next() < 0.1 ? "\r\n" : "";
  return {
    text: `${emptyLine}${method} ${target} HTTP/1.${minor}\r\n${lines.join("\r\n")}\r\n\r\n${sent}`,
    request: {
      method,
      target,
      minor,
      headers: lines.flatMap((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, "")];
      }),
      body,
      complete: true,
    },
  };
}

function inChunks(random: Random, body: string): string {
  let text = "";
  for (let at = 0; at < body.length; ) {
    const size = 1 + below(random, Math.min(20, body.length - at));
    const digits = random.next() < 0.5 ? size.toString(16) : size.toString(16).toUpperCase().padStart(3, "0");
    text += `${digits}${pick(random, ["", "", ";a", ";a=b"])}\r\n${body.slice(at, at + size)}\r\n`;
    at += size;
  }
  return `${text}0${pick(random, ["", ";a"])}\r\n${pick(random, ["", "", "A: b\r\nC:\r\n"])}\r\n`;
}

/** Cut anywhere: into single bytes, into a few pieces, or not at all. */
function cut(random: Random, text: string): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  const longest = pick(random, [1, 10, 200, bytes.length]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = 1 + below(random, longest);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

const limits = { headerBytes: 64 * 1024, headerCount: 1_000, headerMs: 1_000, requestMs: 1_000, idleMs: 1_000 };

/** What our side makes of the bytes. `turns`: time passes between one piece and the next, and before a reply. */
async function ours(pieces: readonly Buffer[], random: Random): Promise<Outcome> {
  const turns = random.next() < 0.2;
  const client = fakeSocket();
  const requests: Request[] = [];
  const handler = {
    request(connection: Http1Connection, head: RequestHead, body: RequestBody | undefined) {
      const { method, target, minor, rawHeaders } = head;
      const request: Request = { method, target, minor, headers: rawHeaders, body: "", complete: body === undefined };
      requests.push(request);
      const reply = (): void => connection.replied(head.keepAlive ? "keep" : "close");
      const replySoon = turns ? () => void setImmediate(reply) : () => queueMicrotask(reply);
      if (body === undefined) {
        if (random.next() < 0.5) reply();
        else replySoon();
        return;
      }
      body.read({
        take: (piece) => void (request.body += piece.toString("latin1")),
        end() {
          request.complete = true;
          replySoon();
        },
        lost: () => assert.fail("nobody left"),
      });
    },
    refused() {},
  };
  new Http1Connection(client.socket, handler, limits, new FakeClock(), new Outbox());
  await turn();
  for (const piece of pieces) {
    client.send(piece);
    if (turns && pieces.length < 50) await turn();
  }
  // Whoever stops here with work left over has a bug: only a reply that takes a turn is waited for.
  for (let before = -1; turns && before < requests.length; await turn()) before = requests.length;
  await turn();
  const refused = client.sent !== "";
  if (refused) assert.match(client.sent, /^HTTP\/1\.1 [45]\d\d [A-Z][^]*Connection: close\r\n\r\n[45]\d\d [A-Z]/);
  client.socket.destroy();
  return { requests, refused };
}

const byNode = new WeakMap<object, { readonly requests: Request[]; refused: boolean }>();
const server: Server = createServer({
  maxHeaderSize: limits.headerBytes,
  keepAliveTimeout: 0,
  requestTimeout: 0,
  headersTimeout: 0,
});
server.timeout = 0;
server.on("request", (incoming, response) => {
  const request: Request = {
    method: incoming.method!,
    target: incoming.url!,
    minor: incoming.httpVersionMinor,
    headers: incoming.rawHeaders,
    body: "",
    complete: false,
  };
  byNode.get(incoming.socket)!.requests.push(request);
  incoming.on("data", (piece: Buffer) => (request.body += piece.toString("latin1")));
  incoming.on("end", () => {
    request.complete = true;
    response.end();
  });
});
server.on("clientError", (_error, socket) => {
  byNode.get(socket)!.refused = true;
});
after(() => server.close());

/** What node's server makes of them. */
async function nodes(pieces: readonly Buffer[]): Promise<Outcome> {
  const client = fakeSocket(1_000_000);
  const outcome = { requests: [] as Request[], refused: false };
  byNode.set(client.socket, outcome);
  server.emit("connection", client.socket);
  await turn();
  for (const piece of pieces) client.send(piece);
  for (let before = -1, answered = -1; before < outcome.requests.length || answered < client.sent.length; ) {
    before = outcome.requests.length;
    answered = client.sent.length;
    await turn();
    await turn();
  }
  // Some refusals are replies like others.
  if (/HTTP\/1\.1 4\d\d /.test(client.sent)) outcome.refused = true;
  client.socket.destroy();
  return outcome;
}

test(`valid requests come out as they went in, wherever they were cut, seed ${seed}`, async (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const sent = Array.from({ length: 1 + below(random, 6) }, () => validRequest(random));
    const text = sent.map((one) => one.text).join("");
    const { requests, refused } = await ours(cut(random, text), random);
    assert.deepEqual(
      requests,
      sent.map(({ request }) => request),
      JSON.stringify(text),
    );
    assert.equal(refused, false, JSON.stringify(text));
  }
});

const scraps = [
  "\r\n",
  "\r",
  "\n",
  "\r\n\r\n",
  " ",
  "\t",
  "\0",
  "\x7f",
  "\x80",
  "\x0b",
  ":",
  ";",
  ",",
  "0",
  "5",
  "-",
  "/",
  "HTTP/1.0",
  "HTTP/1.1",
  "HTTP/0.9",
  "X-A: b\r\n",
  " folded\r\n",
  "Host: b\r\n",
  "Content-Length: 5\r\n",
  "Content-Length: 05, 5\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: gzip, chunked\r\n",
  "Transfer-Encoding: identity\r\n",
  "Connection: close\r\n",
  "Expect: 100-continue\r\n",
  "Expect: more\r\n",
  "CONNECT",
  "0\r\n\r\n",
  "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
];

/** A few changes at random places, where the line ends are more often than elsewhere. */
function mutated(random: Random, text: string): string {
  let out = text;
  for (let left = 1 + below(random, 3); left > 0; left--) {
    let at = below(random, out.length + 1);
    if (random.next() < 0.5) at = Math.max(0, out.indexOf(pick(random, ["\r", "\n", ":", " "]), at));
    const length = random.next() < 0.5 ? 1 : below(random, 12);
    const kept = out.slice(at + length);
    switch (below(random, 5)) {
      case 0:
        out = out.slice(0, at) + kept;
        break;
      case 1:
        out = out.slice(0, at) + pick(random, scraps) + kept;
        break;
      case 2:
        out = out.slice(0, at) + pick(random, scraps) + out.slice(at);
        break;
      case 3:
        out = out.slice(0, at + length) + out.slice(at);
        break;
      default:
        out = out.slice(0, at) + String.fromCharCode(below(random, 256)) + out.slice(at + 1);
    }
  }
  return out;
}

/** Why we take a request that node refuses; `text` is all that was sent. */
const reasons: { readonly [why: string]: (request: Request, text: string) => boolean } = {
  "node knows a list of methods, for us each token is one": ({ method }) => !METHODS.includes(method),
  "node wants a target in ASCII": ({ target }) => /[\x80-\xff]/.test(target),
  "node takes no blanks after the coding, RFC 9112 does": (_request, text) => /chunked[ \t]+\r/i.test(text),
};

test(`what node takes too is the same, and what it refuses is taken for a reason only, seed ${seed}`, async (context) => {
  const random = seededRandom(seed);
  const seen = { same: 0, nodeRefused: 0, weRefused: 0 };
  for (let run = 0; run < runs; run++) {
    const valid = Array.from({ length: 1 + below(random, 3) }, () => validRequest(random).text).join("");
    const text = mutated(random, valid);
    const mine = await ours(cut(random, text), random);
    const theirs = await nodes(cut(random, text));
    const shown = (): string => JSON.stringify({ text, mine, theirs }, undefined, 1);
    for (let i = 0; ; i++) {
      const our = mine.requests[i];
      const their = theirs.requests[i];
      if (our?.complete === true && their?.complete === true) {
        assert.deepEqual(our, their, shown());
        seen.same++;
        continue;
      }
      // One of the two stopped here, or both did.
      if (our?.complete === true) {
        assert.ok(theirs.refused, `node waits where we go on: ${shown()}`);
        assert.ok(
          Object.values(reasons).some((holds) => holds(our, text)),
          `node refuses what we take: ${shown()}`,
        );
        seen.nodeRefused++;
      } else if (their?.complete === true) {
        assert.ok(mine.refused, `we wait where node goes on: ${shown()}`);
        seen.weRefused++;
      }
      break;
    }
  }
  context.diagnostic(JSON.stringify(seen));
  assert.ok(Math.min(seen.same, seen.nodeRefused * 100, seen.weRefused * 100) > runs / 4, "the generator is of no use");
});
