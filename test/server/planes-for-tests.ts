/** Planes as tests make and use them: with Kubernetes' names, by objects in the root. */
import assert from "node:assert/strict";
import type { Answer } from "../client.ts";
import { type Api, eventually } from "../harness.ts";

const planesGroup = "planes.k8s.io";
export const planes = `/apis/${planesGroup}/v1alpha1/planes`;
export const planeObject = (name: string) => ({
  apiVersion: `${planesGroup}/v1alpha1`,
  kind: "Plane",
  metadata: { name },
});
export const configMaps = "/api/v1/namespaces/default/configmaps";

/** A plane as its administrator sees it. */
export interface OpenedPlane {
  /** The beginning of all paths. */
  readonly prefix: string;
  /** The administrator's token. */
  readonly as: string;
}

/** Makes a plane, waits until it is ready, and reads the administrator's credentials. */
export async function makePlane(api: Api, name: string): Promise<OpenedPlane> {
  (await api.post(planes, planeObject(name))).expect(201);
  return readyPlane(api, name);
}

export async function readyPlane(api: Api, name: string): Promise<OpenedPlane> {
  const answer = await planeCondition(api, name, "True");
  const { namespace, name: secretName } = answer.at("status.kubeconfigSecret") as { namespace: string; name: string };
  const kept = (await api.get(`/api/v1/namespaces/${namespace}/secrets/${secretName}`, { literal: true })).expect(200);
  const kubeconfig = JSON.parse(Buffer.from(kept.string("data.kubeconfig"), "base64").toString()) as {
    readonly clusters: readonly [{ readonly cluster: { readonly server: string } }];
    readonly users: readonly [{ readonly user: { readonly token: string } }];
  };
  const url = kubeconfig.clusters[0].cluster.server;
  assert.equal(url, answer.string("status.url"));
  return { prefix: new URL(url).pathname, as: kubeconfig.users[0].user.token };
}

/** Waits until the condition `Ready` of a plane has this value, and returns the plane. */
export const planeCondition = (api: Api, name: string, status: string): Promise<Answer> =>
  eventually(async () =>
    (await api.get(`${planes}/${name}`)).expect(200, {
      "status.conditions": (value: unknown) => (value as readonly { status: string }[])[0]?.status === status,
    }),
  );

export const removedPlane = (api: Api, name: string): Promise<Answer> =>
  eventually(async () => (await api.get(`${planes}/${name}`)).expect(404));
