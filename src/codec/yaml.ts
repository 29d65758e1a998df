/**
 * Decodes and encodes YAML. Decoding does as upstream's library: it reads the first document of a text, converts all
 * keys to strings, supports merge keys, and reports duplicate keys by line. js-yaml has the grammar; this file adds
 * tags, keys and limits: the expansion of aliases is bounded as upstream does, nesting by `depthMax`.
 */
import type { Event, ScalarEvent, YAMLException } from "js-yaml";
import { isUtf8 } from "node:buffer";
import { goQuote } from "#meta/field-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { setKey } from "#schema/json-values.ts";
import { yamlLibrary } from "./yaml/library.ts";
import { resolve, type ScalarTag } from "./yaml/scalars.ts";
import { writeYaml } from "./yaml/writer.ts";

interface DecodedYaml {
  /** The value; null for an empty text. Parts that aliases repeat are shared. */
  readonly value: unknown;
  /** Texts such as `line 7: key "a" already set in map`, one for each repetition. The last of duplicate keys wins. */
  readonly duplicates: readonly string[];
}

/** The maximum nesting; upstream's limit is 10,000. */
const depthMax = 1000;

/** Decodes the first document of a text. Throws `DecodeError`. */
export function decodeYaml(bytes: Uint8Array): DecodedYaml {
  if (!isUtf8(bytes)) throw new DecodeError("yaml: invalid leading UTF-8 octet");
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    .toString("utf8")
    .replace(/^\ufeff/, "");
  if (forbidden.test(text)) throw new DecodeError("yaml: control characters are not allowed");
  const source = firstDocument(text);
  const { parseEvents, YAMLException } = yamlLibrary().yaml;
  try {
    const events = parseEvents(source, { maxDepth: depthMax });
    return new Builder(source, events).document();
  } catch (error) {
    if (error instanceof YAMLException && error.reason.startsWith("unacceptable YAML version")) throw incompatible();
    if (error instanceof YAMLException)
      throw new DecodeError(`yaml: ${lineText(error)}${error.reason}`, { cause: error });
    if (error instanceof RangeError) throw new DecodeError("yaml: exceeded max depth", { cause: error });
    throw error;
  }
}

/**
 * Returns the YAML text of a JSON value: keys sorted, two spaces a level. Upstream's reader decodes the same value from
 * it.
 */
export function encodeYaml(value: unknown): Buffer {
  return Buffer.from(writeYaml(value));
}

/** Returns the error of a text in another version of YAML than 1.1, the only one that upstream reads. */
const incompatible = (): DecodeError => new DecodeError("yaml: found incompatible YAML document");

const forbidden = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]/;

const lineText = (error: YAMLException): string => (error.mark === undefined ? "" : `line ${error.mark.line + 1}: `);

/** Returns the first document of a text; the rest is ignored. */
function firstDocument(text: string): string {
  const marker = /^(?:---(?=[ \t\r\n]|$)|\.\.\.(?=[ \t\r\n]|$))/gm;
  let hasBegun = false;
  for (let match = marker.exec(text); match !== null; match = marker.exec(text)) {
    const before = text.slice(0, match.index);
    const hasContent = hasBegun || /^[^%#\s]|^[ \t]+[^#\s]/m.test(before);
    if (hasContent) return before;
    hasBegun = match[0] === "---";
  }
  return text;
}

interface Node {
  readonly value: unknown;
  /** The number of nodes in it, itself included, with aliases expanded. */
  readonly size: number;
  /** The tag of a scalar. A mapping key keeps the tag that its value had before it became text. */
  readonly tag?: ScalarTag;
}

type Json = Record<string, unknown>;

const standardTag = "tag:yaml.org,2002:";

class Builder {
  readonly #grammar = yamlLibrary().yaml;
  readonly #source: string;
  readonly #events: readonly Event[];
  readonly #duplicates: string[] = [];
  /** The node of each anchor; `undefined` while the node is not complete. */
  readonly #anchors = new Map<string, Node | undefined>();
  #at = 0;
  #decoded = 0;
  #aliased = 0;

  constructor(source: string, events: readonly Event[]) {
    this.#source = source;
    this.#events = events;
  }

  document(): DecodedYaml {
    const first = this.#events[this.#at++];
    if (first === undefined) return { value: null, duplicates: [] };
    const directives = "directives" in first ? first.directives : [];
    if (directives.some((directive) => directive.kind === "yaml" && directive.version !== "1.1")) throw incompatible();
    const next = this.#events[this.#at];
    if (next === undefined || next.type === this.#grammar.EVENT_ID.POP) return { value: null, duplicates: [] };
    const { value } = this.#node();
    return { value, duplicates: this.#duplicates };
  }

  #node(): Node {
    const event = this.#events[this.#at++]!;
    const { EVENT_ID } = this.#grammar;
    switch (event.type) {
      case EVENT_ID.ALIAS:
        return this.#alias(event.anchorStart, event.anchorEnd);
      case EVENT_ID.SCALAR:
        this.#count(1, false);
        return this.#rememberAnchor(event, () => this.#scalar(event));
      case EVENT_ID.SEQUENCE:
        this.#count(1, false);
        return this.#rememberAnchor(event, () => this.#sequence());
      case EVENT_ID.MAPPING:
        this.#count(1, false);
        return this.#rememberAnchor(event, () => this.#mapping());
      default:
        throw new DecodeError("yaml: unexpected end of node");
    }
  }

  #rememberAnchor(event: { readonly anchorStart: number; readonly anchorEnd: number }, make: () => Node): Node {
    if (event.anchorStart < 0) return make();
    const name = this.#source.slice(event.anchorStart, event.anchorEnd);
    this.#anchors.set(name, undefined);
    const node = make();
    this.#anchors.set(name, node);
    return node;
  }

  #alias(start: number, end: number): Node {
    const name = this.#source.slice(start, end);
    if (!this.#anchors.has(name)) throw new DecodeError(`yaml: unknown anchor '${name}' referenced`);
    const node = this.#anchors.get(name);
    if (node === undefined) throw new DecodeError(`yaml: anchor '${name}' value contains itself`);
    this.#count(node.size, true);
    return node;
  }

  /**
   * Counts nodes. Throws by upstream's rule against aliases that multiply: the larger the document, the smaller the
   * share of its nodes that aliases may repeat.
   */
  #count(nodes: number, isAlias: boolean): void {
    this.#decoded += nodes;
    if (isAlias) this.#aliased += nodes;
    if (this.#aliased <= 100 || this.#decoded <= 1000) return;
    const low = 100_000;
    const high = 1_000_000;
    const share = Math.min(1, Math.max(0, (this.#decoded - low) / (high - low)));
    if (this.#aliased / this.#decoded > 0.99 - 0.89 * share) {
      throw new DecodeError("yaml: document contains excessive aliasing");
    }
  }

  #scalar(event: ScalarEvent): Node {
    const text = event.valueStart < 0 ? "" : this.#grammar.getScalarValue(this.#source, event);
    const written = event.tagStart < 0 ? "" : this.#source.slice(event.tagStart, event.tagEnd);
    if (written === "" && event.style === this.#grammar.SCALAR_STYLE.PLAIN) return { ...resolve(text), size: 1 };
    return { ...readTagged(written, text), size: 1 };
  }

  #sequence(): Node {
    const list: unknown[] = [];
    let size = 1;
    while (this.#events[this.#at]!.type !== this.#grammar.EVENT_ID.POP) {
      const item = this.#node();
      list.push(json(item));
      size += item.size;
    }
    this.#at++;
    return { value: list, size };
  }

  #mapping(): Node {
    const mapping: Json = {};
    const seen = new Set<string>();
    let size = 1;
    while (this.#events[this.#at]!.type !== this.#grammar.EVENT_ID.POP) {
      const keyAt = this.#at;
      const key = this.#node();
      const valueAt = this.#at;
      const value = this.#node();
      size += key.size + value.size;
      if (key.tag === "merge") {
        this.#merge(mapping, seen, value.value, valueAt);
        continue;
      }
      const name = keyText(key, value);
      // Keys of different types are different, even if they become the same text.
      this.#mark(seen, name, typeof key.value === "string", valueAt, keyAt);
      setKey(mapping, name, json(value));
    }
    this.#at++;
    return { value: mapping, size };
  }

  #merge(mapping: Json, seen: Set<string>, value: unknown, valueAt: number): void {
    const sources = Array.isArray(value) ? [...(value as unknown[])].reverse() : [value];
    for (const source of sources) {
      if (typeof source !== "object" || source === null || Array.isArray(source) || isRawNumber(source)) {
        throw new DecodeError("yaml: map merge requires map or sequence of maps as the value");
      }
      for (const [key, item] of Object.entries(source)) {
        this.#mark(seen, key, true, valueAt, valueAt);
        setKey(mapping, key, item);
      }
    }
  }

  /** Records a key, or reports it as a duplicate if it was recorded before. */
  #mark(seen: Set<string>, key: string, isText: boolean, valueAt: number, keyAt: number): void {
    const id = isText ? key : `\0${key}`;
    if (!seen.has(id)) {
      seen.add(id);
      return;
    }
    if (this.#duplicates.length >= 100) return;
    const line = this.#lineOf(valueAt) ?? this.#lineOf(keyAt) ?? 1;
    this.#duplicates.push(`line ${line}: key ${isText ? goQuote(key) : key} already set in map`);
  }

  #lineOf(at: number): number | undefined {
    const event = this.#events[at]!;
    const offsets: number[] = [];
    if ("anchorStart" in event) offsets.push(event.anchorStart - 1);
    if ("tagStart" in event) offsets.push(event.tagStart);
    if ("start" in event) offsets.push(event.start);
    if ("valueStart" in event) offsets.push(event.valueStart);
    const start = Math.min(...offsets.filter((offset) => offset >= 0));
    if (!Number.isFinite(start)) return undefined;
    let line = 1;
    for (let i = this.#source.indexOf("\n"); i >= 0 && i < start; i = this.#source.indexOf("\n", i + 1)) line++;
    return line;
  }
}

/** Returns the node as part of a JSON value. Throws `DecodeError` for numbers that JSON does not have. */
function json(node: Node): unknown {
  if (typeof node.value !== "number" || Number.isFinite(node.value)) return node.value;
  const name = Number.isNaN(node.value) ? "NaN" : node.value > 0 ? "+Inf" : "-Inf";
  throw new DecodeError(`json: unsupported value: ${name}`);
}

/** Returns a key as text. `value` is for the error message. */
function keyText(key: Node, value: Node): string {
  const { value: raw } = key;
  if (typeof raw === "string") return raw;
  if (typeof raw === "boolean") return String(raw);
  if (typeof raw === "number") {
    if (!Number.isFinite(raw)) return Number.isNaN(raw) ? ".nan" : raw > 0 ? ".inf" : "-.inf";
    return key.tag === "int" ? String(raw) : String(Math.fround(raw) === raw ? raw : Number(raw.toPrecision(8)));
  }
  if (isRawNumber(raw)) return raw.rawJSON;
  if (raw === null) {
    const shown = value.value === null ? "<nil>" : (JSON.stringify(value.value) ?? "");
    throw new DecodeError(`unsupported map key of type: %!s(<nil>), key: <nil>, value: ${shown}`);
  }
  const shown = JSON.stringify(raw);
  throw new DecodeError(
    Array.isArray(raw)
      ? `yaml: invalid map key: []interface {}{${shown.slice(1, -1)}}`
      : `yaml: invalid map key: map[interface {}]interface {}${shown}`,
  );
}

/** Reads a scalar with a tag, or a quoted scalar, which is a string. */
function readTagged(written: string, text: string): { readonly tag: ScalarTag; readonly value: unknown } {
  const name = written.startsWith("!!")
    ? written.slice(2)
    : written.startsWith(`!<${standardTag}`)
      ? written.slice(2 + standardTag.length, -1)
      : "";
  if (name === "binary") {
    const clean = text.replace(/\s/g, "");
    if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(clean)) {
      throw new DecodeError("yaml: !!binary value contains invalid base64 data");
    }
    return { tag: "str", value: Buffer.from(clean, "base64").toString() };
  }
  if (!["null", "bool", "int", "float", "timestamp", "merge"].includes(name)) return { tag: "str", value: text };
  const scalar = resolve(text);
  if (scalar.tag === name || (name === "float" && scalar.tag === "int")) return scalar;
  throw new DecodeError(`yaml: cannot decode !!${scalar.tag} \`${text}\` as a !!${name}`);
}
