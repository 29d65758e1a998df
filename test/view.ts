/**
 * A JSON value in tests: fields by path, and expectations. Expectations use Kubernetes' names; `rename` translates them
 * to the server's domain.
 */
import assert from "node:assert/strict";

/** Expects that a field is absent. */
export const absent = Symbol("absent");

/** Expects a field with any value. */
export const present = Symbol("present");

/** The expectation of a field: an exact JSON value, a matching expression, absence, or an accepting function. */
export type Expected = unknown;

export type Rename = (text: string) => string;

/**
 * Expected fields by path: `metadata.name`, `items.0.spec`, `items.length`. Keys with dots are in brackets and may
 * contain brackets themselves: `metadata.labels[example.com/a]`. The first item with a field is selected by
 * `status.conditions[type=Resizing].status`.
 */
export type Fields = Readonly<Record<string, Expected>>;

export class View {
  readonly value: unknown;
  readonly rename: Rename;
  /** The beginning of every message about a failed expectation. */
  readonly title: string;

  constructor(value: unknown, rename: Rename, title: string) {
    this.value = value;
    this.rename = rename;
    this.title = title;
  }

  /** Returns the field at a path; `undefined` if there is none. */
  at(path: string): unknown {
    let value = this.value;
    for (const [, inner, plain] of this.rename(path).matchAll(/\[((?:[^[\]]|\[[^\]]*\])*)\]|([^.[\]]+)/g)) {
      value = step(value, inner, plain);
    }
    return value;
  }

  /** Returns the field at a path as a view of its own. */
  view(path: string): View {
    return new View(this.at(path), this.rename, `${this.title}: ${path}`);
  }

  /** Returns a field that must be a text. */
  string(path: string): string {
    const value = this.at(path);
    assert.equal(typeof value, "string", `${this.title}: ${path} must be a text, is ${format(value)}`);
    return String(value);
  }

  /** Returns the items of a field that must be a list, each as a view of its own. */
  list(path: string): View[] {
    const value = this.at(path);
    assert.ok(Array.isArray(value), `${this.title}: ${path} must be a list, is ${format(value)}`);
    return value.map((item, index) => new View(item, this.rename, `${this.title}: ${path}.${index}`));
  }

  /** Returns the names of a list's items. */
  names(): string[] {
    return this.list("items").map((item) => item.string("metadata.name"));
  }

  /** Checks every expected field. */
  has(fields: Fields): this {
    for (const [path, expected] of Object.entries(fields)) this.#check(path, this.at(path), expected);
    return this;
  }

  #check(path: string, value: unknown, expected: unknown): void {
    const say = `${this.title}\n${path} is ${format(value)}`;
    if (expected === absent) assert.equal(value, undefined, `${say}, must be absent`);
    else if (expected === present) assert.notEqual(value, undefined, `${say}, must be present`);
    else if (expected instanceof RegExp) {
      const pattern = new RegExp(this.rename(expected.source), expected.flags);
      assert.match(typeof value === "string" ? value : JSON.stringify(value ?? null), pattern, say);
    } else if (typeof expected === "function") {
      assert.ok((expected as (value: unknown) => unknown)(value), `${say}, must satisfy ${String(expected)}`);
    } else {
      const wanted: unknown = expected === undefined ? undefined : JSON.parse(this.rename(JSON.stringify(expected)));
      assert.deepEqual(value, wanted, `${say}, must be ${format(wanted)}`);
    }
  }
}

/** Returns the member of a value, or by `[key=value]` the first matching item of a list. */
function step(value: unknown, inner: string | undefined, plain: string | undefined): unknown {
  if (value === null || value === undefined) return undefined;
  const equals = inner?.indexOf("=") ?? -1;
  if (Array.isArray(value) && inner !== undefined && equals > 0) {
    const key = inner.slice(0, equals);
    return value.find((item) => String(property(item, key)) === inner.slice(equals + 1)) as unknown;
  }
  return property(value, inner ?? plain ?? "");
}

function property(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) return key === "length" ? value.length : value[Number(key)];
  return Object.hasOwn(value, key) ? (value as Record<string, unknown>)[key] : undefined;
}

function format(value: unknown): string {
  const text = value === undefined ? "absent" : JSON.stringify(value);
  return text.length > 1500 ? `${text.slice(0, 1500)}…` : text;
}
