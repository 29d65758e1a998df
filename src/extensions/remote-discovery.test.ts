/** Discovery documents of aggregated API servers, valid and invalid. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { resourcesOfAggregated, resourcesOfList } from "./remote-discovery.ts";

const kind = { group: "g.com", version: "v1", kind: "Thing" };

test("resources of the group version are found among others", () => {
  const resource = {
    resource: "things",
    responseKind: kind,
    scope: "Cluster",
    singularResource: "thing",
    verbs: ["get"],
  };
  const document = {
    items: [
      { metadata: { name: "other.com" }, versions: [{ version: "v1", resources: [] }] },
      { metadata: { name: "g.com" }, versions: [{ version: "v2" }, { version: "v1", resources: [resource] }] },
    ],
  };
  assert.deepEqual(resourcesOfAggregated(document, "g.com", "v1"), [resource]);
  assert.deepEqual(resourcesOfAggregated(document, "g.com", "v2"), []);
  assert.equal(resourcesOfAggregated(document, "g.com", "v3"), undefined);
});

test("the older form gives the same, subresources below their resource", () => {
  const list = {
    resources: [
      { name: "things", singularName: "thing", namespaced: true, kind: "Thing", verbs: ["get"], shortNames: ["th"] },
      { name: "things/scale", kind: "Scale", group: "autoscaling", version: "v1", verbs: ["get", "update"] },
      { name: "thingsets", namespaced: false, kind: "ThingSet", verbs: ["list"] },
    ],
  };
  assert.deepEqual(resourcesOfList(list), [
    {
      resource: "things",
      responseKind: { group: "", version: "", kind: "Thing" },
      scope: "Namespaced",
      singularResource: "thing",
      verbs: ["get"],
      shortNames: ["th"],
      subresources: [
        {
          subresource: "scale",
          responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
          verbs: ["get", "update"],
        },
      ],
    },
    {
      resource: "thingsets",
      responseKind: { group: "", version: "", kind: "ThingSet" },
      scope: "Cluster",
      singularResource: "",
      verbs: ["list"],
    },
  ]);
});

test("a member of a wrong type counts as absent", () => {
  const wrong = [null, 7, "x", { name: 7 }, { name: "a", verbs: "get", shortNames: [1, "s"], kind: {} }];
  assert.deepEqual(resourcesOfList({ resources: wrong }), [
    {
      resource: "a",
      responseKind: { group: "", version: "", kind: "" },
      scope: "Cluster",
      singularResource: "",
      verbs: [],
      shortNames: ["s"],
    },
  ]);
  assert.deepEqual(resourcesOfList({ resources: "none" }), []);
  for (const items of [null, {}, [null, 3, { metadata: null }, { metadata: { name: "g.com" }, versions: 3 }]]) {
    assert.equal(resourcesOfAggregated({ items }, "g.com", "v1"), undefined);
  }
});

test("documents that name more resources than a group version may have are refused", () => {
  const resources = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `r${at}`, resource: `r${at}` }));
  const parts = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ name: `r/p${at}`, subresource: `p${at}` }));
  const aggregated = (list: readonly object[]) =>
    resourcesOfAggregated(
      { items: [{ metadata: { name: "g.com" }, versions: [{ version: "v1", resources: list }] }] },
      "g.com",
      "v1",
    );
  assert.equal(resourcesOfList({ resources: resources(2000) }).length, 2000);
  assert.equal(aggregated(resources(2000))?.length, 2000);
  const tooMany = /names more than 2000 resources/;
  assert.throws(() => resourcesOfList({ resources: [...resources(1), ...parts(2000)] }), tooMany);
  assert.throws(() => aggregated(resources(2001)), tooMany);
  assert.throws(() => aggregated([{ resource: "r", subresources: parts(2000) }]), tooMany);
});
