/** The flag `--feature-gates`, with the gates of 1.32. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { loadDefinitions } from "./definitions.ts";
import { parseFeatureGates } from "./feature-gates.ts";

const { gates } = loadDefinitions(kubernetesDomain);
const isOn = (texts: string[], name: string): boolean => parseFeatureGates(gates, texts).isOn(name);
const expectRefusal = (text: string, message: string) =>
  assert.throws(() => parseFeatureGates(gates, [text]), { message: `--feature-gates: ${message}` }, text);

test("alpha gates are off and can be switched on [GATE-01, GATE-02]", () => {
  assert.equal(isOn([], "CBORServingAndStorage"), false);
  assert.equal(isOn(["CBORServingAndStorage=true"], "CBORServingAndStorage"), true);
});

test("beta gates are on, some stated exceptions off, and can be switched off [GATE-03, GATE-04]", () => {
  assert.equal(isOn([], "APIResponseCompression"), true);
  assert.equal(isOn([], "VolumeAttributesClass"), false);
  assert.equal(isOn([], "DynamicResourceAllocation"), false);
  assert.equal(isOn(["APIResponseCompression=false"], "APIResponseCompression"), false);
});

test("setting a GA gate to what it is anyway is accepted with a warning [GATE-05, GATE-06, VER-30]", () => {
  const parsed = parseFeatureGates(gates, ["APIListChunking=true"]);
  assert.equal(parsed.isOn("APIListChunking"), true);
  assert.deepEqual(parsed.warnings, [
    "Setting GA feature gate APIListChunking=true. It will be removed in a future release.",
  ]);
  assert.deepEqual(parseFeatureGates(gates, ["KMSv1=true"]).warnings, [
    "Setting deprecated feature gate KMSv1=true. It will be removed in a future release.",
  ]);
});

test("unknown gates and locked values are refused [GATE-07, GATE-08]", () => {
  expectRefusal("Nope=true", "unrecognized feature gate: Nope");
  expectRefusal("__proto__=true", "unrecognized feature gate: __proto__");
  expectRefusal(
    "APIListChunking=false,Nope=true,Other=true",
    "[cannot set feature gate APIListChunking to false, feature is locked to true, unrecognized feature gate: Nope]",
  );
  expectRefusal("APIListChunking=false", "cannot set feature gate APIListChunking to false, feature is locked to true");
});

test("the flag is pairs of names and truth values, separated by commas or repeated [GATE-09]", () => {
  const parsed = parseFeatureGates(gates, ["CBORServingAndStorage=true,APIResponseCompression=F", " AppArmor = 1 ,,"]);
  assert.equal(parsed.isOn("CBORServingAndStorage"), true);
  assert.equal(parsed.isOn("APIResponseCompression"), false);
  assert.equal(isOn(["CBORServingAndStorage=true", "CBORServingAndStorage=false"], "CBORServingAndStorage"), false);
  expectRefusal("APIServerTracing", "missing bool value for APIServerTracing");
  expectRefusal(
    "APIServerTracing=maybe",
    'invalid value of APIServerTracing=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
  );
});

test("names may have the prefix of the component, all of them or none [GATE-09]", () => {
  assert.equal(isOn(["kube:APIResponseCompression=false", "kube:AllAlpha=true"], "APIResponseCompression"), false);
  expectRefusal("wardle:Nope=true", "component not registered: wardle");
  const mixed = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use";
  expectRefusal("AllAlpha=true,kube:AllBeta=true", mixed);
});

test("AllAlpha and AllBeta set the gates that nothing else sets", () => {
  const parsed = parseFeatureGates(gates, ["AllAlpha=true,CBORServingAndStorage=false,AllBeta=false"]);
  assert.equal(parsed.isOn("MutatingAdmissionPolicy"), true);
  assert.equal(parsed.isOn("CBORServingAndStorage"), false);
  assert.equal(parsed.isOn("APIServerTracing"), false);
  assert.equal(parsed.isOn("APIListChunking"), true);
  assert.equal(parsed.isOn("no such gate"), false);
});
