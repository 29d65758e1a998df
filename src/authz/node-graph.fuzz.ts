/** Random pods and volumes that come and go: the counts of the graph agree with a search of all objects. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import { objectMaker } from "#api/objects-for-tests.ts";
import { seededRandom } from "#std/random.ts";
import { NodeGraph, type Related } from "./node-graph.ts";
import { podReferences, volumeSecrets } from "./pod-references.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 300);
const steps = 60;

const make = objectMaker();
const namespaces = ["n", "m"];
const names = ["a", "b", "c", "__proto__"];
const nodes = ["one", "two"];

/** Whether the object belongs to the node, by a search of all objects. */
function isRelated(
  pods: ReadonlyMap<string, Pod>,
  volumes: ReadonlyMap<string, PersistentVolume>,
  [node, resource, namespace, name]: readonly [string, Related, string, string],
): boolean {
  const uses = (kind: Related, at: string, wanted: string): boolean =>
    [...pods.values()].some((pod) => {
      if (pod.spec.nodeName !== node || pod.metadata.namespace !== at) return false;
      if (kind === "pods") return pod.metadata.name === wanted;
      if (pod.metadata.annotations?.["mirror"] !== undefined) return false;
      const { secrets, configMaps, claims } = podReferences(pod);
      if (kind === "serviceaccounts") return pod.spec.serviceAccountName === wanted;
      return (kind === "secrets" ? secrets : kind === "configmaps" ? configMaps : claims).has(wanted);
    });
  const isMounted = (volume: PersistentVolume | undefined): boolean => {
    const claim = volume?.spec.claimRef;
    return claim !== undefined && uses("persistentvolumeclaims", claim.namespace ?? "", claim.name ?? "");
  };
  if (resource === "persistentvolumes") return isMounted(volumes.get(name));
  if (uses(resource, namespace, name)) return true;
  if (resource !== "secrets") return false;
  return [...volumes.values()].some(
    (volume) =>
      isMounted(volume) && volumeSecrets(volume).some((one) => one.namespace === namespace && one.name === name),
  );
}

test("after any writes the graph answers as a search does [AUTHZ-32]", (t) => {
  t.diagnostic(`FUZZ_SEED=${seed} FUZZ_RUNS=${runs}`);
  for (let run = 0; run < runs; run++) {
    const random = seededRandom(seed + run);
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;
    const maybe = <T>(value: T): readonly T[] => (random.next() < 0.5 ? [value] : []);
    const graph = new NodeGraph("mirror");
    const pods = new Map<string, Pod>();
    const volumes = new Map<string, PersistentVolume>();
    for (let step = 0; step < steps; step++) {
      const [namespace, name] = [pick(namespaces), pick(names)];
      if (random.next() < 0.7) {
        const key = `${namespace}/${name}`;
        if (random.next() < 0.3) {
          pods.delete(key);
          graph.setPod(namespace, name, undefined);
        } else {
          const annotations = random.next() < 0.1 ? { annotations: { mirror: "" } } : {};
          const pod = make<Pod>("v1", "Pod", {
            metadata: { namespace, name, ...annotations },
            spec: {
              nodeName: pick([...nodes, ""]),
              serviceAccountName: pick(names),
              imagePullSecrets: maybe({ name: pick(names) }),
              containers: [{ envFrom: maybe({ configMapRef: { name: pick(names) } }) }],
              volumes: [
                ...maybe({ name: "s", secret: { secretName: pick(names) } }),
                ...maybe({ name: "c", persistentVolumeClaim: { claimName: pick(names) } }),
              ],
            },
          });
          pods.set(key, pod);
          graph.setPod(namespace, name, pod);
        }
      } else if (random.next() < 0.3) {
        volumes.delete(name);
        graph.setVolume(name, undefined);
      } else {
        const claimRef = random.next() < 0.8 ? { claimRef: { namespace, name: pick(names) } } : {};
        const secretRef = { name: pick(names), ...(random.next() < 0.5 ? { namespace: pick(namespaces) } : {}) };
        const csi = { driver: "d", nodeStageSecretRef: secretRef, nodePublishSecretRef: { name: pick(names) } };
        const volume = make<PersistentVolume>("v1", "PersistentVolume", {
          metadata: { name },
          spec: { ...claimRef, csi },
        });
        volumes.set(name, volume);
        graph.setVolume(name, volume);
      }
    }
    const kinds: readonly Related[] = [
      "configmaps",
      "persistentvolumeclaims",
      "persistentvolumes",
      "pods",
      "secrets",
      "serviceaccounts",
    ];
    for (const node of nodes) {
      for (const kind of kinds) {
        for (const namespace of namespaces) {
          for (const name of names) {
            const question = [node, kind, namespace, name] as const;
            const expected = isRelated(pods, volumes, question);
            assert.equal(graph.relates(...question), expected, `seed ${seed + run}: ${question.join(" ")}`);
          }
        }
      }
    }
    for (const key of pods.keys()) {
      const slash = key.indexOf("/");
      graph.setPod(key.slice(0, slash), key.slice(slash + 1), undefined);
    }
    assert.ok(!graph.relates("one", "secrets", "n", "a") && !graph.relates("two", "persistentvolumes", "", "a"));
  }
});
