/** The kinds that are served by default and with `--runtime-config`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain } from "#meta/api-domain.ts";
import { loadDefinitions } from "./definitions.ts";
import { parseRuntimeConfig, servedKinds } from "./served.ts";

const { kinds, versions } = loadDefinitions(apiDomain("platform.io"));

/** Returns the served resources of a group version. */
function listServed(config: string[], at: string, gates: string[] = []): string[] {
  const kindsServed = servedKinds(kinds, parseRuntimeConfig(config, versions), (gate) => gates.includes(gate));
  return kindsServed.filter((kind) => `${kind.group}/${kind.version}` === at).map((kind) => kind.resource);
}

test("alpha and beta versions are not served by default, stable ones are [VER-02, VER-04, VER-05, VER-06]", () => {
  const kindsServed = servedKinds(kinds, parseRuntimeConfig([], versions), () => true);
  assert.deepEqual([...new Set(kindsServed.map((kind) => kind.stage))], ["ga"]);
  assert.ok(listServed([], "/v1").includes("pods"));
  assert.deepEqual(listServed([], "autoscaling/v1"), ["horizontalpodautoscalers"]);
});

test("a beta kind behind a gate needs its version, and few kinds need the gate [RCT-02, VAC-02]", () => {
  const at = "storage.platform.io/v1beta1";
  assert.deepEqual(listServed([], at, ["VolumeAttributesClass"]), []);
  assert.deepEqual(listServed([`${at}=true`], at), ["volumeattributesclasses"]);
  const claims = "resource.platform.io/v1beta1";
  assert.deepEqual(listServed([], claims, ["DynamicResourceAllocation"]), []);
  assert.ok(listServed([claims], claims).includes("resourceclaimtemplates"));
  const bundles = "certificates.platform.io/v1alpha1";
  assert.deepEqual(listServed([bundles], bundles), []);
  assert.deepEqual(listServed([bundles], bundles, ["ClusterTrustBundle"]), ["clustertrustbundles"]);
});

test("pairs are separated by commas, a missing value means true [VER-07, VER-08]", () => {
  const config = ["batch/v1=false,admissionregistration.platform.io/v1beta1"];
  assert.deepEqual(listServed(config, "batch/v1"), []);
  assert.equal(listServed(config, "admissionregistration.platform.io/v1beta1").length, 2);
});

test("group/version switches one version on or off [VER-09, VER-10]", () => {
  assert.deepEqual(listServed(["batch/v1=false"], "batch/v1"), []);
  assert.ok(listServed(["batch/v1=false"], "apps/v1").includes("deployments"));
  const alpha = "admissionregistration.platform.io/v1alpha1";
  assert.equal(listServed([`${alpha}=true`], alpha, ["MutatingAdmissionPolicy"]).length, 2);
});

test("group/version/resource switches one resource and wins over its version [VER-11]", () => {
  assert.deepEqual(listServed(["batch/v1/jobs=false"], "batch/v1"), ["cronjobs"]);
  assert.deepEqual(listServed(["batch/v1=false", "batch/v1/jobs=true"], "batch/v1"), ["jobs"]);
});

test("api/… addresses many versions, the more special key wins", () => {
  const beta = "admissionregistration.platform.io/v1beta1";
  assert.equal(listServed(["api/beta=true"], beta).length, 2);
  assert.equal(listServed(["api/all=true", "api/beta=false"], beta).length, 0);
  assert.deepEqual(listServed(["api/ga=false", "batch/v1=true"], "batch/v1"), ["cronjobs", "jobs"]);
  assert.deepEqual(listServed(["api/ga=false", "batch/v1=true"], "apps/v1"), []);
});

test("the core version has three names, versions that are gone may be named still", () => {
  for (const key of ["v1", "api/v1", "/v1"]) assert.deepEqual(listServed([`${key}=false`], "/v1"), [], key);
  assert.ok(!listServed(["api/v1/pods=false"], "/v1").includes("pods"));
  assert.deepEqual(listServed(["api/all=false", "api/v1=true"], "/v1"), listServed([], "/v1"));
  const removed = ["batch/v1beta1=true", "apps/v1beta2=false", "extensions/v1beta1/ingresses", "api/legacy=false"];
  assert.ok(listServed(removed, "batch/v1").includes("jobs"));
});

test("keys and values that mean nothing are refused in one line", () => {
  const expectRefusal = (text: string, message: string) =>
    assert.throws(() => parseRuntimeConfig([text], versions), { message: `--runtime-config: ${message}` }, text);
  expectRefusal("foo", "invalid key foo");
  expectRefusal("a/b/c/d=true", "invalid key a/b/c/d");
  expectRefusal("batch/v1=x", 'invalid value of batch/v1: x, err: strconv.ParseBool: parsing "x": invalid syntax');
  expectRefusal("api/all=false", "invalid key with only api/all=false");
  expectRefusal("no-such/v1", "unknown api groups no-such");
  expectRefusal("storage.k8s.io/v1", "unknown api groups storage.k8s.io");
  expectRefusal("api/foo", "unknown api groups api");
  expectRefusal("apps/v9", "group version apps/v9 that has not been registered");
  expectRefusal(
    "batch/v1/Jobs",
    'invalid key batch/v1/Jobs: group/version/resource and resource is always lowercase plural, not "Jobs"',
  );
});
