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
  /** The host of the target, with its port; links to it lead to this server. */
  readonly target: string;
  /** The path of the proxy, escaped, without a slash at its end. */
  readonly prefix: string;
}

/** Returns a link with the path of the proxy before its own; `undefined` for links that stay as they are. */
export function throughProxy(link: string, { host, target, prefix }: ProxyBase): string | undefined {
  const origin = /^[\t\n\f\r ]*(?:(?:[a-z][a-z0-9+.-]*:)?\/\/([^/?#\\]*))?/i.exec(link)!; // it matches every text
  const [{ length }, authority] = origin;
  const named = authority?.replace(/^.*@/s, "");
  if (named !== undefined && named !== host && named !== target) return undefined;
  const path = link.slice(length);
  if (!path.startsWith("/")) return undefined;
  const hasPrefix = path.startsWith(prefix) && /^([/?#]|$)/.test(path.slice(prefix.length));
  return hasPrefix
    ? undefined
    : `${named === undefined || named === host ? link.slice(0, length) : ""}${prefix}${path}`;
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
  #tagEnd = new TagEnd();

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
      this.#tagEnd = new TagEnd();
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
    mark.lastIndex = at;
    const found = mark.exec(text);
    if (found === null) return { end: text.length };
    if (found.index !== at) return { end: found.index };
    const [begin] = found;
    if (at + begin.length === text.length) return { end: at };
    if (/[a-z]$/i.test(begin)) return this.#tag(text, at);
    const isComment = begin === "<!--";
    this.#end = { pattern: isComment ? /--!?>/g : />/g, lengthMax: isComment ? 4 : 1, isTag: false };
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
    if (!this.#tagEnd.isIn(text, at)) return { end: at };
    this.#tagEnd = new TagEnd();
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
      const link = throughProxy(text.slice(attribute.start, attribute.end), this.#base);
      if (link === undefined) continue;
      written += text.slice(from, attribute.start) + link;
      from = attribute.end;
    }
    return { end, text: written + text.slice(from, end) };
  }
}

/** Matches the beginning of a tag, a comment or the like, also when only a part of it has come. */
const mark = /<(?:!(?:--|-?$)?|\?|\/?[a-z]|\/?$|\/)/gi;

/** The parts of a tag: its name, and of an attribute the name, the space behind it, the sign `=`, and the value. */
type TagPart = "tag" | "before" | "name" | "after" | "equals" | "value" | '"' | "'";

/** Finds out whether a tag that comes in pieces has ended. It looks once at each byte. */
class TagEnd {
  #part: TagPart = "tag";
  /** The number of bytes of the tag that were looked at; the first is `<`. */
  #length = 1;

  /** Whether the tag that begins at `at` ends in the text. */
  isIn(text: string, at: number): boolean {
    for (; at + this.#length < text.length; this.#length++) {
      const next = partAfter(this.#part, text[at + this.#length]!, this.#length);
      if (next === undefined) return true;
      this.#part = next;
    }
    return false;
  }
}

/** Returns the part to which a tag comes by a character; `undefined` when the character ends the tag. */
function partAfter(part: TagPart, char: string, length: number): TagPart | undefined {
  if (part === '"' || part === "'") return char === part ? "before" : part;
  if (char === ">") return undefined;
  const isSpace = /[\t\n\f\r ]/.test(char);
  if (part === "equals" && (isSpace || char === '"' || char === "'")) return isSpace ? part : (char as TagPart); // a quote
  if (part === "equals" || part === "value") return isSpace ? "before" : "value";
  if (char === "/") return part === "tag" && length === 1 ? part : "before";
  if (part === "tag") return isSpace ? "before" : part;
  if (char === "=" && part !== "before") return "equals";
  if (isSpace) return part === "before" ? part : "after";
  return "name";
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
