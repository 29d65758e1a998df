/**
 * Random definitions with rules, and their objects: schemas of every kind of value, mostly valid expressions, mostly
 * valid objects. The same seed gives the same case.
 */
import { type Random, seededRandom } from "#std/random.ts";
import { chance, pick, upTo } from "./choices.ts";
import type { Json } from "./servers.ts";

/** Random numbers. `isSound` excludes everything for which a definition would be refused. */
interface Dice extends Random {
  readonly isSound: boolean;
}

/** A definition, and the bodies of its objects: each is created, then replaced by the next. */
interface RuleCase {
  readonly schema: Json;
  readonly objects: readonly Json[];
}

/** A schema with its values and its type in expressions. */
interface Kind {
  readonly schema: Json;
  /** The name of the type in expressions: `int`, `list`, ... */
  readonly type: string;
  readonly value: (random: Dice) => unknown;
  readonly fields?: Readonly<Record<string, Kind>>;
  readonly element?: Kind;
}

const texts = ["", "a", "b", "abc", "x-1", "10.0.0.1", "1Gi", "https://e.com/p?q=1", "héllo", "a,b,c", "  pad ", "12"];

const scalars: readonly ((random: Dice) => Kind)[] = [
  (random) => ({
    schema: { type: "string", ...(random.isSound || chance(random, 0.7) ? { maxLength: 5 + upTo(random, 60) } : {}) },
    type: "string",
    value: (next) => pick(next, texts),
  }),
  () => ({
    schema: { type: "integer" },
    type: "int",
    value: (next) => pick(next, [0, 1, -1, 5, 42, 9007199254740991]),
  }),
  () => ({ schema: { type: "number" }, type: "double", value: (next) => pick(next, [0, 1, 1.5, -2.25, 1e21]) }),
  () => ({ schema: { type: "boolean" }, type: "bool", value: (next) => chance(next, 0.5) }),
  () => ({
    schema: { type: "string", format: "date-time" },
    type: "timestamp",
    value: (next) => pick(next, ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.5+02:00", "1999-12-31T23:59:59Z"]),
  }),
  () => ({
    schema: { type: "string", format: "date" },
    type: "timestamp",
    value: (next) => pick(next, ["2024-01-02", "1999-12-31"]),
  }),
  () => ({
    schema: { type: "string", format: "duration" },
    type: "duration",
    value: (next) => pick(next, ["1s", "1h30m", "0s", "100ms"]),
  }),
  () => ({
    schema: { type: "string", format: "byte", maxLength: 20 },
    type: "bytes",
    value: (next) => pick(next, ["YQ==", "", "AAEC"]),
  }),
  () => ({
    schema: { "x-kubernetes-int-or-string": true },
    type: "dyn",
    value: (next) => pick(next, [0, 5, "5%", "x"]),
  }),
  () => ({
    schema: { type: "string", enum: ["one", "two"] },
    type: "string",
    value: (next) => pick(next, ["one", "two"]),
  }),
];

function kind(random: Dice, depth: number): Kind {
  const at = random.next();
  if (depth <= 0 || at < 0.5) return pick(random, scalars)(random);
  if (at < 0.72) return list(random, depth);
  if (at < 0.85) return map(random, depth);
  return object(random, depth);
}

function list(random: Dice, depth: number): Kind {
  const bound = random.isSound || chance(random, 0.8) ? { maxItems: 1 + upTo(random, 20) } : {};
  const values = (element: Kind) => (next: Dice) => Array.from({ length: upTo(next, 3) }, () => element.value(next));
  const listType = pick(random, [undefined, "set", "map", "atomic"]);
  if (listType === "map") {
    const inner = object(random, depth - 1);
    const key: Kind = {
      schema: { type: "string", maxLength: 9 },
      type: "string",
      value: (next) => pick(next, ["a", "b", "c"]),
    };
    const fields = { ...inner.fields, key };
    const items = { ...inner.schema, properties: schemasOf(fields), required: ["key"] };
    const element = { ...inner, fields, schema: items, value: valueOf(fields, ["key"]) };
    const marks = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key"] };
    return {
      schema: { type: "array", items, ...marks, ...bound },
      type: "list",
      element,
      value: (next) => [...new Map((values(element)(next) as Json[]).map((item) => [item["key"], item])).values()],
    };
  }
  if (listType === "set") {
    const element = pick(random, scalars.slice(0, 3))(random);
    return {
      schema: { type: "array", items: element.schema, "x-kubernetes-list-type": "set", ...bound },
      type: "list",
      element,
      value: (next) => [...new Set(values(element)(next))],
    };
  }
  const element = kind(random, depth - 1);
  const marks = listType === undefined ? {} : { "x-kubernetes-list-type": listType };
  return {
    schema: { type: "array", items: element.schema, ...marks, ...bound },
    type: "list",
    element,
    value: values(element),
  };
}

function map(random: Dice, depth: number): Kind {
  const element = kind(random, depth - 1);
  const bound = random.isSound || chance(random, 0.8) ? { maxProperties: 1 + upTo(random, 20) } : {};
  const atomic = chance(random, 0.2) ? { "x-kubernetes-map-type": "atomic" } : {};
  return {
    schema: { type: "object", additionalProperties: element.schema, ...bound, ...atomic },
    type: "map",
    element,
    value: (next) =>
      Object.fromEntries(
        Array.from({ length: upTo(next, 2) }, () => [pick(next, ["a", "k", "z.z"]), element.value(next)]),
      ),
  };
}

const names = ["a", "b", "c", "d-e", "f.g", "h__i", "namespace", "int", "size"];

function object(random: Dice, depth: number): Kind {
  const chosen = names.filter(() => chance(random, 0.4));
  const fields = Object.fromEntries(
    (chosen.length === 0 ? ["a"] : chosen).map((name) => [name, kind(random, depth - 1)]),
  );
  const required = Object.keys(fields).filter(() => chance(random, 0.2));
  return {
    schema: { type: "object", properties: schemasOf(fields), ...(required.length > 0 ? { required } : {}) },
    type: "object",
    fields,
    value: valueOf(fields, required),
  };
}

const schemasOf = (fields: Readonly<Record<string, Kind>>): Json =>
  Object.fromEntries(Object.entries(fields).map(([name, { schema }]) => [name, schema]));

const valueOf =
  (fields: Readonly<Record<string, Kind>>, required: readonly string[]) =>
  (random: Dice): Json =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([name]) => required.includes(name) || chance(random, 0.75))
        .map(([name, { value }]) => [name, value(random)]),
    );

const escape = (name: string): string =>
  name === "namespace"
    ? "__namespace__"
    : name.replace(/__|[.-]/g, (part) => ({ __: "__underscores__", ".": "__dot__" })[part] ?? "__dash__");

/** An expression about a value, and its type. */
interface Term {
  readonly text: string;
  readonly kind: Kind;
}

const literals: Readonly<Record<string, readonly string[]>> = {
  string: ["''", "'a'", "'abc'", "'x-1'"],
  int: ["0", "1", "5", "-1"],
  double: ["0.0", "1.5"],
  bool: ["true", "false"],
  timestamp: ["timestamp('2024-01-02T03:04:05Z')"],
  duration: ["duration('1s')", "duration('90m')"],
  bytes: ["b'a'", "b''"],
  dyn: ["5", "'5%'"],
};

/**
 * Statements about a value of a type; those with `~` are unsound. `$` is the value, `#` a literal of its type, `@`
 * another value of its type.
 */
const statements: Readonly<Record<string, readonly string[]>> = {
  string: [
    "$ == #",
    "$ != @",
    "$.startsWith(#)",
    "$.endsWith(@)",
    "$.contains(#)",
    "$.size() < 4",
    "size($) == size(@)",
    "$.matches('^[a-z]+$')",
    "$ < @",
    "$ + @ == #",
    "$.lowerAscii() == $",
    "$.split(',').size() == 1",
    "$.find('[0-9]+') == ''",
    "$.findAll('[a-z]').size() < 3",
    "$.replace('a', 'b') == $",
    "$.trim() == $",
    "$.substring(1) == ''",
    "$.charAt(0) == 'a'",
    "$.indexOf('b') == -1",
    "$.lastIndexOf('c') < 2",
    "isURL($)",
    "isIP($)",
    "isCIDR($)",
    "isQuantity($)",
    "quantity($).isInteger()",
    "sign(quantity($)) == 1",
    "quantity($).isLessThan(quantity('1Ti'))",
    "ip($).family() == 4",
    "cidr($).prefixLength() == 24",
    "url($).getHost() == #",
    "url($).getScheme() == 'https'",
    "url($).getQuery().size() == 1",
    "int($) > 3",
    "$ in ['a', 'b', 'abc']",
    "string($) == $",
    "bytes($).size() < 5",
    "'%s!'.format([$]) == 'a!'",
    "duration($) > duration('1s')",
    "timestamp($) < timestamp('2024-01-02T03:04:05Z')",
    "double($) < 2.0",
    "!format.dns1123Label().validate($).hasValue()",
    "~$.reverse() == $",
    "strings.quote($).size() < 6",
    "~$ > 3",
    "type($) == string",
    "~$[0] == 'a'",
    "~$.join() == ''",
  ],
  int: [
    "$ == #",
    "$ > 0",
    "$ <= @",
    "$ + @ > 3",
    "$ * 2 < 10",
    "10 / $ > 1",
    "$ % 2 == 0",
    "-$ < 1",
    "$ - @ >= 0",
    "string($) == '5'",
    "double($) < 4.5",
    "$ in [1, 5]",
    "~$ == 1.0",
    "uint($) > 1u",
    "type($) == int",
    "~$ < 4.5",
    "$ + 9223372036854775807 > 0",
    "[$, @].max() > 1",
    "[$, @].sum() < 9",
    "~$.size() == 1",
    "dyn($) == 5.0",
    "quantity('5').add($).isInteger()",
    "'%d'.format([$]) == '5'",
  ],
  double: [
    "$ == #",
    "$ > 0.5",
    "$ <= @",
    "$ * 2.0 < 3.0",
    "int($) > 1",
    "string($) == '1.5'",
    "~$ == 1",
    "1.0 / $ > 0.0",
  ],
  bool: ["$", "!$", "$ == #", "$ || @", "$ && @", "$ ? # : true", "string($) == 'true'", "~$ > 1"],
  timestamp: [
    "$ < #",
    "$ == @",
    "$.getFullYear() > 2000",
    "$ + duration('1h') > @",
    "$ - @ < duration('1h')",
    "$.getHours('Europe/Berlin') < 5",
    "string($) == 'x'",
    "int($) > 0",
  ],
  duration: [
    "$ > #",
    "$ == @",
    "$ + @ < duration('2h')",
    "$.getSeconds() > 5",
    "string($) == '1s'",
    "[$, @].sum() > #",
  ],
  bytes: ["$ == #", "size($) < 2", "$ + @ == #", "string($) == 'a'", "$ < @"],
  dyn: [
    "$ == #",
    "type($) == int",
    "$ == 5 || $ == 'x'",
    "$ > 3",
    "string($) == '5'",
    "$.startsWith('5')",
    "int($) > 2",
  ],
  list: [
    "$.size() < 3",
    "$ == @",
    "$ != []",
    "~$.isSorted()",
    "$.all(x, x == x)",
    "~$.exists(x, x in $)",
    "$ + @ == $",
    "$.map(x, x).size() < 4",
    "$.filter(x, true) == $",
    "$[0] == $[1]",
    "$.exists_one(x, true)",
    "~$.sum() > 3",
    "~$.min() == $.max()",
    "$.indexOf($[0]) == 0",
    "sets.contains($, @)",
    "sets.intersects($, @)",
    "sets.equivalent($, @)",
    "$.all(x, $.all(y, x == y))",
    "~$.all(i, v, i < 3)",
    "~$.join(',') == ''",
    "size($ + $) < 5",
    "~$.transformList(i, v, v) == $",
  ],
  map: [
    "$.size() < 2",
    "$ == @",
    "'a' in $",
    "$.all(k, k != 'z.z')",
    "$.exists(k, $[k] == $[k])",
    "has($.a)",
    "$['k'] == $.k",
    "$.map(k, k).isSorted()",
    "~$.all(k, v, k != '')",
    "$.?a.hasValue()",
    "$[?'k'].orValue($['a']) == $['a']",
    "$ != {}",
  ],
  object: ["$ == @", "$ != @", "~has($.a)", "~!has($.nope)", "~$.nope == 1", "type($) == type(@)", "dyn($) == dyn(@)"],
};

/** Returns a statement about `self`, which is of the kind, or about a part of it. */
function statement(random: Dice, self: Kind, usesOld: boolean): string {
  const terms: Term[] = [];
  collect({ text: "self", kind: self }, 2, terms);
  const term = pick(random, terms);
  const same = terms.filter(({ kind: { type } }) => type === term.kind.type);
  const old = usesOld ? term.text.replace(/^self/, "oldSelf") : undefined;
  const other = old ?? pick(random, same).text;
  const [text, isLoop] = loop(random, term) ?? [pick(random, templates(random, term.kind.type)), false];
  const literal = pick(random, literals[term.kind.type] ?? ["null"]);
  const message = isLoop
    ? text
    : text
        .replaceAll("$", () => term.text)
        .replaceAll("@", () => other)
        .replaceAll("#", () => literal);
  const guard = /\.\w+$/.test(term.text) && chance(random, 0.6) ? `!has(${term.text}) || ` : "";
  const joined = chance(random, 0.2) ? ` ${pick(random, ["&&", "||"])} ${statement(random, self, false)}` : "";
  return `${guard}${message}${joined}`;
}

const templates = ({ isSound }: Dice, type: string): readonly string[] =>
  statements[type]!.flatMap((text) => (text.startsWith("~") ? (isSound ? [] : [text.slice(1)]) : [text]));

/** Returns a statement about the elements of a list or the entries of a map. */
function loop(random: Dice, { text, kind: { type, element } }: Term): [string, boolean] | undefined {
  if (element === undefined || chance(random, 0.5)) return undefined;
  const inner = statement(random, element, false).replaceAll(/\bself\b/g, type === "map" ? `${text}[k]` : "e");
  return [`${text}.${pick(random, ["all", "exists", "exists_one"])}(${type === "map" ? "k" : "e"}, ${inner})`, true];
}

function collect(term: Term, depth: number, into: Term[]): void {
  into.push(term);
  if (depth === 0) return;
  for (const [name, kind] of Object.entries(term.kind.fields ?? {})) {
    collect({ text: `${term.text}.${escape(name)}`, kind }, depth - 1, into);
  }
}

const unsoundMessages = ["'says ' + string(1)", "self", "self.nope"];

function messageOf(random: Dice, { type }: Kind): string {
  const sound = [
    "''",
    "'a\\nb'",
    "' made '",
    "string(self == self)",
    type === "string" ? "self + '!'" : "'of ' + 'parts'",
  ];
  return pick(random, random.isSound ? sound : [...sound, ...unsoundMessages]);
}

const reasons = ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"];

/** Returns a rule. `isPaired` tells whether `oldSelf` exists. */
function rule(random: Dice, kind: Kind, isPaired: boolean): Json {
  const usesOld = chance(random, 0.2) && (isPaired || !random.isSound);
  const isOptional = usesOld && chance(random, 0.2);
  const text = statement(random, kind, usesOld);
  const asksFirst = isOptional && text.includes("oldSelf");
  const fieldPaths = Object.keys(kind.fields ?? {}).filter((name) => /^[a-z]+$/.test(name));
  return {
    rule: asksFirst ? `!oldSelf.hasValue() || ${text.replaceAll("oldSelf", "oldSelf.value()")}` : text,
    ...(asksFirst || (isOptional && !random.isSound) ? { optionalOldSelf: true } : {}),
    ...(chance(random, 0.3) ? { message: pick(random, ["does not hold", " spaced ", "two"]) } : {}),
    ...(chance(random, 0.3) ? { messageExpression: messageOf(random, kind) } : {}),
    ...(chance(random, 0.2) ? { reason: pick(random, reasons) } : {}),
    ...(fieldPaths.length > 0 && chance(random, 0.2) ? { fieldPath: `.${pick(random, fieldPaths)}` } : {}),
  };
}

/** Returns the schema with rules at some of its nodes. */
function addRule(random: Dice, kind: Kind, share: number, isPaired: boolean): Json {
  const { schema } = kind;
  const fields = kind.fields === undefined ? undefined : Object.entries(kind.fields);
  const inner =
    fields === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            fields.map(([name, field]) => [name, addRule(random, field, share, isPaired)]),
          ),
        };
  const isPairedInside = isPaired && (kind.type === "map" || schema["x-kubernetes-list-type"] === "map");
  const element = kind.element === undefined ? undefined : addRule(random, kind.element, share, isPairedInside);
  const elements =
    element === undefined ? {} : kind.type === "map" ? { additionalProperties: element } : { items: element };
  const count = chance(random, share) ? 1 + upTo(random, 2) : 0;
  const rules = Array.from({ length: count }, () => rule(random, kind, isPaired));
  return { ...schema, ...inner, ...elements, ...(count === 0 ? {} : { "x-kubernetes-validations": rules }) };
}

/** Returns the case with this number. Most cases are sound, so that their objects can be compared. */
export function ruleCase(seed: number): RuleCase {
  const chances = seededRandom(seed);
  const random: Dice = { ...chances, isSound: chance(chances, 0.75) };
  const spec = object(random, 3);
  const root: Kind = {
    schema: { type: "object", properties: { spec: spec.schema } },
    type: "object",
    fields: { spec },
    value: valueOf({ spec }, ["spec"]),
  };
  return {
    schema: addRule(random, root, random.isSound ? 0.4 : 0.2, true),
    objects: Array.from({ length: 8 }, () => root.value(random) as Json), // its schema is an object
  };
}
