/** Loads js-yaml and configures it with our scalars. No other file loads it for bodies and answers. */
import type { Schema } from "js-yaml";
import { createRequire } from "node:module";
import { isPlainText } from "./scalars.ts";

/** The module js-yaml, and the schema with which it writes. */
export interface YamlLibrary {
  readonly yaml: typeof import("js-yaml");
  /**
   * The schema for writing: it finds texts that a reader of YAML 1.1, of YAML 1.2 or of upstream takes for another
   * value.
   */
  readonly writing: Schema;
}

let loaded: YamlLibrary | undefined;

/**
 * Returns the library, which is loaded synchronously for the first text: many servers never read or write YAML, and
 * this is the largest file of the program.
 */
export const yamlLibrary = (): YamlLibrary => (loaded ??= load());

/** The tag of scalars that are written verbatim. */
export const verbatimTag = "tag:yaml.org,2002:json";

function load(): YamlLibrary {
  const yaml = createRequire(import.meta.url)("js-yaml") as YamlLibrary["yaml"];
  const verbatim = yaml.defineScalarTag<string>(verbatimTag, {
    implicit: true,
    resolve: (text) => (isPlainText(text) ? yaml.NOT_RESOLVED : text),
    identify: () => false,
  });
  return { yaml, writing: yaml.DUMP_SCHEMA.withTags(verbatim) };
}
