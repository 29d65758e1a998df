/** Discovery and OpenAPI in kubectl: api-resources, explain, versions. */
import assert from "node:assert/strict";
import { kubectlSuite } from "./kubectl.ts";

kubectlSuite((test) => {
  test("lists resources and versions", async (kubectl) => {
    const all = await kubectl.run(["api-resources"]);
    assert.match(all, /^NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\n/);
    assert.match(all, /\nconfigmaps +cm +v1 +true +ConfigMap\n/);
    assert.match(all, /\nnamespaces +ns +v1 +false +Namespace\n/);
    assert.match(all, /\npersistentvolumeclaims +pvc +v1 +true +PersistentVolumeClaim\n/);
    assert.match(all, /\ndeployments +deploy +apps\/v1 +true +Deployment\n/);
    assert.match(all, /\nvolumeattributesclasses +vac +storage\.k8s\.io\/v1beta1 +false +VolumeAttributesClass\n/);
    const wide = await kubectl.run(["api-resources", "-o", "wide", "--api-group=storage.k8s.io"]);
    assert.match(wide, /volumeattributesclasses .* create,delete,deletecollection,get,list,patch,update,watch/);
    const cluster = await kubectl.run(["api-resources", "--namespaced=false", "-o", "name"]);
    assert.ok(cluster.includes("namespaces\n") && !cluster.includes("configmaps\n"));
    const versions = (await kubectl.run(["api-versions"])).split("\n");
    for (const version of ["v1", "apps/v1", "storage.k8s.io/v1", "storage.k8s.io/v1beta1", "events.k8s.io/v1"]) {
      assert.ok(versions.includes(version), version);
    }
  });

  test("tells versions and health", async (kubectl) => {
    assert.match(await kubectl.run(["version"]), /Server Version: .*v1\.32\./);
    assert.equal(await kubectl.run(["get", "--raw", "/livez"]), "ok");
    assert.match(await kubectl.run(["get", "--raw", "/readyz?verbose"]), /\[\+\]ping ok\n/);
    assert.match(await kubectl.run(["cluster-info"]), /control plane.* is running at .*https:\/\//);
  });

  test("explains kinds and fields", async (kubectl) => {
    assert.match(
      await kubectl.run(["explain", "configmap"]),
      /KIND: +ConfigMap\nVERSION: +v1\n[^]*\n +data\s+<map\[string\]string>/,
    );
    assert.match(await kubectl.run(["explain", "configmap"]), /DESCRIPTION:\n +Configuration data that is not secret/);
    assert.match(await kubectl.run(["explain", "pod.spec.containers.image"]), /DESCRIPTION:\n +The image that is run;/);
    assert.match(await kubectl.run(["explain", "deploy.metadata.labels"]), /by which objects are grouped/);
    const claim = await kubectl.run(["explain", "pvc.spec"]);
    assert.match(claim, /KIND: +PersistentVolumeClaim/);
    assert.match(claim, /accessModes\s+<\[\]string>/);
    assert.match(claim, /resources\s+<\w+>/);
    assert.match(await kubectl.run(["explain", "pvc.spec.resources.requests"]), /FIELD: +requests|RESOURCE: +requests/);
    assert.match(
      await kubectl.run(["explain", "deployment.spec.template.spec.containers.ports"]),
      /containerPort\s+<integer>/,
    );
    const recursive = await kubectl.run(["explain", "secret", "--recursive"]);
    assert.match(recursive, /\n +stringData\s+<map\[string\]string>/);
    assert.match(await kubectl.run(["explain", "namespaces.status.conditions"]), /lastTransitionTime\s+<string>/);
    await kubectl.fails(["explain", "configmap.nothing"], /field "nothing" does not exist/);
    await kubectl.fails(["explain", "nosuchthing"], /doesn't have a resource type "nosuchthing"/);
  });

  test("finds kinds by short names, plurals, groups and versions", async (kubectl) => {
    for (const name of [
      "cm",
      "configmap",
      "configmaps",
      "configmaps.v1.",
      "deploy",
      "deployments.apps",
      "deployments.v1.apps",
      "ev",
      "events.events.k8s.io",
    ]) {
      await kubectl.run(["get", name]);
    }
    await kubectl.run(["get", "all"]);
  });
});
