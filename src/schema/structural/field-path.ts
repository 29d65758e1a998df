/**
 * Reads the paths of schema fields in CEL rules and selectable fields: `.spec.size`, `['a.b']`. Source: upstream's
 * `apiextensions-apiserver/pkg/apiserver/schema/cel`, `ValidFieldPath`.
 */
import { additionalOf, type JsonSchemaProps } from "./json-schema.ts";

/** The field to which a path leads. */
export interface FieldPathTarget {
  /** The names from the root. */
  readonly names: readonly string[];
  /** The path as errors print it: `spec.size`, `spec.map[key]`. */
  readonly path: string;
  /** The schema at the path; `undefined` for a value of a map without a schema. */
  readonly schema: JsonSchemaProps | undefined;
}

/** Returns the field of a path, or the error of the path in upstream's words. `brackets: false` refuses `['x']`. */
export function readFieldPath(
  text: string,
  root: JsonSchemaProps | undefined,
  options: { readonly brackets?: boolean } = {},
): FieldPathTarget | string {
  const tokens = tokensOf(text);
  const names: string[] = [];
  let path = "";
  let schema: JsonSchemaProps | undefined = root;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token !== "." && token !== "[") return `expected [ or . but got: ${token}`;
    const isBracket = token === "[";
    if (isBracket && options.brackets === false) return "array notation is not allowed";
    const keyToken = tokens[++at];
    if (keyToken === undefined) return "unexpected end of JSON path";
    let name: string | undefined = keyToken;
    if (isBracket) {
      if (keyToken.length < 2 || !keyToken.startsWith("'") || !keyToken.endsWith("'")) {
        return `expected single quoted string but got ${keyToken}`;
      }
      name = unquote(keyToken.slice(1, -1));
      if (name === undefined) return "invalid string literal: invalid syntax";
    }
    const next: Step | undefined = step(schema, name);
    if (next === undefined) return "does not refer to a valid field";
    schema = next.schema;
    path = next.isNamed ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`;
    names.push(name);
    if (!isBracket) continue;
    const end = tokens[++at];
    if (end === undefined) return "unexpected end of JSON path";
    if (end !== "]") return `expected ] but got ${end}`;
  }
  return { names, path, schema };
}

interface Step {
  readonly schema: JsonSchemaProps | undefined;
  readonly isNamed: boolean;
}

function step(schema: JsonSchemaProps | undefined, name: string): Step | undefined {
  if (schema === undefined) return undefined;
  const { properties } = schema;
  if (properties !== undefined && Object.keys(properties).length > 0) {
    return Object.hasOwn(properties, name) ? { schema: properties[name]!, isNamed: true } : undefined;
  }
  if (schema.additionalProperties === undefined) return undefined;
  return { schema: additionalOf(schema), isNamed: false };
}

/** Returns the tokens of a path: dots, brackets, and the text between them. A text in single quotes is one token. */
function tokensOf(text: string): readonly string[] {
  return text.match(/'(?:[^'\\]|\\[^])*(?:'|$)|[.[\]]|[^.[\]']+[^.[\]]*/g) ?? [];
}

function unquote(text: string): string | undefined {
  if (/\\(?!['"\\abfnrtv])/.test(text)) return undefined;
  const escapes: Readonly<Record<string, string>> = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };
  return text.replace(/\\(.)/g, (_, char: string) => escapes[char] ?? char);
}
