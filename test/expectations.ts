/**
 * A js-yaml schema for the YAML files of tests. It has tags for expectations that YAML cannot express, such as an
 * absent field.
 */
import { CORE_SCHEMA, defineScalarTag, mergeTag, type ScalarTagDefinition, type Schema } from "js-yaml";
import { absent, present } from "./view.ts";

/** Returns a tag whose value is made from the text after it: `!match ^a+$`. */
export const yamlTag = (name: string, resolve: (source: string) => unknown): ScalarTagDefinition =>
  defineScalarTag(name, { resolve, identify: () => false });

/** The schema with `!absent`, `!present`, `!match EXPRESSION` and merge keys. */
export const expectations: Schema = CORE_SCHEMA.withTags(
  mergeTag,
  yamlTag("!absent", () => absent),
  yamlTag("!present", () => present),
  yamlTag("!match", (source) => new RegExp(source)),
);
