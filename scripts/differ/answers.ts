/** Answers about kinds as lines for the comparison: the findings of a refusal, or the stored values. */
import { type Answer, comparableText } from "./servers.ts";

/** Returns an answer as lines: the findings of a refusal, or a line for each value that a write stored. */
export function linesOf(answer: Answer, hasServerStatus: boolean): readonly string[] {
  const findings = findingsOf(answer);
  if (answer.code >= 300) return findings;
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...fields } = answer.body;
  const { status: _status, ...withoutStatus } = fields;
  const content = hasServerStatus ? withoutStatus : fields;
  return [...findings, ...valueLines("", content)].map(withoutValues).map(withoutAllocated);
}

/** Returns the code, findings and warnings of an answer, without duplicates. */
export function findingsOf(answer: Answer): string[] {
  // The other lines are parts of Go structs.
  const lines = comparableText(answer)
    .split("\n")
    .filter((line) => /^(?:\w|<nil>|\[\]|\{)/.test(line));
  return [...new Set(lines.map(withoutValues))];
}

/**
 * Returns the line without addresses and ports that each server allocates from its own range, and without times of the
 * status that are those of the request.
 */
const withoutAllocated = (line: string): string =>
  line
    .replace(/^(\.spec\.(?:clusterIPs?|ports|healthCheckNodePort).*) = (?:"10\.0\.\d+\.\d+"|3[0-2]\d{3})$/, "$1 = ...")
    .replace(/^(\.status\.\S+Time) = "(.*)"$/, (whole, name: string, time: string) =>
      Date.now() - Date.parse(time) < 60_000 ? `${name} = ...` : whole,
    );

export const randomName = /kube-api-access-\w{5}/g;
export const uid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g;

/**
 * Returns the line without values that are objects or bytes, without the list of changed fields, and without random
 * names. Numbers, quantities and times in Go syntax become JSON.
 */
const withoutValues = (line: string): string =>
  line
    .replace(/(\.nodePort: Duplicate value: )3[0-2]\d{3}$/, "$1...")
    .replace(/( spec\.request: Invalid value: )"[^"]*"/, "$1...")
    .replace(/\bintstr\.IntOrString\{Type:0, IntVal:(-?\d+), StrVal:""\}/g, "$1")
    .replace(/\b(?:intstr\.IntOrString|resource\.Quantity)\{[^"]*("[^"]*")(?:, Format:"\w+")?\}/g, "$1")
    .replace(/\b(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?) \+0000 UTC/g, '"$1T$2Z"')
    .replace(/(\d\d:\d\d:\d\d)(\.\d*[1-9])?\.?0*Z"/g, '$1$2Z"')
    .replace(
      /(value: )(?:[*&]?(?:\[\]|map\[\w+\])?(?:interface \{\}|[\w.]*)\{.*\}|\[.*\]|[\w.*[\]]*\(?nil\)?|"?null"?)(: |$)/g,
      "$1...$2",
    )
    .replace(/ \(changed: .*\)$/, "")
    .replace(randomName, "kube-api-access")
    .replace(uid, "UID");

/** Returns a line for each value that has no members, sorted. */
export function valueLines(path: string, value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [`${path} = ${JSON.stringify(value)}`];
  const members = Object.entries(value);
  if (members.length === 0) return [`${path} = ${JSON.stringify(value)}`];
  return members.flatMap(([name, member]) => valueLines(`${path}.${name}`, member)).sort();
}

/** Returns the lines of each answer without those that both have, except the first line. */
export function findDifferences(answers: readonly (readonly string[])[]): string[] {
  return answers.map((lines, at) => {
    const others = new Set(answers[1 - at]);
    const isOnlyHere = lines[0]!.startsWith("20") && answers[1 - at]![0] !== lines[0];
    return [lines[0], ...(isOnlyHere ? [] : lines.slice(1)).filter((line) => !others.has(line))].join("\n");
  });
}
