/**
 * A flood of bad tokens: several connections send requests with different tokens at a given rate, without waiting for
 * answers. It uses HTTP/1.1 only, since the server accepts one bad token per HTTP/2 connection. `floodAside(flood)`
 * runs the flood in a separate process, so that the caller can measure good requests at the same time.
 */
import { execFile } from "node:child_process";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { Endpoint } from "./connection.ts";

export interface Flood extends Endpoint {
  readonly kind: BadToken;
  /** A good token of a service account, which `forged` tokens resemble. */
  readonly good: string;
  /** The number of requests a second; 0 for as many as the server accepts. */
  readonly rate: number;
  readonly seconds: number;
  /** The number of requests after which the flood ends, whatever time they take. */
  readonly count?: number;
}

/**
 * The kinds of bad tokens. `unknown` is a short text, like tokens in a file; `foreign` a JSON Web Token of another
 * issuer; `forged` has the claims of a good token under another signature, which takes the longest to detect; `long` is
 * the same with 8 KB of claims.
 */
export const badTokens = ["unknown", "foreign", "forged", "long"] as const;
type BadToken = (typeof badTokens)[number];

interface Flooded {
  /** The number of answers by their code. */
  readonly answers: Readonly<Record<string, number>>;
  /** The number of answers a second. */
  readonly rate: number;
}

const connections = 16;
/** The maximum number of unanswered requests of a connection. */
const depth = 32;
const everyMs = 2;
const digits = 12;

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

/** Returns a bad token without its counter, which has `digits` characters before `end`. */
function badToken(kind: BadToken, good: string): { readonly begin: string; readonly end: string } {
  const [header = "", claims = "", signature = ""] = good.split(".");
  const filling = "A".repeat(Math.max(0, signature.length - digits));
  if (kind === "unknown") return { begin: "nobody-", end: "" };
  if (kind === "foreign") {
    const ownClaims = { iss: "https://elsewhere.example", sub: "somebody", aud: "somewhere", exp: 9_999_999_999 };
    return { begin: `${encode({ alg: "RS256", kid: "k" })}.${encode(ownClaims)}.`, end: filling };
  }
  if (kind === "forged") return { begin: `${header}.${claims}.`, end: filling };
  const more = { ...(JSON.parse(Buffer.from(claims, "base64url").toString()) as object), more: "x".repeat(5500) };
  return { begin: `${header}.${encode(more)}.`, end: filling };
}

/** The bytes of successive requests, each with the next token. */
class Requests {
  readonly #one: Buffer;
  readonly #countAt: number;
  #count = 0;

  constructor({ kind, good }: Flood) {
    const { begin, end } = badToken(kind, good);
    const head = `GET /api/v1/namespaces/default/configmaps/none HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${begin}`;
    this.#one = Buffer.from(`${head}${"0".repeat(digits)}${end}\r\n\r\n`);
    this.#countAt = head.length;
  }

  take(count: number): Buffer {
    const { length } = this.#one;
    const all = Buffer.allocUnsafe(count * length);
    for (let at = 0; at < all.length; at += length) {
      this.#one.copy(all, at);
      all.write(String(this.#count++).padStart(digits, "0"), at + this.#countAt, "latin1");
    }
    return all;
  }
}

const headEnd = Buffer.from("\r\n\r\n");

/** Sends requests for the given time, and resolves when all are answered. Rejects when a connection breaks. */
async function flood(options: Flood): Promise<Flooded> {
  const requests = new Requests(options);
  const answers: Record<string, number> = {};
  const { seconds, count: countMax = Number.POSITIVE_INFINITY } = options;
  let sent = 0;
  let answered = 0;

  const elapsedMs = (): number => performance.now() - startedMs;
  const due = (): number => (options.rate === 0 ? depth : Math.floor((elapsedMs() * options.rate) / 1000) - sent);
  const isOver = (): boolean => (options.count === undefined ? elapsedMs() > seconds * 1000 : sent >= countMax);

  function floodOne(socket: TLSSocket): Promise<void> {
    let waiting = 0;
    let rest: Buffer = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const sendMore = (): void => {
        const count = isOver() ? 0 : Math.min(depth - waiting, due(), countMax - sent);
        if (count > 0) {
          socket.write(requests.take(count));
          waiting += count;
          sent += count;
        }
        if (waiting === 0 && isOver()) {
          clearInterval(timer);
          socket.destroy();
          resolve();
        }
      };
      const timer = setInterval(sendMore, everyMs);
      socket.on("error", reject);
      socket.on("close", () => reject(new Error(`the server closed a connection with ${waiting} requests`)));
      socket.on("data", (data: Buffer) => {
        rest = rest.length === 0 ? data : Buffer.concat([rest, data]);
        for (let end = rest.indexOf(headEnd); end >= 0; end = rest.indexOf(headEnd)) {
          const head = rest.toString("latin1", 0, end);
          const length = end + headEnd.length + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
          if (rest.length < length) break;
          const code = head.slice(9, 12);
          answers[code] = (answers[code] ?? 0) + 1;
          answered += 1;
          waiting -= 1;
          rest = rest.subarray(length);
        }
        if (options.rate === 0) sendMore();
      });
    });
  }

  const sockets = await Promise.all(Array.from({ length: connections }, () => open(options)));
  const startedMs = performance.now();
  await Promise.all(sockets.map(floodOne));
  return { answers, rate: answered / (elapsedMs() / 1000) };
}

function open({ host, port, ca }: Endpoint): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
    const socket = connect({ host, port, ...trust, servername: "localhost", ALPNProtocols: ["http/1.1"] });
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.once("secureConnect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}

/** Runs the flood in another process. */
export async function floodAside(options: Flood): Promise<Flooded> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    fileURLToPath(import.meta.url),
    JSON.stringify(options),
  ]);
  return JSON.parse(stdout) as Flooded; // the other process prints it
}

if (import.meta.main) process.stdout.write(JSON.stringify(await flood(JSON.parse(process.argv[2] ?? "{}") as Flood)));
