/** Compares types and overloads of the expressions of `@bufbuild/cel-spec` with those of cel-go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tests as checking } from "@bufbuild/cel-spec/testdata/checking.js";
import { tests as conformance } from "@bufbuild/cel-spec/testdata/conformance.js";
import type { SerializedIncrementalTest, SerializedIncrementalTestSuite } from "@bufbuild/cel-spec/testdata/tests.js";
import { showType } from "./check/show-type.ts";
import { check } from "./check.ts";
import { type DeclaredType, declaredType } from "./conformance-types-for-tests.ts";
import { member, optionals, plain, strictBase, strings } from "./declarations-for-tests.ts";
import { Environment } from "./environment.ts";
import type { FunctionDeclaration } from "./functions.ts";
import { showIssues } from "./issues.ts";
import { standardDeclarations } from "./library/standard-declarations.ts";
import { parse } from "./parse.ts";
import {
  bool,
  bytes,
  type CelType,
  double,
  dyn,
  int,
  listOf,
  mapOf,
  nullType,
  type ObjectType,
  opaque,
  parameter,
  string,
  typeOf,
  uint,
} from "./types.ts";

/** The type or the issues, and the overloads of all calls. */
interface Outcome {
  readonly shown: string;
  readonly overloads: readonly string[];
}

function outcome(source: string, environment: Environment): Outcome {
  const parsed = parse(source);
  if ("issues" in parsed) return { shown: showIssues(source, parsed.issues), overloads: [] };
  const checked = check(parsed.ast, environment);
  if ("issues" in checked) return { shown: showIssues(source, checked.issues), overloads: [] };
  const functions = [...checked.references.values()].filter((reference) => reference.kind === "function");
  const overloads = functions.map(({ overloads: all }) =>
    all
      .map(({ id }) => id)
      .sort()
      .join("|"),
  );
  return { shown: showType(checked.type), overloads: overloads.sort() };
}

/** Returns the outcome in the data, with those overloads only that the environment has. */
function expectedOutcome(
  { type, error, checkedAst = "" }: SerializedIncrementalTest,
  environment: Environment,
): Outcome {
  const known = new Set(
    [...environment.functions.values()]
      .flatMap(({ plain: some, members }) => [...some, ...members])
      .map(({ overload }) => overload.id),
  );
  const mentioned = [...checkedAst.matchAll(/\^([\w@|]+)/g)].map((match) => match[1]!);
  // A variable may have the name of an overload's id, as `type` does.
  const overloads = mentioned.filter((ids) => ids !== "type" && ids.split("|").every((id) => known.has(id)));
  return { shown: type ?? error ?? "", overloads: overloads.map((ids) => ids.split("|").sort().join("|")).sort() };
}

function differences(
  tests: readonly SerializedIncrementalTest[],
  environmentOf: (test: SerializedIncrementalTest) => Environment,
): string[] {
  return tests.flatMap((one) => {
    const environment = environmentOf(one);
    const expectation = expectedOutcome(one, environment);
    const result = outcome(one.original.expr, environment);
    const overloads = result.overloads.filter((ids) => ids !== "type");
    if (result.shown === expectation.shown && overloads.join() === expectation.overloads.join()) return [];
    const both = (a: string, b: string) => `\n  wanted: ${a}\n  found: ${b}`;
    return [
      one.original.expr +
        (result.shown === expectation.shown
          ? both(expectation.overloads.join(), overloads.join())
          : both(expectation.shown, result.shown)),
    ];
  });
}

const all = (suite: SerializedIncrementalTestSuite): readonly SerializedIncrementalTest[] => [
  ...(suite.tests ?? []),
  ...(suite.suites ?? []).flatMap(all),
];

const usesMessages = (one: SerializedIncrementalTest): boolean =>
  /TestAllTypes|google\.|messageType/.test(JSON.stringify([one.original, one.checkedAst ?? ""]));

/** The extensions that Kubernetes does not have. */
const absentFiles = new Set(["bindings_ext", "block_ext", "encoders_ext", "math_ext"]);

/** The errors that have other causes than types, with the reason. */
const elsewhere: readonly (readonly [RegExp, string])[] = [
  [/unsupported syntax/, "the data was made without optional syntax and quoted fields"],
  [/recursion limit exceeded: 32/, "the data was made with a lower limit"],
  [/formatting|index 2 out of range/, "the strings extension checks literal formats"],
];

test("conformance expressions without protobuf messages have the types, the overloads or the errors of the reference", () => {
  const cases = (conformance.suites ?? [])
    .filter(({ name }) => !absentFiles.has(name))
    .flatMap(all)
    .filter((one) => !usesMessages(one) && !isOfElsewhere(one));
  assert.ok(cases.length > 1200, `only ${cases.length} expressions`);
  assert.deepEqual(differences(cases, conformanceEnvironment), []);
});

const isOfElsewhere = ({ original, error = "" }: SerializedIncrementalTest): boolean =>
  original["container"] !== undefined || elsewhere.some(([which]) => which.test(error));

function conformanceEnvironment(one: SerializedIncrementalTest): Environment {
  // In the data, `typeEnv` is the JSON of `Decl` messages of the specification.
  const declarations = (one.original["typeEnv"] ?? []) as unknown as readonly Declaration[];
  if (declarations.length === 0) return extendedBase;
  const variables = declarations.flatMap(({ name, ident }) =>
    ident ? [[name, declaredType(ident.type)] as const] : [],
  );
  const functions = declarations.flatMap(({ name, function: declared }) => {
    if (declared === undefined) return [];
    const overloads = declared.overloads.map(({ overloadId, params, resultType }) =>
      plain(overloadId, params.map(declaredType), declaredType(resultType)),
    );
    return [{ name, overloads }];
  });
  return extendedBase.extend({ variables: new Map(variables), libraries: [{ name: "of the test", functions }] });
}

const extendedBase = strictBase.extend({ libraries: [optionals, strings] });

interface Declaration {
  readonly name: string;
  readonly ident?: { readonly type: DeclaredType };
  readonly function?: {
    readonly overloads: readonly {
      readonly overloadId: string;
      readonly params: readonly DeclaredType[];
      readonly resultType: DeclaredType;
    }[];
  };
}

/** The tests of the reference's checker that do not apply here, with the reason. */
const foreign: readonly (readonly [RegExp, string])[] = [
  [/unsupported syntax/, "the data was made without optional syntax"],
  [/wrapper|null_int|NotAMessage/, "there are no wrapper types"],
  [/google\.(protobuf|expr)|NestedEnum|^test\./, "there are no protobuf messages, enumerations and containers"],
  [/^(encode|base64|x$|TestAllTypes\{\}\.repeated)/m, "there are no containers"],
  [/^size\(x\) > 4$/m, "it declares a size of messages"],
];

test("the reference's own tests of its checker have its types, overloads or errors", () => {
  const cases = (checking.tests ?? []).filter(
    ({ original, error = "" }) => !foreign.some(([which]) => which.test(`${original.expr}\n${error}`)),
  );
  assert.ok(cases.length >= 100, `only ${cases.length} expressions`);
  assert.deepEqual(differences(cases, checkerEnvironment), []);
});

/** Returns a message type of which only the fields in the test are known. */
const message = (name: string, fields: ReadonlyMap<string, CelType>): ObjectType => ({
  kind: "object",
  name,
  field: (field) => {
    const type = fields.get(field);
    return type && { key: field, type };
  },
});

const A = parameter("A");
const checkerFunctions: readonly FunctionDeclaration[] = [
  { name: "fg_s", overloads: [plain("fg_s_0", [], string)] },
  { name: "fi_s_s", overloads: [member("fi_s_s_0", [string], string)] },
  { name: "set", overloads: [plain("set_list", [listOf(A)], opaque("set", A))] },
  {
    name: "myfun",
    overloads: [plain("myfun_static", [int, bool, uint], int), member("myfun_instance", [int, bool, uint], int)],
  },
];

/**
 * Returns the environment of a test. The data has no declarations of variables and fields, but the checked tree shows
 * the type of each.
 */
function checkerEnvironment(one: SerializedIncrementalTest): Environment {
  const { expr } = one.original;
  const tree = one.checkedAst ?? "";
  const fields = new Map<string, CelType>(Object.entries(messageFields));
  const read = readerWith(fields);
  for (const [, name, rest] of tree.matchAll(/\.([a-z]\w*)~(?!test-only)(?=(.*))/g))
    fields.set(name!, read(rest!, 0).type);
  const shown = [...tree.matchAll(/(?<![\w.@"])([a-z]\w*)~(?=(.*))/g)].flatMap(([, name, rest]) => {
    const { type, end } = read(rest!, 0);
    return rest!.startsWith(`^${name}`, end) && !standardNames.has(name!) ? [[name!, type] as const] : [];
  });
  const declared = Object.entries(errorVariables[expr] ?? {}).map(
    ([name, type]) => [name, read(type, 0).type] as const,
  );
  const variables = new Map([...shown.reverse(), ...declared]);
  // A few tests allow comparisons of mixed numbers.
  const base = tree.includes("_int64_double") ? new Environment({ libraries: [standardDeclarations] }) : strictBase;
  return base.extend({
    libraries: [optionals, { name: "of the test", functions: checkerFunctions }],
    variables,
    findType: (name) => (name === "TestAllTypes" ? message(testMessage, fields) : undefined),
  });
}
/** The names of the language, which the data shows in the form of variables. */
const standardNames = new Set(["int", "list", "map", "null_type", "type"]);

/** The fields of messages in tests without a checked tree. */
const messageFields: Readonly<Record<string, CelType>> = {
  single_int32: int,
  single_int64: int,
  repeated_int32: listOf(int),
  repeated_int64: listOf(int),
  map_string_string: mapOf(string, string),
  single_nested_message: message("google.expr.proto3.test.TestAllTypes.NestedMessage", new Map()),
};

const testMessage = "google.expr.proto3.test.TestAllTypes";

/** The variables of tests without a checked tree. */
const errorVariables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "x + y": { x: `list(${testMessage})`, y: "list(int)" },
  "x[1u]": { x: `list(${testMessage})` },
  "x.all(y, y == true)": { x: "bool" },
  "x[2].single_int32 == 23": { x: `map(string, ${testMessage})` },
  "x.single_int64 != null": { x: testMessage },
  "x.repeated_int64.exists(y, y > 10) && y < 5": { x: testMessage },
  "x.all(e, 0)": { x: testMessage },
  "x.single_nested_message.undefined == x.undefined && has(x.single_int32) && has(x.repeated_int32)": {
    x: testMessage,
  },
};

const simpleTypes: Readonly<Record<string, CelType>> = {
  bool,
  bytes,
  double,
  dyn,
  int,
  null: nullType,
  string,
  uint,
};

interface ReadType {
  readonly type: CelType;
  /** The index after the type. */
  readonly end: number;
}

/** Returns a function that reads types in the form of the data. Messages have the given fields. */
function readerWith(fields: ReadonlyMap<string, CelType>): (text: string, from: number) => ReadType {
  return function read(text, from): ReadType {
    const name = /^(google(\.[a-z]\w*)*(\.[A-Z]\w*)+|\w*)/.exec(text.slice(from))![0];
    let end = from + name.length;
    const parts: CelType[] = [];
    if (text[end] === "(") {
      do {
        const part = read(text, end + (text[end] === "(" ? 1 : 2));
        parts.push(part.type);
        end = part.end;
      } while (text[end] === ",");
      end++;
    }
    const [first = dyn, second = dyn] = parts;
    if (name === "list") return { type: listOf(first), end };
    if (name === "map") return { type: mapOf(first, second), end };
    if (name === "type") return { type: typeOf(parts[0]), end };
    if (name.startsWith("google.")) return { type: message(name, fields), end };
    return { type: simpleTypes[name] ?? opaque(name, ...parts), end };
  };
}
