/** The settings of the kube-apiserver that test suites start. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseServeArguments, resolveOptions } from "#server/options.ts";
import { kubeApiserverDefaults } from "./envtest.ts";

test("the kube-apiserver of suites has etcd's timing unless a flag switches it off, and other servers do not", () => {
  const timing = (...args: string[]): boolean =>
    resolveOptions(kubeApiserverDefaults, parseServeArguments(args).settings).upstreamTiming;
  assert.equal(timing(), true);
  assert.equal(timing("--secure-port=0"), true);
  assert.equal(timing("--upstream-timing=false"), false);
  assert.equal(resolveOptions({}).upstreamTiming, false);
});
