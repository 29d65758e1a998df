/** The identity of a server, compared with that of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { serverId } from "./identity.ts";

test("the identity of a server is what kube-apiserver has on a machine of this name", () => {
  // Recorded from 1.32.1 on a machine called `vm`.
  assert.equal(serverId("vm"), "apiserver-wlv32tlttr4jl3gtroqexyxapa");
  assert.notEqual(serverId("vn"), serverId("vm"));
});
