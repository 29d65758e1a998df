/**
 * The values that `--allow-metric-labels` and its manifest allow for labels of metrics. Source of syntax and messages: the
 * answers of kube-apiserver.
 */
import { readFileSync } from "node:fs";
import { readTexts } from "#codec/config-document.ts";
import type { AllowedLabels } from "#std/allowed-labels.ts";
import type { Log } from "#std/log.ts";
import { StartError } from "#std/start-error.ts";

const keyForm = /^[a-zA-Z_:][a-zA-Z0-9_:]*,[a-zA-Z_][a-zA-Z0-9_]*$/;

const keyMistake = "must have keys metric,label and values with commas between them: metric,label=value,value";

/** Values with commas between them, by `metric,label`. */
type Entry = readonly [key: string, values: string];

/**
 * Returns the entries of one value of the flag: a single entry, or several as one line of CSV, so that an entry with
 * commas is in quotes.
 */
function entriesOf(text: string): readonly Entry[] | undefined {
  const fields = text.split("=").length > 2 ? csvFields(text) : [text.replace(/^"+|"+$/g, "")];
  if (fields?.every((field) => field.includes("=")) !== true) return undefined;
  return fields.map((field) => {
    const at = field.indexOf("=");
    return [field.slice(0, at), field.slice(at + 1)];
  });
}

/** Returns the fields of a line of CSV (RFC 4180); `undefined` for a text that is none. */
function csvFields(line: string): readonly string[] | undefined {
  const fields: string[] = [];
  const field = /(?:"((?:[^"]|"")*)"|([^",\n]*))(,|$)/y;
  for (;;) {
    const match = field.exec(line);
    if (match === null) return undefined;
    const [, quoted, plain, end] = match;
    fields.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === "") return field.lastIndex >= line.length || match[0] === "" ? fields : undefined;
  }
}

/** Returns the mistake in a value of the flag. */
export function allowedValuesMistake(text: string): string | undefined {
  return entriesOf(text)?.every(([key]) => keyForm.test(key)) === true ? undefined : keyMistake;
}

/** Returns what the values of the flag allow. Of entries with the same key the last one counts. */
export const allowedLabels = (texts: readonly string[]): AllowedLabels =>
  byMetric(texts.flatMap((text) => entriesOf(text) ?? []));

function byMetric(entries: readonly Entry[]): AllowedLabels {
  const allowed = new Map<string, Map<string, ReadonlySet<string>>>();
  for (const [key, values] of entries) {
    const [metric = "", label = ""] = key.split(",");
    const labels = allowed.get(metric) ?? new Map<string, ReadonlySet<string>>();
    allowed.set(metric, labels.set(label, new Set(values.split(","))));
  }
  return allowed;
}

/**
 * Reads what a manifest allows. A file that cannot be used is logged and allows everything, as in kube-apiserver. Throws
 * `StartError` for a key that names no label.
 */
export function readAllowedLabels(file: string, log: Pick<Log, "error">): AllowedLabels {
  let entries: readonly Entry[];
  try {
    entries = Object.entries(readTexts(readFileSync(file, "utf8")));
  } catch (error) {
    log.error({ error, file }, "the allowed values of metric labels could not be read: all are allowed");
    return new Map();
  }
  const wrong = entries.find(([key]) => !keyForm.test(key));
  if (wrong !== undefined)
    throw new StartError(`${file}: invalid key ${JSON.stringify(wrong[0])}: must be metric,label`);
  return byMetric(entries);
}
