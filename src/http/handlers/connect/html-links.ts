/**
 * The links of pages that proxied targets send: those with a path lead to this server, so the path of the proxy is put
 * before it. Nothing else of a page changes, and at most a tag of it is kept. Source: the HTML standard (tokenization),
 * and pages that kube-apiserver 1.32 had proxied.
 */
import { pipeline, type Readable } from "node:stream";
import type { ForwardedAnswer } from "#egress/forwarding.ts";

/** The proxy to which links lead. */
interface ProxyBase {
  /** The host that the client asked for, with its port. */
  readonly host: string;
  /** The path of the proxy, escaped, without a slash at its end. */
  readonly prefix: string;
}

/** Returns the place in a link at which the path of the proxy belongs; `undefined` for links that stay as they are. */
export function prefixOffset(link: string, { host, prefix }: ProxyBase): number | undefined {
  const origin = /^[\t\n\f\r ]*(?:(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#\\]*))?/i.exec(link)!; // it matches every text
  const [{ length }, authority] = origin;
  if (authority !== undefined && authority.replace(/^.*@/s, "") !== host) return undefined;
  const path = link.slice(length);
  if (!path.startsWith("/")) return undefined;
  const hasPrefix = path.startsWith(prefix) && /^([/?#]|$)/.test(path.slice(prefix.length));
  return hasPrefix ? undefined : length;
}

/** The attributes that hold a link, by element. */
const linkAttributes: ReadonlyMap<string, readonly string[]> = new Map([
  ["a", ["href"]],
  ["applet", ["codebase"]],
  ["area", ["href"]],
  ["audio", ["src"]],
  ["base", ["href"]],
  ["blockquote", ["cite"]],
  ["body", ["background"]],
  ["button", ["formaction"]],
  ["command", ["icon"]],
  ["del", ["cite"]],
  ["embed", ["src"]],
  ["form", ["action"]],
  ["frame", ["longdesc", "src"]],
  ["head", ["profile"]],
  ["html", ["manifest"]],
  ["iframe", ["longdesc", "src"]],
  ["img", ["longdesc", "src", "usemap"]],
  ["input", ["formaction", "src", "usemap"]],
  ["ins", ["cite"]],
  ["link", ["href"]],
  ["object", ["classid", "codebase", "data", "usemap"]],
  ["q", ["cite"]],
  ["script", ["src"]],
  ["source", ["src"]],
  ["video", ["poster", "src"]],
]);

/** The elements whose content has no tags. */
const textElements: ReadonlySet<string> = new Set([
  "iframe",
  "noembed",
  "noframes",
  "noscript",
  "script",
  "style",
  "textarea",
  "title",
  "xmp",
]);

/** The maximum bytes of a tag; a longer one is passed on as text. */
const tagBytesMax = 16 * 1024;

/** The end of a part of a page that has no tags. */
interface End {
  readonly pattern: RegExp;
  /** The maximum bytes that the pattern looks at. */
  readonly lengthMax: number;
  /** Whether the end is a tag, which is read as such. */
  readonly isTag: boolean;
}

/** Changes the links of a page that comes in pieces. Bytes are read as Latin-1, so that each stays what it was. */
export class HtmlLinks {
  readonly #base: ProxyBase;
  /** The beginning of a tag or of a mark whose rest is still to come. */
  #rest = "";
  /** Matches the end of the current comment, or of an element without tags; `undefined` in between. */
  #end: End | undefined;
  /** Whether the rest of the page is text. */
  #isText = false;

  constructor(base: ProxyBase) {
    this.#base = { ...base, prefix: base.prefix.replaceAll("&", "&amp;") };
  }

  take(piece: Buffer): Buffer {
    const text = this.#rest + piece.toString("latin1");
    let out = "";
    let at = 0;
    while (at < text.length) {
      const step = this.#step(text, at);
      if (step.end === at) break;
      out += step.text ?? text.slice(at, step.end);
      at = step.end;
    }
    this.#rest = text.slice(at);
    if (this.#rest.length > tagBytesMax) {
      out += this.#rest;
      this.#rest = "";
    }
    return Buffer.from(out, "latin1");
  }

  /** Returns what is left when the page has ended. */
  end(): Buffer {
    return Buffer.from(this.#rest, "latin1");
  }

  /** Returns the end of the next part, and its text if that is another one; `at` when more of the page must come. */
  #step(text: string, at: number): { readonly end: number; readonly text?: string } {
    if (this.#isText) return { end: text.length };
    if (this.#end !== undefined) return { end: this.#skip(text, at, this.#end) };
    const start = text.indexOf("<", at);
    if (start !== at) return { end: start === -1 ? text.length : start };
    const mark = /<(?:!(?:--|-?$)?|\?|\/?[a-z]|\/?$|\/)/iy;
    mark.lastIndex = at;
    const [begin = ""] = mark.exec(text) ?? [];
    if (at + begin.length === text.length) return { end: at };
    if (begin === "") return { end: at + 1 };
    if (/[a-z]$/i.test(begin)) return this.#tag(text, at);
    const isComment = begin === "<!--";
    this.#end = { pattern: isComment ? /-->/g : />/g, lengthMax: isComment ? 3 : 1, isTag: false };
    // A comment may end with the dashes that begin it.
    return { end: at + 2 };
  }

  /** Returns the end of the comment or of the element's content, or of as much of it as has come. */
  #skip(text: string, at: number, { pattern, lengthMax, isTag }: End): number {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return Math.max(at, text.length - lengthMax + 1);
    this.#end = undefined;
    return isTag ? found.index : found.index + found[0].length;
  }

  #tag(text: string, at: number): { readonly end: number; readonly text?: string } {
    const tag = readTag(text, at);
    if (tag === undefined) return { end: at };
    const { end, name, isEnd, attributes } = tag;
    if (isEnd) return { end };
    this.#isText = name === "plaintext";
    if (textElements.has(name)) {
      const pattern = new RegExp(`</${name}(?=[\\t\\n\\f\\r />])`, "gi");
      this.#end = { pattern, lengthMax: name.length + 3, isTag: true };
    }
    const links = linkAttributes.get(name);
    if (links === undefined) return { end };
    let written = "";
    let from = at;
    for (const attribute of attributes) {
      if (!links.includes(attribute.name)) continue;
      const offset = prefixOffset(text.slice(attribute.start, attribute.end), this.#base);
      if (offset === undefined) continue;
      written += text.slice(from, attribute.start + offset) + this.#base.prefix;
      from = attribute.start + offset;
    }
    return { end, text: written + text.slice(from, end) };
  }
}

interface Attribute {
  readonly name: string;
  /** The place of its value, without quotes. */
  readonly start: number;
  readonly end: number;
}

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: readonly Attribute[];
  readonly end: number;
}

/** Reads the tag that begins at `at`; `undefined` when its end is still to come. */
function readTag(text: string, at: number): Tag | undefined {
  const isEnd = text[at + 1] === "/";
  let next = at + (isEnd ? 2 : 1);
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = next;
    const [skipped = ""] = pattern.exec(text) ?? [];
    next += skipped.length;
    return skipped;
  };
  const name = skip(/[^\t\n\f\r />]*/y).toLowerCase();
  const attributes: Attribute[] = [];
  while (next < text.length) {
    skip(/[\t\n\f\r /]*/y);
    if (text[next] === ">") return { name, isEnd, attributes, end: next + 1 };
    const attribute = skip(/=?[^\t\n\f\r />=]*/y).toLowerCase();
    skip(/[\t\n\f\r ]*/y);
    if (text[next] !== "=") continue;
    skip(/=[\t\n\f\r ]*/y);
    const quote = text[next];
    const isQuoted = quote === '"' || quote === "'";
    const start = isQuoted ? next + 1 : next;
    if (isQuoted) next = text.indexOf(quote, start);
    else skip(/[^\t\n\f\r >]*/y);
    if (next === -1) return undefined;
    attributes.push({ name: attribute, start, end: next });
    if (isQuoted) next++;
  }
  return undefined;
}

/** Whether an answer is a page whose links can be changed. A part of a page says its place in it, so it stays as it is. */
export function isPage({ code, headers }: ForwardedAnswer): boolean {
  const type = (headers["content-type"]?.[0] ?? "").split(";", 1)[0]!.trim().toLowerCase();
  const encoding = headers["content-encoding"]?.join() ?? "";
  const isReadable = ["", "identity", "gzip", "deflate"].includes(encoding);
  return type === "text/html" && isReadable && code !== 206 && headers["location"] === undefined;
}

/** Returns a page with changed links. Its length is not known. */
export function rewritePage(answer: ForwardedAnswer, base: ProxyBase): ForwardedAnswer {
  const { "content-length": _, ...headers } = answer.headers;
  const encoding = headers["content-encoding"]?.[0] ?? "identity";
  const body = encoding === "identity" ? rewritten(answer.body, base) : recoded(answer.body, encoding, base);
  return { ...answer, headers, body };
}

async function* rewritten(body: AsyncIterable<Buffer>, base: ProxyBase): AsyncGenerator<Buffer, void, undefined> {
  const links = new HtmlLinks(base);
  for await (const piece of body) {
    const changed = links.take(piece);
    if (changed.length > 0) yield changed;
  }
  const rest = links.end();
  if (rest.length > 0) yield rest;
}

/** Unpacks a page, and packs it again with its links changed. Each piece is sent on at once. */
async function* recoded(
  body: AsyncIterable<Buffer>,
  encoding: string,
  base: ProxyBase,
): AsyncGenerator<Buffer, void, undefined> {
  const zlib = await import("node:zlib");
  const pieces = body[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done === true) return;
  const whole = async function* (): AsyncGenerator<Buffer, void, undefined> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => pieces };
  };
  const isGzip = encoding === "gzip";
  // Servers send either form of "deflate": with the header of RFC 1950, or without it.
  const hasHeader = (first.value[0]! & 0xf) === 8;
  const unpack = isGzip ? zlib.createGunzip() : hasHeader ? zlib.createInflate() : zlib.createInflateRaw();
  const flush = zlib.constants.Z_SYNC_FLUSH;
  const pack = isGzip
    ? zlib.createGzip({ flush })
    : hasHeader
      ? zlib.createDeflate({ flush })
      : zlib.createDeflateRaw({ flush });
  const packed: Readable = pipeline(
    whole(),
    unpack,
    (page: AsyncIterable<Buffer>) => rewritten(page, base),
    pack,
    () => {
      // The reader of the stream gets the error.
    },
  );
  yield* packed as AsyncIterable<Buffer>;
}
