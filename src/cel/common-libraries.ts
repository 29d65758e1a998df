/** The libraries that every expression of Kubernetes 1.32 may use, two-variable macros included. */
import type { Library } from "./functions.ts";
import { cidrLibrary } from "./library/cidr.ts";
import { comprehensionsLibrary } from "./library/comprehensions.ts";
import { ipLibrary } from "./library/ip.ts";
import { listsLibrary } from "./library/lists.ts";
import { namedFormatLibrary } from "./library/named-format.ts";
import { optionalsLibrary } from "./library/optionals.ts";
import { quantityLibrary } from "./library/quantity.ts";
import { regexLibrary } from "./library/regex.ts";
import { setsLibrary } from "./library/sets.ts";
import { standardLibrary } from "./library/standard.ts";
import { stringsLibrary } from "./library/strings.ts";
import { urlLibrary } from "./library/url.ts";

export const commonLibraries: readonly Library[] = [
  standardLibrary,
  optionalsLibrary,
  stringsLibrary,
  setsLibrary,
  listsLibrary,
  regexLibrary,
  urlLibrary,
  quantityLibrary,
  ipLibrary,
  cidrLibrary,
  namedFormatLibrary,
  comprehensionsLibrary,
];
