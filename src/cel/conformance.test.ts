/**
 * Runs the conformance tests of the language's specification, except those with protobuf messages, against the whole
 * engine.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tests as conformance } from "@bufbuild/cel-spec/testdata/conformance.js";
import type { SerializedIncrementalTest, SerializedIncrementalTestSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { check } from "./check.ts";
import { type DeclaredType, declaredType } from "./conformance-types-for-tests.ts";
import { Environment } from "./environment.ts";
import { type Evaluation, compile } from "./evaluate.ts";
import { kindOf } from "./evaluate/kinds.ts";
import { equals } from "./evaluate/equality.ts";
import { comprehensionsLibrary } from "./library/comprehensions.ts";
import { optionalsLibrary } from "./library/optionals.ts";
import { standardLibrary } from "./library/standard.ts";
import { stringsLibrary } from "./library/strings.ts";
import { parse } from "./parse.ts";
import { CelError, Double, Duration, Timestamp, TypeValue, Uint, type Value } from "./values.ts";

const files = [
  "basic",
  "comparisons",
  "conversions",
  "fields",
  "fp_math",
  "integer_math",
  "lists",
  "logic",
  "macros",
  "macros2",
  "namespace",
  "optionals",
  "parse",
  "plumbing",
  "string",
  "string_ext",
  "timestamps",
  "type_deductions",
];

/** The tests for which a 1.32 server has other results, with the reason; names are `file/section/test`. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "1.32 has no quoted field names": [
    "fields/quoted_map_fields/field_access_slash",
    "fields/quoted_map_fields/field_access_dash",
    "fields/quoted_map_fields/field_access_dot",
    "fields/quoted_map_fields/has_field_slash",
    "fields/quoted_map_fields/has_field_dash",
    "fields/quoted_map_fields/has_field_dot",
  ],
  "every expression is checked, which finds the names with dots": [
    "fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked",
  ],
  "there are no containers": [
    "namespace/namespace/self_eval_container_lookup",
    "namespace/namespace/self_eval_container_lookup_unchecked",
  ],
  "any value is a key of a map literal, and the last of the same ones counts": [
    "fields/qualified_identifier_resolution/map_key_float",
    "fields/qualified_identifier_resolution/map_value_repeat_key",
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous",
  ],
  "an optional selection from what has no fields is none": [
    "optionals/optionals/map_null_entry_no_such_key",
    "optionals/optionals/map_present_key_invalid_field",
  ],
  "exponents and infinities are printed as English prints them, with at least six characters": [
    "string_ext/format/scientific notation formatting clause",
    "string_ext/format/default precision for scientific notation",
    "string_ext/format/NaN support for scientific notation",
    "string_ext/format/positive infinity support for scientific notation",
    "string_ext/format/negative infinity support for scientific notation",
    "string_ext/format/positive infinity support for fixed-point",
    "string_ext/format/negative infinity support for fixed-point",
    "string_ext/format/dyntype support for scientific notation",
    "string_ext/format/scientific notation formatting clause in a string variable",
  ],
  "an empty text has no place from which a part could be looked for": ["string_ext/last_index_of/empty_string"],
  "a decimal clause takes no doubles": [
    "string_ext/format/NaN support for decimal",
    "string_ext/format/positive infinity support for decimal",
    "string_ext/format/negative infinity support for decimal",
  ],
  "values in lists and maps are printed as literals, doubles with six decimals": [
    "string_ext/format/list support for string",
    "string_ext/format/map support for string",
    "string_ext/format/map support (all key types)",
    "string_ext/format/dyntype NaN/infinity support",
    "string_ext/format/dyntype support for lists",
    "string_ext/format/dyntype support for maps",
  ],
  "a search from behind the end finds nothing": [
    "string_ext/value_errors/indexof_out_of_range",
    "string_ext/value_errors/lastindexof_out_of_range",
  ],
};

/** A value in the JSON of the specification's `Value` messages. */
interface Encoded {
  readonly int64Value?: string;
  readonly uint64Value?: string;
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  readonly bytesValue?: string;
  readonly boolValue?: boolean;
  readonly nullValue?: null;
  readonly typeValue?: string;
  readonly listValue?: { readonly values?: readonly Encoded[] };
  readonly mapValue?: { readonly entries?: readonly { readonly key: Encoded; readonly value: Encoded }[] };
  readonly objectValue?: { readonly "@type": string; readonly value?: string };
}

function decode(encoded: Encoded): Value {
  if (encoded.int64Value !== undefined) {
    const int = BigInt(encoded.int64Value);
    return Number.isSafeInteger(Number(int)) ? Number(int) : int;
  }
  if (encoded.uint64Value !== undefined) return new Uint(BigInt(encoded.uint64Value));
  if (encoded.doubleValue !== undefined) return new Double(Number(encoded.doubleValue));
  if (encoded.bytesValue !== undefined) return Buffer.from(encoded.bytesValue, "base64");
  if (encoded.typeValue !== undefined) return new TypeValue(encoded.typeValue);
  if (encoded.listValue !== undefined) return (encoded.listValue.values ?? []).map(decode);
  if (encoded.objectValue !== undefined) return decodeObject(encoded.objectValue);
  if (encoded.mapValue === undefined) return encoded.stringValue ?? encoded.boolValue ?? null;
  return new Map((encoded.mapValue.entries ?? []).map(({ key, value }) => [decode(key), decode(value)]));
}

function decodeObject(object: NonNullable<Encoded["objectValue"]>): Value {
  if (object["@type"].endsWith("Duration")) {
    return new Duration(BigInt(Math.round(Number(object.value?.replace("s", "")) * 1e9)));
  }
  return new Timestamp(BigInt(Date.parse(object.value ?? "")) * 1_000_000n);
}

interface Case {
  readonly name: string;
  readonly test: SerializedIncrementalTest;
}

const casesOf = (suite: SerializedIncrementalTestSuite, path: string): readonly Case[] => [
  ...(suite.tests ?? []).map((one) => ({ name: `${path}/${one.original.name}`, test: one })),
  ...(suite.suites ?? []).flatMap((one) => casesOf(one, `${path}/${one.name}`)),
];

/** Whether a case uses messages, or functions that only the test declares. */
const usesMessages = ({ test: { original } }: Case): boolean =>
  /"function":|TestAllTypes|messageType|google\.protobuf\.\w*Value|google\.protobuf\.(Any|Struct)|NullValue|wrapper|enum/.test(
    JSON.stringify(original),
  );

const base = new Environment({ libraries: [standardLibrary, optionalsLibrary, stringsLibrary, comprehensionsLibrary] });

interface Declaration {
  readonly name: string;
  readonly ident?: { readonly type: DeclaredType };
}

const costLimit = 1_000_000;

/** Returns the result, or the text of an error in any phase. */
function run({ test: { original } }: Case): Evaluation | string {
  const parsed = parse(original.expr, { hasTwoVariables: true });
  if ("issues" in parsed) return parsed.issues.map(({ message }) => message).join("; ");
  // These are `Decl` messages in JSON.
  const declarations = (original["typeEnv"] ?? []) as unknown as readonly Declaration[];
  const bindings = (original["bindings"] ?? {}) as unknown as Readonly<Record<string, { readonly value: Encoded }>>;
  const activation = Object.fromEntries(Object.entries(bindings).map(([name, { value }]) => [name, decode(value)]));
  const environment = base.extend({
    variables: new Map(declarations.flatMap(({ name, ident }) => (ident ? [[name, declaredType(ident.type)]] : []))),
  });
  if (original["disableCheck"] === true) {
    const overloads = (name: string) => {
      const result = environment.functions.get(name);
      return [...(result?.plain ?? []), ...(result?.members ?? [])].map(({ overload }) => overload);
    };
    const program = compile({ ast: parsed.ast, types: new Map(), references: new Map() }, overloads);
    return program instanceof CelError ? program.message : program.evaluate(activation, { costLimit });
  }
  const checked = check(parsed.ast, environment);
  if ("issues" in checked) return checked.issues.map(({ message }) => message).join("; ");
  const program = compile(checked);
  return program instanceof CelError ? program.message : program.evaluate(activation, { costLimit });
}

const noBudget = { spend: () => {}, work: () => {} };

const isNan = (value: Value): boolean => value instanceof Double && Number.isNaN(value.value);

/** Returns the difference between a result and the expected one; `undefined` if there is none. */
function difference(one: Case): string | undefined {
  const { original } = one.test;
  const result = run(one);
  const shown = typeof result === "string" ? result : "error" in result ? result.error.message : undefined;
  if (original["evalError"] !== undefined) return shown === undefined ? "an error was expected" : undefined;
  // Other tests compare types.
  if (original["typedResult"] !== undefined && original["value"] === undefined) return undefined;
  if (typeof result === "string" || "error" in result) return shown;
  // Without a value, the test expects true.
  const wanted = decode((original["value"] ?? { boolValue: true }) as Encoded);
  const isSame =
    kindOf(wanted) === kindOf(result.value) &&
    (equals(wanted, result.value, noBudget) || (isNan(wanted) && isNan(result.value)));
  return isSame ? undefined : `wanted ${show(wanted)}, found ${show(result.value)}`;
}

const show = (value: Value): string =>
  JSON.stringify(value, (_, part: unknown) =>
    typeof part === "bigint" ? String(part) : part instanceof Map ? [...(part as ReadonlyMap<Value, Value>)] : part,
  );

test("the specification's tests have their results, but for what a 1.32 server answers otherwise", () => {
  const suites = (conformance.suites ?? []).filter(({ name }) => files.includes(name));
  const cases = suites.flatMap((suite) => casesOf(suite, suite.name)).filter((one) => !usesMessages(one));
  assert.ok(cases.length > 1300, `only ${cases.length} cases`);
  const excepted = Object.values(exceptions).flat();
  const failing = cases.flatMap((one) => {
    const overloads = difference(one);
    return overloads === undefined ? [] : [{ ...one, found: overloads }];
  });
  const unexpected = failing.filter(({ name }) => !excepted.includes(name));
  assert.deepEqual(
    unexpected.map(({ name, test: { original }, found: result }) => `${name}: ${original.expr}: ${result}`),
    [],
  );
  assert.deepEqual(
    excepted.filter((name) => !failing.some((one) => one.name === name)),
    [],
    "these pass",
  );
});
