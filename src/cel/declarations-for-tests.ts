/**
 * Environments for tests of the checker: declarations of the language with optional values and the strings extension,
 * without implementations.
 */
import { operators } from "./ast.ts";
import type { Validator } from "./checked.ts";
import { Environment } from "./environment.ts";
import type { FunctionDeclaration, Library, Overload } from "./functions.ts";
import { standardDeclarations } from "./library/standard-declarations.ts";
import { bool, type CelType, dyn, int, listOf, mapOf, opaque, optionalOf, parameter, string, typeOf } from "./types.ts";

export const plain = (id: string, args: readonly CelType[], result: CelType): Overload => ({
  id,
  isMember: false,
  args,
  result,
});
export const member = (id: string, args: readonly CelType[], result: CelType): Overload => ({
  id,
  isMember: true,
  args,
  result,
});

export interface Choices {
  readonly variables?: Readonly<Record<string, CelType>>;
  readonly functions?: readonly FunctionDeclaration[];
  readonly validators?: readonly Validator[];
}

/** Returns an environment like that of Kubernetes, where numbers of different types are comparable. */
export function environmentWith({ variables = {}, functions = [], validators = [] }: Choices): Environment {
  const libraries = [standardDeclarations, optionals, strings, insertions, { name: "of the test", functions }];
  return new Environment({ libraries, validators }).extend({ variables: new Map(Object.entries(variables)) });
}

/**
 * The environment for which the data of the language's specification was made: only numbers of one type are comparable.
 */
export const strictBase = new Environment({ libraries: [withoutMixedNumbers(standardDeclarations)] });

function withoutMixedNumbers(library: Library): Library {
  const isMixed = ({ args: [one, other] }: Overload): boolean => one !== other && one?.kind !== "parameter";
  const functions = library.functions.map((declaration) => {
    const isOrdering = declaration.overloads[0]!.id.endsWith("_bool") && declaration.name.startsWith("_");
    return isOrdering
      ? { ...declaration, overloads: declaration.overloads.filter((one) => !isMixed(one)) }
      : declaration;
  });
  return { ...library, functions };
}

const K = parameter("K");
const V = parameter("V");
const list = listOf(V);
const map = mapOf(K, V);
const optional = optionalOf(V);

export const optionals: Library = {
  name: "optional",
  functions: [
    { name: "optional.of", overloads: [plain("optional_of", [V], optional)] },
    { name: "optional.ofNonZeroValue", overloads: [plain("optional_ofNonZeroValue", [V], optional)] },
    { name: "optional.none", overloads: [plain("optional_none", [], optional)] },
    { name: "value", overloads: [member("optional_value", [optional], V)] },
    { name: "hasValue", overloads: [member("optional_hasValue", [optional], bool)] },
    { name: "or", overloads: [member("optional_or_optional", [optional, optional], optional)] },
    { name: "orValue", overloads: [member("optional_orValue_value", [optional, V], V)] },
    {
      name: operators.optionalIndex,
      overloads: [
        plain("list_optindex_optional_int", [list, int], optional),
        plain("optional_list_optindex_optional_int", [optionalOf(list), int], optional),
        plain("map_optindex_optional_value", [map, K], optional),
        plain("optional_map_optindex_optional_value", [optionalOf(map), K], optional),
      ],
    },
    {
      name: operators.index,
      overloads: [
        plain("optional_list_index_int", [optionalOf(list), int], optional),
        plain("optional_map_index_value", [optionalOf(map), K], optional),
      ],
    },
  ],
  constants: new Map([["optional_type", { type: typeOf(opaque("optional_type")), value: opaque("optional_type") }]]),
};

/** The functions that the macros with two variables call. */
const insertions: Library = {
  name: "comprehensions",
  functions: [
    {
      name: "cel.@mapInsert",
      overloads: [plain("@mapInsert_map_map", [map, map], map), plain("@mapInsert_map_key_value", [map, K, V], map)],
    },
  ],
};

export const strings: Library = {
  name: "strings",
  functions: [
    { name: "charAt", overloads: [member("string_char_at_int", [string, int], string)] },
    {
      name: "indexOf",
      overloads: [
        member("string_index_of_string", [string, string], int),
        member("string_index_of_string_int", [string, string, int], int),
      ],
    },
    {
      name: "lastIndexOf",
      overloads: [
        member("string_last_index_of_string", [string, string], int),
        member("string_last_index_of_string_int", [string, string, int], int),
      ],
    },
    {
      name: "join",
      overloads: [
        member("list_join", [listOf(string)], string),
        member("list_join_string", [listOf(string), string], string),
      ],
    },
    { name: "lowerAscii", overloads: [member("string_lower_ascii", [string], string)] },
    { name: "upperAscii", overloads: [member("string_upper_ascii", [string], string)] },
    {
      name: "replace",
      overloads: [
        member("string_replace_string_string", [string, string, string], string),
        member("string_replace_string_string_int", [string, string, string, int], string),
      ],
    },
    {
      name: "split",
      overloads: [
        member("string_split_string", [string, string], listOf(string)),
        member("string_split_string_int", [string, string, int], listOf(string)),
      ],
    },
    {
      name: "substring",
      overloads: [
        member("string_substring_int", [string, int], string),
        member("string_substring_int_int", [string, int, int], string),
      ],
    },
    { name: "trim", overloads: [member("string_trim", [string], string)] },
    { name: "reverse", overloads: [member("string_reverse", [string], string)] },
    { name: "format", overloads: [member("string_format", [string, listOf(dyn)], string)] },
    { name: "strings.quote", overloads: [plain("strings_quote", [string], string)] },
  ],
};
