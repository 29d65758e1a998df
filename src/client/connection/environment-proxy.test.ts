/** The rules of NO_PROXY and its siblings, as those of Go's programs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { proxyOfEnvironment } from "./environment-proxy.ts";

function check(url: string, variables: Record<string, string>, expected: string | undefined): void {
  assert.equal(proxyOfEnvironment(new URL(url), variables)?.href, expected, `${url} ${JSON.stringify(variables)}`);
}

test("the scheme of the server chooses the variable, capital letters come first", () => {
  const both = { HTTPS_PROXY: "http://s:3128", HTTP_PROXY: "http://p:3128" };
  check("https://api.example", both, "http://s:3128/");
  check("http://api.example", both, "http://p:3128/");
  check("https://api.example", { HTTP_PROXY: "http://p:3128" }, undefined);
  check("https://api.example", { https_proxy: "http://a:1", HTTPS_PROXY: "http://b:1" }, "http://b:1/");
  check("https://api.example", { https_proxy: "http://a:1", HTTPS_PROXY: "" }, "http://a:1/");
  check("https://api.example", { ALL_PROXY: "http://a:1" }, undefined);
  check("https://api.example", { HTTPS_PROXY: "proxy.example:3128" }, "http://proxy.example:3128/");
  check("https://api.example", { HTTPS_PROXY: "proxy.example" }, "http://proxy.example/");
  check("https://api.example", { HTTPS_PROXY: "socks5://u:p@s:1080" }, "socks5://u:p@s:1080");
  check("http://api.example", { HTTP_PROXY: "http://p:1", REQUEST_METHOD: "GET" }, undefined);
});

test("this machine is never behind a proxy of the environment", () => {
  for (const host of ["localhost", "127.0.0.1", "127.8.9.1", "[::1]", "[::ffff:127.0.0.1]"]) {
    check(`https://${host}:6443`, { HTTPS_PROXY: "http://p:1" }, undefined);
  }
  check("https://localhost.example", { HTTPS_PROXY: "http://p:1" }, "http://p:1/");
});

test("NO_PROXY excludes names, domains, addresses, networks and ports", () => {
  const cases: readonly [string, string, boolean][] = [
    ["example.com", "https://example.com", true],
    ["example.com", "https://api.example.com", true],
    ["example.com", "https://badexample.com", false],
    [".example.com", "https://example.com", false],
    [".example.com", "https://a.b.example.com", true],
    ["*.example.com", "https://example.com", false],
    ["*.example.com", "https://api.example.com", true],
    [" EXAMPLE.com , other", "https://Example.Com", true],
    ["example.com:443", "https://example.com", true],
    ["example.com:443", "https://example.com:6443", false],
    [".example.com:6443", "https://api.example.com:6443", true],
    ["bücher.example", "https://bücher.example", true],
    ["*", "https://example.com", true],
    ["other,*", "https://10.0.0.1", true],
    ["*:443", "https://example.com", false],
    ["10.0.0.1", "https://10.0.0.1:6443", true],
    ["10.0.0.1:6443", "https://10.0.0.1:6443", true],
    ["10.0.0.1:443", "https://10.0.0.1:6443", false],
    ["10.0.0.0/8", "https://10.1.2.3", true],
    ["10.0.0.0/8", "https://11.1.2.3", false],
    ["10.0.0.0/33", "https://10.1.2.3", false],
    ["10.0.0.0/8", "https://ten.example", false],
    ["fd00::/8", "https://[fd00::1]:6443", true],
    ["fd00::1", "https://[fd00:0::1]", true],
    ["[fd00::1]:6443", "https://[fd00::1]:6443", true],
    ["[fd00::1]:443", "https://[fd00::1]:6443", false],
    ["0.0.1", "https://10.0.0.1", false],
    [":443", "https://example.com", false],
    [",,", "https://example.com", false],
  ];
  for (const [list, url, isExcluded] of cases) {
    const expected = isExcluded ? undefined : "http://p:1/";
    check(url, { HTTPS_PROXY: "http://p:1", NO_PROXY: list }, expected);
    check(url, { HTTPS_PROXY: "http://p:1", no_proxy: list }, expected);
  }
});
