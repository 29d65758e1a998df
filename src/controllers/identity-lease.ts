/**
 * The identity Leases of API servers, which show what servers exist. Each server renews its own while it runs; the Lease
 * stays when the server stops. Expired Leases are deleted. Source: upstream's `controlplane/controller/apiserverleasegc`
 * and KEP-1965.
 */
import type { Lease, LeaseSpec } from "#api/coordination/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { microTimestamp, timeToMs } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { inPages } from "./pages.ts";
import { periodically } from "./repeat.ts";

export interface ServerIdentity {
  /** The name of the server's Lease. */
  readonly id: string;
  readonly hostname: string;
  /** The value of the label by which identity Leases are found. */
  readonly labelValue: string;
  /** Unique for each process; the holder of the Leases that it creates. */
  readonly processId: string;
  /** Whether other programs may renew such Leases in the same store, so that renewals of this one are marked. */
  readonly marksRenewals: boolean;
}

/** The annotation with the time of the last renewal by this program, on stores that kube-apiserver may use as well. */
export const renewedAnnotation = "binnacle/renewed";

const renewMs = 10_000;
const durationSeconds = 3600;
const collectMs = 60 * 60_000;
const retryMs = 10_000;

/** The path of identity Leases, and the label by which they are found. */
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
  const { id, hostname, labelValue, processId, marksRenewals } = identity;
  const { apiVersion, path, label } = identityLeases(domain);
  const labels = { [label]: labelValue, [domain.rename("kubernetes.io/hostname")]: hostname };
  const typed = { apiVersion, kind: "Lease" };
  const renewTime = microTimestamp(clock.now());
  const renewal: LeaseSpec = { leaseDurationSeconds: durationSeconds, renewTime };
  const marked = (before?: Readonly<Record<string, string>>) =>
    marksRenewals ? { annotations: { ...before, [renewedAnnotation]: renewTime } } : {};
  const lease = await ignoreNotFound(client.get<Lease>(`${path}/${id}`));
  if (lease === undefined) {
    const spec = { holderIdentity: `${id}_${processId}`, ...renewal };
    await ignoreCodes(
      [409],
      client.create<Lease>(path, { ...typed, metadata: { name: id, labels, ...marked() }, spec }),
    );
    return;
  }
  // Upstream: the process that created it stays its holder, also after a restart.
  const { annotations } = lease.metadata;
  const metadata = { ...lease.metadata, labels: { ...lease.metadata.labels, ...labels }, ...marked(annotations) };
  const spec = { ...lease.spec, ...renewal };
  await ignoreCodes([404, 409], client.update<Lease>(`${path}/${id}`, { ...lease, ...typed, metadata, spec }));
}

/** Deletes expired identity Leases. */
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
    // The server's own Lease can look expired after the machine slept.
    if (name === own.id || !hasRunOut(spec, clock.now())) continue;
    // The version is a precondition: the Lease may have been renewed since.
    const preconditions = { uid, resourceVersion };
    await ignoreCodes([404, 409], client.delete(`${path}/${encodeURIComponent(name)}`, { preconditions }));
  }
}

/** Upstream: a Lease without a duration counts as expired. */
function hasRunOut({ renewTime, leaseDurationSeconds }: LeaseSpec, now: number): boolean {
  const renewedMs = renewTime === undefined ? undefined : timeToMs(renewTime);
  if (renewedMs === undefined || leaseDurationSeconds === undefined) return true;
  return renewedMs + leaseDurationSeconds * 1000 < now;
}
