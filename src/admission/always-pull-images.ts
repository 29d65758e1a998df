/**
 * AlwaysPullImages: containers pull their images at each start, so that nobody runs a private image only because it is
 * on the node. Source of rules and texts: the answers of kube-apiserver.
 */
import { allContainers, type AnyContainer } from "#api/core/containers.ts";
import type { Pod, PodSpec } from "#api/core/v1.ts";
import { aggregate, type FieldError, notSupported, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

const always = "Always";
const specPath = FieldPath.of("spec");

export const alwaysPullImages: AdmissionPlugin = {
  name: "AlwaysPullImages",
  operations: ["CREATE", "UPDATE"],
  admit(attributes) {
    const pod = podWithNewImages(attributes);
    return pod === undefined || isPulled(pod.spec) ? undefined : { ...pod, spec: pulled(pod.spec) };
  },
  validate(attributes) {
    const pod = podWithNewImages(attributes);
    if (pod === undefined || isPulled(pod.spec)) return;
    throw refusal(attributes, aggregate(checkPolicies(pod.spec).map(printFieldError)));
  },
};

/** Returns the pod, unless the request is an update that adds no image: the images of the pod are on the node already. */
function podWithNewImages(attributes: AdmissionAttributes): Pod | undefined {
  if (!isPods(attributes.resource) || attributes.subresource !== "") return undefined;
  const pod = attributes.object as Pod; // of the resource
  if (attributes.operation !== "UPDATE") return pod;
  const before = attributes.oldObject as Pod; // of the resource
  const known = new Set(allContainers(before.spec).map(({ image }) => image));
  return allContainers(pod.spec).every(({ image }) => known.has(image)) ? undefined : pod;
}

/** Whether all containers and volumes pull their images at each start. */
const isPulled = (spec: PodSpec): boolean =>
  allContainers(spec).every(({ imagePullPolicy }) => imagePullPolicy === always) &&
  (spec.volumes ?? []).every(({ image }) => image === undefined || image.pullPolicy === always);

/** Returns an error for each other pull policy. */
function checkPolicies(spec: PodSpec): readonly FieldError[] {
  const errors: FieldError[] = [];
  const check = (path: FieldPath, name: string, policy = ""): void => {
    if (policy !== always) errors.push(notSupported(path.child(name), policy, [always]));
  };
  for (const list of ["initContainers", "containers", "ephemeralContainers"] as const) {
    for (const [at, container] of (spec[list] ?? []).entries()) {
      check(specPath.child(list).index(at), "imagePullPolicy", container.imagePullPolicy);
    }
  }
  for (const [at, { image }] of (spec.volumes ?? []).entries()) {
    if (image !== undefined) check(specPath.child("volumes").index(at).child("image"), "pullPolicy", image.pullPolicy);
  }
  return errors;
}

function pulled(spec: PodSpec): PodSpec {
  const { initContainers, containers, ephemeralContainers, volumes } = spec;
  const set = <C extends AnyContainer>(container: C): C => ({ ...container, imagePullPolicy: always });
  return {
    ...spec,
    containers: containers?.map(set) ?? [],
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(set) }),
    ...(ephemeralContainers === undefined ? {} : { ephemeralContainers: ephemeralContainers.map(set) }),
    ...(volumes === undefined
      ? {}
      : {
          volumes: volumes.map((volume) =>
            volume.image === undefined ? volume : { ...volume, image: { ...volume.image, pullPolicy: always } },
          ),
        }),
  };
}
