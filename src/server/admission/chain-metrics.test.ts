/** Metrics of plugins and steps: counts are exact, and times are those of samples and of runs that wait. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributesOf } from "#admission/attributes-for-tests.ts";
import { admissionChain } from "#admission/chain.ts";
import { type AdmissionPlugin, refusal } from "#admission/plugin.ts";
import { Metrics } from "#std/metrics.ts";
import { observeChain } from "./chain-metrics.ts";

/** A chain on a clock that moves only when plugins take time, and the values of its metrics by their labels. */
function observed(plugins: (spend: (ms: number) => void) => readonly Partial<AdmissionPlugin>[]) {
  let nowMs = 0;
  const metrics = new Metrics();
  const clock = { monotonic: () => nowMs };
  const made = plugins((ms) => {
    nowMs += ms;
  });
  const complete = made.map((plugin): AdmissionPlugin => ({ name: "", operations: ["CREATE"], ...plugin }));
  const chain = admissionChain(complete, observeChain(metrics, clock));
  const show = (pattern: RegExp): readonly string[] =>
    metrics
      .print()
      .split("\n")
      .filter((line) => !line.startsWith("#") && pattern.test(line))
      .map((line) => line.replace(/^apiserver_admission_(controller|step)_admission_duration_seconds/, ""));
  return { chain, show };
}

function spends(spend: (ms: number) => void, ms: number): undefined {
  spend(ms);
}

const attributes = attributesOf({ metadata: { name: "a" } });

test("every run counts, those that answer at once with the time of the last sample", async () => {
  const { chain, show } = observed((spend) => [
    { name: "LimitRanger", admit: () => undefined },
    { name: "Priority", admit: () => spends(spend, 8), validate: () => spend(250) },
    { name: "NotUpstreams", admit: () => spends(spend, 2) },
  ]);
  for (let run = 0; run < 100; run++) await chain.admit(attributes);
  assert.deepEqual(show(/controller_\S*_(count|sum)\{/), [
    '_sum{name="LimitRanger",operation="CREATE",rejected="false",type="admit"} 0',
    '_count{name="LimitRanger",operation="CREATE",rejected="false",type="admit"} 100',
    '_sum{name="Priority",operation="CREATE",rejected="false",type="admit"} 0.8',
    '_count{name="Priority",operation="CREATE",rejected="false",type="admit"} 100',
  ]);
  assert.deepEqual(show(/step_\S*seconds_bucket.*(0\.005|0\.025)/), [
    '_bucket{operation="CREATE",rejected="false",type="admit",le="0.005"} 0',
    '_bucket{operation="CREATE",rejected="false",type="admit",le="0.025"} 100',
  ]);
  await chain.validate(attributes);
  assert.deepEqual(show(/step_\S*_sum\{.*validate/), [
    '_sum{operation="CREATE",rejected="false",type="validate"} 0.25',
    '_summary_sum{operation="CREATE",rejected="false",type="validate"} 0.25',
  ]);
  assert.deepEqual(
    show(/quantile/).map((line) => line.replace(/ .*/, "")),
    ["admit", "validate"].flatMap((type) =>
      ["0.5", "0.9", "0.99"].map(
        (quantile) => `_summary{operation="CREATE",rejected="false",type="${type}",quantile="${quantile}"}`,
      ),
    ),
  );
});

test("a plugin that refuses and the step count as rejected, and the plugins before it do not", async () => {
  for (const later of [false, true]) {
    const refuse = (): never => {
      throw refusal(attributes, "no");
    };
    const { chain, show } = observed(() => [
      { name: "LimitRanger", validate: () => undefined },
      { name: "Priority", validate: () => (later ? Promise.resolve().then(refuse) : refuse()) },
      { name: "ResourceQuota", validate: () => undefined },
    ]);
    for (let run = 0; run < 3; run++) await assert.rejects(async () => chain.validate(attributes));
    assert.deepEqual(show(/_count\{/), [
      '_count{name="LimitRanger",operation="CREATE",rejected="false",type="validate"} 3',
      '_count{name="Priority",operation="CREATE",rejected="true",type="validate"} 3',
      '_count{operation="CREATE",rejected="true",type="validate"} 3',
      '_summary_count{operation="CREATE",rejected="true",type="validate"} 3',
    ]);
  }
});

test("a plugin that makes the request wait is timed each time, and again in a second round", async () => {
  let calls = 0;
  const { chain, show } = observed((spend) => [
    { name: "LimitRanger", admit: () => undefined },
    {
      name: "MutatingAdmissionWebhook",
      async admit(_attributes, round) {
        await Promise.resolve();
        spend(10 * 3 ** calls++);
        if (calls === 2) round.repeat();
        return undefined;
      },
    },
  ]);
  await chain.admit(attributes);
  await chain.admit(attributes);
  assert.deepEqual(show(/_(count|sum)\{/), [
    '_sum{name="LimitRanger",operation="CREATE",rejected="false",type="admit"} 0',
    '_count{name="LimitRanger",operation="CREATE",rejected="false",type="admit"} 3',
    '_sum{name="MutatingAdmissionWebhook",operation="CREATE",rejected="false",type="admit"} 0.13',
    '_count{name="MutatingAdmissionWebhook",operation="CREATE",rejected="false",type="admit"} 3',
    '_sum{operation="CREATE",rejected="false",type="admit"} 0.13',
    '_count{operation="CREATE",rejected="false",type="admit"} 2',
    '_summary_sum{operation="CREATE",rejected="false",type="admit"} 0.13',
    '_summary_count{operation="CREATE",rejected="false",type="admit"} 2',
  ]);
});
