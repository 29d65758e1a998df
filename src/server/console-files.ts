/**
 * The files of the console, as `npm run build` writes them to `dist/console/`, with the headers that browsers need for
 * them. Nothing is read before somebody asks for it, and one copy of each file is kept: strangers may ask, over many streams at
 * once. Who may ask is the caller's matter.
 */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { packageFolder } from "./program-version.ts";

/** The path below which the console is. */
export const consolePath = "/console/";

/** The path at which a page learns how one signs in: with a token here, with a code where `binnacle console` serves it. */
export const sessionPath = "/console/session";

interface ConsoleFile {
  readonly code: number;
  /** The names are in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

/** The rules for all that a page of the console may load and do. Everything is on its own origin, and nothing is inline. */
const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** The headers of every answer below the console's path. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": contentPolicy,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

const textType = "text/plain; charset=utf-8";

/** Returns an answer of a few words, with the headers of the console. */
export const consoleText = (code: number, text: string): ConsoleFile => ({
  code,
  headers: { ...consoleHeaders, "content-type": textType, "cache-control": "no-store" },
  bytes: Buffer.from(`${text}\n`),
});

export class ConsoleFiles {
  /** The folder to which the build has written them. */
  readonly #folder = packageFolder("dist/console");
  #names: ReadonlySet<string> | undefined;
  readonly #read = new Map<string, Promise<Buffer>>();

  /** Returns the answer for a path that begins with `consolePath`. `acceptEncoding` is that header of the request. */
  async answer(path: string, acceptEncoding = ""): Promise<ConsoleFile> {
    const name = path.slice(consolePath.length) || "index.html";
    const type = types[/\.(\w+)$/.exec(name)?.[1] ?? ""];
    // Only names that are in the folder are read, so that a path leads nowhere else.
    this.#names ??= this.#list();
    if (this.#folder === undefined || this.#names.size === 0) {
      return consoleText(404, "this program was started without its console: npm run build makes it");
    }
    if (type === undefined || !this.#names.has(name)) return consoleText(404, "the console has no such file");
    const isPacked = this.#names.has(`${name}.gz`) && /\bgzip\b/.test(acceptEncoding);
    const bytes = await this.#bytesOf(isPacked ? `${name}.gz` : name, this.#folder);
    const headers = {
      ...consoleHeaders,
      "content-type": type,
      vary: "accept-encoding",
      // Other names have a hash of the content.
      "cache-control": name === "index.html" ? "no-cache" : "public, max-age=31536000, immutable",
      ...(isPacked ? { "content-encoding": "gzip" } : {}),
    };
    return { code: 200, headers, bytes };
  }

  /** Returns a file of the folder. It is read once, unless that fails. */
  #bytesOf(name: string, folder: URL): Promise<Buffer> {
    let bytes = this.#read.get(name);
    if (bytes === undefined) {
      bytes = readFile(new URL(name, folder));
      this.#read.set(name, bytes);
      bytes.catch(() => this.#read.delete(name));
    }
    return bytes;
  }

  #list(): ReadonlySet<string> {
    try {
      return new Set(this.#folder === undefined ? [] : readdirSync(this.#folder));
    } catch {
      return new Set();
    }
  }
}

/** Returns the name or address of a `Host` header, without its port and brackets, in lower case. */
export const hostName = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{1,5}$/, "")
    .replace(/^\[(.*)\]$/, "$1");

const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** Whether a name means this machine, whatever name servers say. */
export const isLoopbackName = (name: string): boolean => loopbackNames.has(name);
