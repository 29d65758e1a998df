/**
 * Parses YAML as kubectl does: the first document, the words of YAML 1.1 for true and false, the last of duplicate
 * keys. js-yaml is loaded with the first text. Messages quote nothing of the text, which may hold secrets.
 */
import { rawNumber } from "#std/raw-number.ts";

/** The error of a text that is not YAML. The message begins with the line. */
export class YamlError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "YamlError";
  }
}

/** The maximum number of aliases (`*name`), each of which repeats a part of the document. */
const aliasesMax = 1000;

/**
 * Resolves with the value; with null for an empty text. Whole numbers that JavaScript cannot represent are raw. Rejects
 * with `YamlError`.
 */
export async function parseYaml(text: string): Promise<unknown> {
  const { boolYaml11Tag, CORE_SCHEMA, defineScalarTag, intCoreTag, loadAll, mergeTag, NOT_RESOLVED, YAMLException } =
    await import("js-yaml");
  const int = defineScalarTag<unknown>(intCoreTag.tagName, {
    implicit: true,
    identify: () => false,
    resolve(source, isExplicit, tagName) {
      const value = intCoreTag.resolve(source, isExplicit, tagName);
      if (value === NOT_RESOLVED || Number.isSafeInteger(value)) return value;
      return rawNumber(String(BigInt(source.replace(/^\+/, ""))));
    },
  });
  const schema = CORE_SCHEMA.withTags(boolYaml11Tag, mergeTag, int);
  try {
    return loadAll(text, { schema, json: true, maxAliases: aliasesMax })[0] ?? null;
  } catch (error) {
    if (!(error instanceof YAMLException)) throw new YamlError("not YAML");
    // The reasons name anchors and tags at most.
    throw new YamlError(error.mark === undefined ? error.reason : `line ${error.mark.line + 1}: ${error.reason}`);
  }
}
