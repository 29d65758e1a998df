/**
 * The feature gates as the flag `--feature-gates` sets them, with upstream's errors and warnings. Source: upstream's
 * `component-base/featuregate`.
 */
import type { GateFacts } from "./definitions.ts";
import { parseBool } from "./go-bool.ts";

export interface FeatureGates {
  /** Returns whether a gate is on; false for unknown names. The function can be used without its object. */
  readonly isOn: (name: string) => boolean;
  /** All gates that exist, by name. */
  readonly all: readonly { readonly name: string; readonly stage: GateFacts["stage"]; readonly isOn: boolean }[];
  /** Warnings for the log, about gates that were set and will be removed. */
  readonly warnings: readonly string[];
}

/**
 * Parses the values of the flag, each `Name=bool,Name=bool`, all names or none with the prefix `kube:`; later ones win.
 * `AllAlpha` and `AllBeta` set the gates that are not set by name. Throws an `Error` with one line for unknown gates, bad
 * values and locked gates.
 */
export function parseFeatureGates(gates: readonly GateFacts[], texts: readonly string[]): FeatureGates {
  const gatesByName = new Map(gates.map((gate) => [gate.name, gate]));
  const set = readPairs(texts);
  const warnings: string[] = [];
  const problems: string[] = [];
  for (const [name, value] of set) {
    const gate = gatesByName.get(name);
    if (gate === undefined) {
      problems.push(`unrecognized feature gate: ${name}`);
      break; // Upstream: nothing behind it is looked at.
    }
    if (gate.locked && gate.default !== value) {
      problems.push(`cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`);
      continue;
    }
    if (gate.stage === "ga" || gate.stage === "deprecated") {
      const stage = gate.stage === "ga" ? "GA" : "deprecated";
      warnings.push(`Setting ${stage} feature gate ${name}=${value}. It will be removed in a future release.`);
    }
  }
  if (problems.length > 0) throw refusal(problems.length === 1 ? problems[0]! : `[${problems.join(", ")}]`);
  const on = new Map<string, boolean>();
  for (const gate of gates) {
    const all = gate.name === "AllAlpha" || gate.name === "AllBeta" ? undefined : set.get(allOf[gate.stage] ?? "");
    on.set(gate.name, set.get(gate.name) ?? all ?? gate.default);
  }
  const all = gates.map(({ name, stage }) => ({ name, stage, isOn: on.get(name) ?? false }));
  return { isOn: (name) => on.get(name) ?? false, all, warnings };
}

const refusal = (message: string): Error => new Error(`--feature-gates: ${message}`);

const allOf: Readonly<Record<string, string>> = { alpha: "AllAlpha", beta: "AllBeta" };

const mixedPrefixes =
  "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";

function readPairs(texts: readonly string[]): Map<string, boolean> {
  const pairs = new Map<string, boolean>();
  const prefixes = new Set<boolean>();
  for (const pair of texts.flatMap((text) => text.split(","))) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    if (equals < 0) throw refusal(`missing bool value for ${pair.trim()}`);
    const fullName = pair.slice(0, equals).trim();
    const colon = fullName.indexOf(":");
    const component = fullName.slice(0, Math.max(0, colon));
    if (colon >= 0 && component !== "kube") throw refusal(`component not registered: ${component}`);
    const name = fullName.slice(colon + 1);
    prefixes.add(colon >= 0);
    if (prefixes.size > 1) throw refusal(mixedPrefixes);
    const text = pair.slice(equals + 1).trim();
    const value = parseBool(text);
    if (typeof value === "string") throw refusal(`invalid value of ${name}=${text}, err: ${value}`);
    pairs.set(name, value);
  }
  return pairs;
}
