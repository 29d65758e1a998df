/**
 * `--feature-gates`: which features are on. Source of rules and wording: upstream's `component-base/featuregate`.
 */
import type { GateFacts } from "./definitions.ts";

export interface FeatureGates {
  /** Whether a feature is on. Unknown names are off. */
  isOn(name: string): boolean;
  /** Lines for the log: gates that are set although they are settled or on their way out. */
  readonly warnings: readonly string[];
}

/** Gates that set the default of all gates of a stage. */
const groups: readonly (readonly [name: string, stage: GateFacts["stage"]])[] = [
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
];

/** What Go's `strconv.ParseBool` takes. */
const trueTexts = new Set(["1", "t", "T", "TRUE", "true", "True"]);
const falseTexts = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** `values` are the parts of the flag between commas, `Name=true`. Throws an `Error` to print for a bad one. */
export function parseFeatureGates(facts: readonly GateFacts[], values: readonly string[]): FeatureGates {
  const byName = new Map(facts.map((gate) => [gate.name, gate]));
  const set = new Map<string, boolean>();
  const warnings: string[] = [];
  for (const value of values.map((text) => text.trim()).filter((text) => text !== "")) {
    const at = value.indexOf("=");
    if (at < 0) throw new Error(`--feature-gates: missing bool value for ${value}`);
    const name = value.slice(0, at).trim();
    const text = value.slice(at + 1).trim();
    if (!trueTexts.has(text) && !falseTexts.has(text)) {
      throw new Error(`--feature-gates: invalid value of ${name}=${text}, err: strconv.ParseBool: parsing "${text}": invalid syntax`);
    }
    const isOn = trueTexts.has(text);
    const gate = byName.get(name);
    if (gate === undefined) throw new Error(`--feature-gates: unrecognized feature gate: ${name}`);
    if (gate.locked && gate.default !== isOn) {
      throw new Error(`--feature-gates: cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.default}`);
    }
    set.set(name, isOn);
    if (gate.stage === "deprecated") {
      warnings.push(`Setting deprecated feature gate ${name}=${isOn}. It will be removed in a future release.`);
    } else if (gate.stage === "ga") {
      warnings.push(`Setting GA feature gate ${name}=${isOn}. It will be removed in a future release.`);
    }
  }
  const on = new Set(facts.filter((gate) => isGateOn(gate, set)).map((gate) => gate.name));
  return { isOn: (name) => on.has(name), warnings };
}

function isGateOn(gate: GateFacts, set: ReadonlyMap<string, boolean>): boolean {
  const own = set.get(gate.name);
  if (own !== undefined) return own;
  const group = groups.find(([, stage]) => stage === gate.stage);
  const ofGroup = group === undefined || gate.locked ? undefined : set.get(group[0]);
  return ofGroup ?? gate.default;
}
