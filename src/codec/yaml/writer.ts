/**
 * Writes JSON values as YAML that upstream's decoder and decoders of YAML 1.1 and 1.2 read as the same values: block
 * style, keys in upstream's order, lists in the column of their key, no folded lines. This file builds the nodes and
 * chooses their styles; js-yaml writes them.
 */
import type { Node, ScalarLayout, ScalarNode } from "js-yaml";
import { isRawNumber } from "#std/raw-number.ts";
import { indentedLevelsMax } from "../json.ts";
import { compareKeys } from "./key-order.ts";
import { verbatimTag, type YamlLibrary, yamlLibrary } from "./library.ts";

/** Returns the YAML text of a JSON value, with a line feed at the end. */
export function writeYaml(value: unknown): string {
  const { yaml, writing } = yamlLibrary();
  const writer = new Writer(yaml);
  const text = yaml.present([{ contents: writer.node(value, 0), directives: [] }], {
    schema: writing,
    lineWidth: -1,
    seqNoIndent: true,
    scalarStyleRules: [(layout) => chooseStyle(layout, yaml.SCALAR_STYLE)],
  });
  return writer.insert(text);
}

/** The length in characters above which texts bypass the library, whose patterns need stack for each character. */
const textLengthMax = 128 * 1024;

/**
 * Stands for a part that bypasses the library. The library escapes this character in texts, so it marks nothing else.
 */
const placeholder = "\0";

/** The placeholder of a key that is too long for the line of its value. */
const keyPlaceholder = placeholder.repeat(1025);

class Writer {
  readonly #yaml: YamlLibrary["yaml"];
  /** The content of each placeholder, in the order of the document. */
  readonly #parts: string[] = [];

  constructor(yaml: YamlLibrary["yaml"]) {
    this.#yaml = yaml;
  }

  node(value: unknown, level: number): Node {
    if (typeof value === "string") return value.length > textLengthMax ? this.#part(value) : this.#text(value);
    if (typeof value !== "object" || value === null) return this.#verbatim(JSON.stringify(value ?? null));
    if (isRawNumber(value)) return this.#verbatim(value.rawJSON);
    // Deeper values are JSON, which is YAML on one line: the spaces cannot outgrow the value.
    if (level > indentedLevelsMax) return this.#part(value);
    const collection = { tag: "", tagged: false, style: this.#yaml.COLLECTION_STYLE.BLOCK };
    if (Array.isArray(value)) {
      const items = (value as readonly unknown[]).map((item) => this.node(item, level + 1));
      return { ...collection, kind: "sequence", items };
    }
    const entries = Object.entries(value).filter(([, item]) => item !== undefined);
    const items = entries
      .sort(([left], [right]) => compareKeys(left, right))
      .map(([key, item]) => ({ key: this.#key(key), value: this.node(item, level + 1) }));
    return { ...collection, kind: "mapping", items };
  }

  /** Returns the document with the parts inserted. */
  insert(text: string): string {
    if (this.#parts.length === 0) return text;
    return text
      .split(/\0+/)
      .map((piece, index) => piece + (this.#parts[index] ?? ""))
      .join("");
  }

  #key(key: string): ScalarNode {
    return key.length > textLengthMax ? this.#part(key, keyPlaceholder) : this.#text(key);
  }

  /** Adds a part, which is written as JSON, and returns its placeholder. */
  #part(value: unknown, shown = placeholder): ScalarNode {
    this.#parts.push(yamlJson(value));
    return this.#verbatim(shown);
  }

  #text(value: string): ScalarNode {
    return { kind: "scalar", tag: "tag:yaml.org,2002:str", tagged: false, style: this.#yaml.SCALAR_STYLE.PLAIN, value };
  }

  #verbatim(value: string): ScalarNode {
    return { kind: "scalar", tag: verbatimTag, tagged: false, style: this.#yaml.SCALAR_STYLE.PLAIN, value };
  }
}

/** Chooses the style of a text: plain, a literal block, or double quotes with escapes. */
function chooseStyle(layout: ScalarLayout, style: YamlLibrary["yaml"]["SCALAR_STYLE"]): void {
  const { value, tag } = layout.node;
  if (tag === verbatimTag) return;
  const isAllowed = (wanted: number): boolean => (layout.allowedStylesMask & (1 << wanted)) !== 0;
  if (unusual.test(value)) layout.style = style.DOUBLE_QUOTED;
  else if (!value.includes("\n")) layout.style = isAllowed(style.PLAIN) ? style.PLAIN : style.DOUBLE_QUOTED;
  else {
    const isBlock = isAllowed(style.LITERAL_BLOCK) && !layout.isKey && blockText.test(value);
    layout.style = isBlock ? style.LITERAL_BLOCK : style.DOUBLE_QUOTED;
  }
}

/** Matches strings on which decoders agree only if they are quoted: invisible characters, and document markers. */
const unusual = /^(?:---|\.\.\.)|[\t\r\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/;

/**
 * Matches texts that may be literal blocks: the first character is visible, so that the indentation is clear, and at
 * most one line feed is at the end.
 */
const blockText = /^[^\s][^]*?[^\n]\n?$/;

/** Returns JSON that is valid YAML: characters that YAML forbids or treats as line ends are escaped. */
const yamlJson = (value: unknown): string =>
  JSON.stringify(value).replace(
    /[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
