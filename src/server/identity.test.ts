/** The identity of a server, compared with that of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import { test } from "node:test";
import { serverId, serverIdAt } from "./identity.ts";

test("the identity of a server is what kube-apiserver has on a machine of this name", () => {
  // Recorded from 1.32.1 on a machine called `vm`.
  assert.equal(serverId("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa");
  assert.notEqual(serverId("vn"), serverId("vm"));
});

test("servers of one machine with other ports than the usual ones have identities of their own", () => {
  assert.deepEqual([443, 6443].map(serverIdAt), [serverId(), serverId()]);
  assert.equal(serverIdAt(7443), serverId(`${hostname()}:7443`));
  assert.equal(new Set([6443, 6444, 6445].map(serverIdAt)).size, 3);
});
