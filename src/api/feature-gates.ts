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
 * Parses the values of the flag, each `Name=bool,Name=bool`; later ones win. `AllAlpha` and `AllBeta` set the gates
 * that are not set by name. Throws an `Error` with one line for unknown gates, bad values and locked gates.
 */
export function parseFeatureGates(gates: readonly GateFacts[], texts: readonly string[]): FeatureGates {
  const gatesByName = new Map(gates.map((gate) => [gate.name, gate]));
  const set = readPairs(texts);
  const warnings: string[] = [];
  for (const [name, value] of set) {
    const gate = gatesByName.get(name);
    if (gate === undefined) throw refusal(`unrecognized feature gate: ${name}`);
    if (gate.locked && gate.default !== value) {
      throw refusal(`cannot set feature gate ${name} to ${value}, feature is locked to ${gate.default}`);
    }
    if (gate.stage === "ga" || gate.stage === "deprecated") {
      const stage = gate.stage === "ga" ? "GA" : "deprecated";
      warnings.push(`Setting ${stage} feature gate ${name}=${value}. It will be removed in a future release.`);
    }
  }
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

function readPairs(texts: readonly string[]): Map<string, boolean> {
  const pairs = new Map<string, boolean>();
  for (const pair of texts.flatMap((text) => text.split(","))) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    if (equals < 0) throw refusal(`missing bool value for ${pair.trim()}`);
    const name = pair.slice(0, equals).trim();
    const text = pair.slice(equals + 1).trim();
    const value = parseBool(text);
    if (typeof value === "string") throw refusal(`invalid value of ${name}=${text}, err: ${value}`);
    pairs.set(name, value);
  }
  return pairs;
}
