/** Warnings to writers of objects that are stored and not enforced. */
import assert from "node:assert/strict";
import { suite } from "../harness.ts";

const inBothDomains = suite();

inBothDomains("who writes a quota is warned that nobody enforces it, a dry run and a reader are not", async (api) => {
  const { ns } = await api.place();
  const quotas = `/api/v1/namespaces/${ns}/resourcequotas`;
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q1" }, spec: { hard: { pods: "1" } } };
  const text = '299 - "this server stores resource quotas, but does not enforce them yet"';
  assert.equal((await api.post(`${quotas}?dryRun=All`, quota)).expect(201).headers.warning, undefined);
  assert.equal((await api.post(quotas, quota)).expect(201).headers.warning, text);
  const changed = await api.patch(`${quotas}/q1`, { spec: { hard: { pods: "2" } } });
  assert.equal(changed.expect(200).headers.warning, text);
  const counted = await api.patch(`${quotas}/q1/status`, { status: { hard: { pods: "2" } } });
  assert.equal(counted.expect(200).headers.warning, undefined);
  assert.equal((await api.get(`${quotas}/q1`)).expect(200).headers.warning, undefined);
});
