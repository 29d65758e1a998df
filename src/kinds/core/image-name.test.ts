/** The default pull policies of images by their names, as in kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pullPolicy } from "./image-name.ts";

const digest = `sha256:${"a".repeat(64)}`;

test("an image that may change under its name is always pulled", () => {
  const changing = [
    "x",
    "x:latest",
    "x/latest",
    "registry:5000/x",
    "registry:5000/x:latest",
    "docker.io/x/y:latest",
    "localhost/x",
    "[::1]/x",
    "[::1]:5000/x",
    "x__y",
    "x.y/z",
    `x:latest@${digest}`,
    "X/x",
    "host:99999/x",
    `h.x/${"y".repeat(255)}`,
    `${"y".repeat(900)}.com:5000/${"y".repeat(255)}`,
    "y".repeat(247),
    `docker.io/${"y".repeat(247)}`,
    `index.docker.io/${"y".repeat(247)}`,
    `a/${"y".repeat(253)}`,
  ];
  for (const image of changing) assert.equal(pullPolicy(image), "Always", image);
});

test("an image with another tag or a digest, and an invalid image name, is pulled if not present", () => {
  const fixed = ["x:1", `x@${digest}`, `x:1@${digest}`, `x@sha512:${"a".repeat(128)}`, "x:LATEST", "x:latest-"];
  const wrong = [
    "",
    ":",
    "@",
    "x:",
    "x@",
    "/x",
    "x/",
    "x//y",
    "-x",
    "x-",
    "x___y",
    "x..y",
    "X",
    "x/X:latest",
    "registry:5000/X",
    "x:latest@sha256",
    "x:latest@sha256:abc",
    `x:latest@md5:${"a".repeat(32)}`,
    `x:latest@SHA256:${"a".repeat(64)}`,
    "x:0.0.0/z",
    "http://x:latest",
    "x:1:latest",
    " x",
    "x\n",
    "a".repeat(64),
    "y".repeat(248),
    `a/${"y".repeat(254)}`,
    `h.x/${"y".repeat(256)}`,
    `docker.io/${"y".repeat(248)}`,
    `index.docker.io/${"y".repeat(248)}`,
    "h..x/y",
    "h.x-/Y",
    "h.x:/y",
    "host_name/x//y",
  ];
  for (const image of [...fixed, ...wrong]) assert.equal(pullPolicy(image), "IfNotPresent", image);
});

test("a long name is read once", () => {
  const long = ["a-", "a.", "[a", "a:", "a-."].map((piece) => piece.repeat(1_000_000));
  for (const image of [...long, ...long.map((host) => `${host}/x`), `x:${"a".repeat(1_000_000)}`]) {
    assert.equal(pullPolicy(image), "IfNotPresent");
  }
  assert.equal(pullPolicy(`${"a.".repeat(1_000_000)}a/x`), "Always");
});
