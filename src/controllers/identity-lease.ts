/**
 * The identity Lease of this server: others see by it which API servers there are. It is renewed while the server runs,
 * stays for the next start, and those of servers that are gone for long are removed. Source: upstream's
 * `controlplane/controller/apiserverleasegc` and KEP-1965.
 */
import type { Lease, LeaseSpec } from "#api/coordination/v1.ts";
import { found } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { microTimestamp, timeToMs } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { expecting } from "./expecting.ts";
import { inPages } from "./pages.ts";
import { periodically } from "./repeat.ts";

export interface ServerIdentity {
  /** The name of its Lease. */
  readonly id: string;
  readonly hostname: string;
  /** Of the label that identity Leases have. */
  readonly labelValue: string;
  /** Tells this process from earlier ones: the holder of a Lease that it makes. */
  readonly processId: string;
}

const renewMs = 10_000;
const durationSeconds = 3600;
const collectMs = 60 * 60_000;
const retryMs = 10_000;

/** Where identity Leases are, and by what label they are known. */
export const identityLeases = ({ rename }: ApiDomain) => ({
  apiVersion: rename("coordination.k8s.io/v1"),
  path: `/apis/${rename("coordination.k8s.io/v1")}/namespaces/${rename("kube-system")}/leases`,
  label: rename("apiserver.kubernetes.io/identity"),
});

export const identityLeaseController =
  (identity: ServerIdentity): Controller =>
  async (environment) => {
    await periodically(environment, renewMs, "could not renew the identity lease of this server", () =>
      renew(environment, identity),
    );
  };

async function renew({ client, clock, domain }: ControllerEnvironment, identity: ServerIdentity): Promise<void> {
  const { id, hostname, labelValue, processId } = identity;
  const { apiVersion, path, label } = identityLeases(domain);
  const labels = { [label]: labelValue, [domain.rename("kubernetes.io/hostname")]: hostname };
  const typed = { apiVersion, kind: "Lease" };
  const renewal: LeaseSpec = { leaseDurationSeconds: durationSeconds, renewTime: microTimestamp(clock.now()) };
  const lease = await found(client.get<Lease>(`${path}/${id}`));
  if (lease === undefined) {
    const spec = { holderIdentity: `${id}_${processId}`, ...renewal };
    await expecting([409], client.create<Lease>(path, { ...typed, metadata: { name: id, labels }, spec }));
    return;
  }
  // Upstream: who made it stays its holder, also after another start.
  const metadata = { ...lease.metadata, labels: { ...lease.metadata.labels, ...labels } };
  const spec = { ...lease.spec, ...renewal };
  await expecting([404, 409], client.update<Lease>(`${path}/${id}`, { ...lease, ...typed, metadata, spec }));
}

/** Removes identity Leases that have run out. */
export const identityLeaseCollector =
  (identity: ServerIdentity): Controller =>
  async (environment) => {
    const failure = "could not remove the identity leases of servers that are gone; trying again";
    await periodically(environment, collectMs, failure, () => collect(environment, identity), retryMs);
  };

async function collect({ client, clock, domain }: ControllerEnvironment, own: ServerIdentity): Promise<void> {
  const { path, label } = identityLeases(domain);
  const labelSelector = `${label}=${own.labelValue}`;
  for await (const { metadata, spec } of inPages<Lease>(client, path, { labelSelector })) {
    const { name = "", uid = "", resourceVersion = "" } = metadata;
    // Its own may look so after the machine has slept.
    if (name === own.id || !hasRunOut(spec, clock.now())) continue;
    // This very version: it may have been renewed since.
    const preconditions = { uid, resourceVersion };
    await expecting([404, 409], client.delete(`${path}/${encodeURIComponent(name)}`, { preconditions }));
  }
}

/** Upstream: a lease that does not say how long it holds is no lease. */
function hasRunOut({ renewTime, leaseDurationSeconds }: LeaseSpec, now: number): boolean {
  const renewedMs = renewTime === undefined || renewTime === null ? undefined : timeToMs(renewTime);
  if (renewedMs === undefined || leaseDurationSeconds === undefined) return true;
  return renewedMs + leaseDurationSeconds * 1000 < now;
}
