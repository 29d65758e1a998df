/**
 * Tests the tables against the rules of Kubernetes for versions: what they say about releases, and, through the types of
 * the JavaScript client for a later release, that no field has gone.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import * as client from "@kubernetes/client-node";
import { type KindFacts, loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Schema } from "#schema/schema.ts";

const tables = loadDefinitions(kubernetesDomain);

/** Returns how stable a version is: 0 alpha, 1 beta, 2 stable. */
const stability = (version: string): number => (version.includes("alpha") ? 0 : version.includes("beta") ? 1 : 2);

/** Returns the minor version of a release of Kubernetes 1. */
const minor = (release: string): number => Number(release.split(".")[1]);

/** The release that is served. */
const current = 32;

/** Returns the versions of each kind. */
function versionsOfKinds(): readonly (readonly KindFacts[])[] {
  const kinds = Map.groupBy(tables.kinds, ({ group, kind }) => `${group}/${kind}`);
  return [...kinds.values()].filter((versions) => versions.length > 1);
}

test("a version that will be removed has another of its kind, as stable and not deprecated [VER-17]", () => {
  const isDeprecated = ({ lifecycle }: KindFacts): boolean => minor(lifecycle.deprecated ?? "1.99") <= current;
  const leaving = tables.kinds.filter((kind) => isDeprecated(kind) && kind.lifecycle.removed !== undefined);
  assert.ok(leaving.length >= 4);
  for (const { group, kind, version } of leaving) {
    const others = tables.kinds.filter((other) => other.group === group && other.kind === kind);
    const replacement = others.find((other) => !isDeprecated(other) && stability(other.version) >= stability(version));
    assert.ok(replacement !== undefined, `${group}/${version} ${kind}`);
  }
});

test("no stable version has a release that removes it, and all of 1.31 are there [VER-18]", () => {
  for (const { version, kind, lifecycle } of tables.kinds) {
    if (stability(version) === 2) assert.equal(lifecycle.removed, undefined, kind);
  }
  const served = new Set(
    tables.kinds.filter(({ servedByDefault }) => servedByDefault).map(({ group, version }) => `${group}/${version}`),
  );
  const of131 =
    "admissionregistration.k8s.io apiextensions.k8s.io apiregistration.k8s.io apps authentication.k8s.io authorization.k8s.io autoscaling batch certificates.k8s.io coordination.k8s.io discovery.k8s.io events.k8s.io flowcontrol.apiserver.k8s.io networking.k8s.io node.k8s.io policy rbac.authorization.k8s.io scheduling.k8s.io storage.k8s.io";
  for (const group of of131.split(" ")) assert.ok(served.has(`${group}/v1`), group);
  assert.ok(served.has("/v1") && served.has("autoscaling/v2"));
});

test("a beta version is deprecated within three releases, and removed three releases later [VER-19]", () => {
  const beta = tables.kinds.filter(
    ({ version, lifecycle }) => stability(version) === 1 && lifecycle.introduced !== undefined,
  );
  assert.ok(beta.length >= 4);
  for (const { group, version, kind, lifecycle } of beta) {
    const { introduced, deprecated, removed } = lifecycle;
    const name = `${group}/${version} ${kind}`;
    assert.ok(deprecated !== undefined && removed !== undefined, name);
    assert.ok(minor(deprecated) - minor(introduced!) <= 3, `${name} is beta for too long`);
    assert.ok(minor(removed) - minor(deprecated) >= 3, `${name} goes too early`);
    assert.ok(minor(removed) > current, `${name} is served in a release that does not have it`);
  }
});

test("the versions of a kind came in the order of their stability [VER-37]", () => {
  for (const versions of versionsOfKinds()) {
    const known = versions.filter(({ lifecycle }) => lifecycle.introduced !== undefined);
    const inOrder = known.toSorted((a, b) => minor(a.lifecycle.introduced!) - minor(b.lifecycle.introduced!));
    for (const [at, { kind, version, lifecycle }] of inOrder.entries()) {
      const next = inOrder[at + 1];
      if (next === undefined || next.lifecycle.introduced === lifecycle.introduced) continue;
      assert.ok(stability(next.version) >= stability(version), `${kind} ${version} before ${next.version}`);
    }
  }
});

interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string }[];
}

/** Returns the type of a later release; `undefined` if it has another name there. */
function laterModel(name: string): Model | undefined {
  const [group = "", version = "", type = ""] = name.split(".").slice(-3);
  const title = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
  // The client is a module with one class for each type, and functions.
  const models = client as unknown as Readonly<Record<string, Model | undefined>>;
  return models[`${title(version)}${type}`] ?? models[`${title(group)}${title(version)}${type}`];
}

test("no field of a stable version is gone two releases later [VER-15]", () => {
  const seen = new Set<Schema>();
  let compared = 0;
  const visit = (schema: Schema): void => {
    if (seen.has(schema)) return;
    seen.add(schema);
    if (schema.items !== undefined) visit(schema.items);
    if (schema.fields === undefined || schema.special !== undefined) return;
    const model = laterModel(schema.name ?? "");
    const names = new Set(model?.getAttributeTypeMap().map(({ baseName }) => baseName));
    for (const [name, field] of schema.fields) {
      visit(field.schema);
      if (model === undefined) continue;
      compared++;
      assert.ok(names.has(name), `${schema.name}.${name}`);
    }
  };
  for (const kind of tables.kinds) {
    if (stability(kind.version) === 2) visit(tables.schemaOf(kind)!);
  }
  assert.ok(compared > 1500, String(compared));
});
