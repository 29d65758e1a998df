/** YAML files of tests: a schema of js-yaml with what YAML cannot express, such as a field that must be absent. */
import { CORE_SCHEMA, defineScalarTag, mergeTag, type ScalarTagDefinition, type Schema } from "js-yaml";
import { absent, present } from "./view.ts";

/** A tag whose value is made of the text after it: `!match ^a+$`. */
export const yamlTag = (name: string, resolve: (source: string) => unknown): ScalarTagDefinition =>
  defineScalarTag(name, { resolve, identify: () => false });

/** Knows `!absent`, `!present`, `!match EXPRESSION` and merge keys. */
export const expectations: Schema = CORE_SCHEMA.withTags(
  mergeTag,
  yamlTag("!absent", () => absent),
  yamlTag("!present", () => present),
  yamlTag("!match", (source) => new RegExp(source)),
);
