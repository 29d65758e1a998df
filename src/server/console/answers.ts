/**
 * The console on the server's own port: static files, for which nobody has to sign in. What the page shows it asks of
 * the API, with a token that stays in its memory.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { Clock } from "#std/clock.ts";
import {
  ConsoleFiles,
  consoleHeaders,
  consolePath,
  consoleText,
  hostName,
  isLoopbackName,
  sessionPath,
} from "../console-files.ts";
import { browserHead, isForeign } from "../foreign-request.ts";
import { type ProviderParts, ProviderSignIn } from "./provider-sign-in.ts";

/** The names of a server with a console, and the ways in which people sign in. */
export interface ConsoleParts extends ProviderParts {
  readonly clock: Clock;
  /** The serving certificate, as PEM: its names are those of this server. */
  readonly certificate: string;
  /** The names of the server that the certificate may lack, since a proxy has another one. */
  readonly names: readonly string[];
  /** Whether pages of other sites may ask the API, since `--cors-allowed-origins` names some. */
  readonly allowsOrigins: boolean;
}

/** Returns the function that answers requests for paths of the console. */
export function consoleAnswers(parts: ConsoleParts): (request: ApiRequest) => Promise<Reply> {
  const files = new ConsoleFiles();
  const signIn = new ProviderSignIn(parts);
  return (request) => answer(request, files, signIn, parts);
}

async function answer(
  request: ApiRequest,
  files: ConsoleFiles,
  signIn: ProviderSignIn,
  parts: ConsoleParts,
): Promise<Reply> {
  const { headers, path, method } = request;
  const host = headers["host"] ?? headers[":authority"] ?? "";
  const name = hostName(host);
  // A name of others that leads here (DNS rebinding) would make their pages and the console one origin.
  if (!isOwnName(name, parts)) return consoleText(403, `this server is not ${JSON.stringify(name)}`);
  if (isForeign(browserHead(request))) return consoleText(403, "the console is not for pages of other sites");
  if (path === sessionPath && method === "POST") return redeem(request, signIn, host, parts.clock);
  if (method !== "GET" && method !== "HEAD") return consoleText(405, "the console has files only");
  if (path === "/console" || path === "/") {
    return { ...consoleText(307, ""), headers: { ...consoleHeaders, location: consolePath } };
  }
  if (path === sessionPath) return json(200, { signIn: "token", providers: signIn.offers() });
  return files.answer(path, headers["accept-encoding"]);
}

/** The maximum bytes of a code with what belongs to it, and the maximum time in which they arrive. */
const codeBytesMax = 32 * 1024;
const codeMs = 10_000;

async function redeem(request: ApiRequest, signIn: ProviderSignIn, host: string, clock: Clock): Promise<Reply> {
  const { "content-type": type, origin } = request.headers;
  // Pages of other sites cannot send this type without being asked first.
  if (type !== "application/json") return json(415, { message: "a code is sent as JSON" });
  if (origin !== undefined && origin !== `https://${host}`)
    return json(403, { message: "this page is not the console" });
  const cancel = clock.after(codeMs, () => request.abort(new Error("the code does not come")));
  let body: Buffer;
  try {
    body = await request.body(codeBytesMax);
  } catch {
    return json(400, { message: "the code is too long, or does not come" });
  } finally {
    cancel();
  }
  const answered = await signIn.redeem(body.toString(), `https://${host}${consolePath}`);
  return json(answered.code, answered.body);
}

const json = (code: number, value: object): Reply => ({
  code,
  contentType: "application/json",
  headers: { ...consoleHeaders, "cache-control": "no-store" },
  bytes: Buffer.from(`${JSON.stringify(value)}\n`),
});

function isOwnName(name: string, { certificate, names }: ConsoleParts): boolean {
  if (isLoopbackName(name) || names.includes(name)) return true;
  const own = new X509Certificate(certificate);
  return (isIP(name) === 0 ? own.checkHost(name, { subject: "never" }) : own.checkIP(name)) !== undefined;
}
