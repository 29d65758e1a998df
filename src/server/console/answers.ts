/**
 * The console on the server's own port: static files, for which nobody has to sign in. What the page shows it asks of
 * the API, with a token that stays in its memory.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import type { ApiRequest, Reply } from "#http/api-request.ts";
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

/** The names of a server with a console. */
export interface ConsoleParts {
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
  return (request) => answer(request, files, parts);
}

async function answer(request: ApiRequest, files: ConsoleFiles, parts: ConsoleParts): Promise<Reply> {
  const { headers, path, method } = request;
  const name = hostName(headers["host"] ?? headers[":authority"] ?? "");
  // A name of others that leads here (DNS rebinding) would make their pages and the console one origin.
  if (!isOwnName(name, parts)) return consoleText(403, `this server is not ${JSON.stringify(name)}`);
  if (isForeign(browserHead(request))) return consoleText(403, "the console is not for pages of other sites");
  if (method !== "GET" && method !== "HEAD") return consoleText(405, "the console has files only");
  if (path === "/console" || path === "/") {
    return { ...consoleText(307, ""), headers: { ...consoleHeaders, location: consolePath } };
  }
  if (path === sessionPath) return session;
  return files.answer(path, headers["accept-encoding"]);
}

const session: Reply = {
  code: 200,
  contentType: "application/json",
  headers: { ...consoleHeaders, "cache-control": "no-store" },
  bytes: Buffer.from('{"signIn":"token"}\n'),
};

function isOwnName(name: string, { certificate, names }: ConsoleParts): boolean {
  if (isLoopbackName(name) || names.includes(name)) return true;
  const own = new X509Certificate(certificate);
  return (isIP(name) === 0 ? own.checkHost(name, { subject: "never" }) : own.checkIP(name)) !== undefined;
}
