/** Ways through a proxy: `CONNECT` of HTTP proxies, and SOCKS 5 (RFC 1928, and RFC 1929 for user and password). */
import { isIP, type Socket } from "node:net";
import { ProxyReader } from "./proxy-reader.ts";

/** The address behind a proxy. */
export interface Target {
  /** The name or address, without brackets. */
  readonly host: string;
  readonly port: number;
}

const headLengthMax = 64 * 1024;

/** Asks an HTTP proxy for a way to the target. Rejects with the reason, in words that follow "the proxy refused: ". */
export async function openHttpTunnel(socket: Socket, target: Target, proxy: URL, userAgent: string): Promise<void> {
  const address = `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
  const lines = [`CONNECT ${address} HTTP/1.1`, `Host: ${address}`, `User-Agent: ${userAgent}`];
  const authorization = proxyAuthorization(proxy);
  if (authorization !== undefined) lines.push(`Proxy-Authorization: ${authorization}`);
  const reader = new ProxyReader(socket);
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const head = await reader.textUntil("\r\n\r\n", headLengthMax);
  reader.release();
  const [, code = "", reason = ""] = /^HTTP\/1\.[01] (\d{3}) ?([^\r\n]*)/.exec(head) ?? [];
  if (code === "") throw new Error("it does not speak HTTP");
  if (code === "407") throw new Error(`${code} ${reason}: it wants a user and a password, which its URL may have`);
  if (code !== "200") throw new Error(`${code} ${reason}`.trim());
}

/** Returns the header with the user and the password of the proxy's URL, if it has them. Throws an `Error` as others do. */
export function proxyAuthorization(proxy: URL): string | undefined {
  if (proxy.username === "" && proxy.password === "") return undefined;
  const { user, password } = accountOf(proxy);
  return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

/** Returns the user and the password of the proxy's URL; empty without them. */
function accountOf({ username, password }: URL): { readonly user: string; readonly password: string } {
  try {
    return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    throw new Error("the user or the password of its URL has a percent sign that begins no escape: write %25 for it");
  }
}

const version = 5;
const methods = { none: 0, password: 2 } as const;
const connect = 1;
const addressTypes = { ipv4: 1, name: 3, ipv6: 4 } as const;
/** The meanings of answers to a request, by their number. */
const refusals: readonly string[] = [
  "",
  "it failed",
  "its rules forbid the connection",
  "the network cannot be reached",
  "the host cannot be reached",
  "the connection was refused",
  "the connection took too long",
  "it knows no such command",
  "it knows no such kind of address",
];

/** Asks a SOCKS 5 proxy for a way to the target; the proxy looks names up. Rejects as `openHttpTunnel` does. */
export async function openSocksTunnel(socket: Socket, target: Target, proxy: URL): Promise<void> {
  const account = accountOf(proxy);
  const user = Buffer.from(account.user);
  const password = Buffer.from(account.password);
  if (user.length > 255 || password.length > 255) throw new Error("its user or password has more than 255 bytes");
  const offered = user.length === 0 ? [methods.none] : [methods.none, methods.password];
  const reader = new ProxyReader(socket);
  socket.write(Buffer.from([version, offered.length, ...offered]));
  const [spoken, method] = await reader.bytes(2);
  if (spoken !== version) throw new Error("it does not speak SOCKS 5");
  if (method === methods.password && user.length > 0) {
    socket.write(Buffer.from([1, user.length, ...user, password.length, ...password]));
    const [, outcome] = await reader.bytes(2);
    if (outcome !== 0) throw new Error("it refused the user and the password of its URL");
  } else if (method !== methods.none) {
    throw new Error("it wants a user and a password, which its URL may have");
  }
  socket.write(Buffer.from([version, connect, 0, ...addressOf(target.host), target.port >> 8, target.port & 0xff]));
  const [, reply = 1, , type] = await reader.bytes(4);
  if (reply !== 0) throw new Error(refusals[reply] ?? `it answered ${reply}`);
  // The address from which the proxy connects follows; nobody needs it.
  const length = type === addressTypes.ipv4 ? 4 : type === addressTypes.ipv6 ? 16 : (await reader.bytes(1))[0]!;
  await reader.bytes(length + 2);
  reader.release();
}

function addressOf(host: string): number[] {
  if (isIP(host) === 4) return [addressTypes.ipv4, ...host.split(".").map(Number)];
  if (isIP(host) === 6) return [addressTypes.ipv6, ...bytesOfIpv6(host)];
  const name = Buffer.from(host);
  if (name.length > 255) throw new Error("the name of the server is too long for it");
  return [addressTypes.name, name.length, ...name];
}

function bytesOfIpv6(address: string): number[] {
  const [front = "", back] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const wordsOf = (text: string): number[] => (text === "" ? [] : text.split(":").map((word) => parseInt(word, 16)));
  const [first, last] = [wordsOf(front), wordsOf(back ?? "")];
  const middle = new Array<number>(8 - first.length - last.length).fill(0);
  return [...first, ...middle, ...last].flatMap((word) => [word >> 8, word & 0xff]);
}
