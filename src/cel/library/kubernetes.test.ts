/**
 * Tests Kubernetes' libraries of URLs, quantities, addresses and formats: values, the reference's error texts, and
 * costs.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { assertErrors, assertValues, evaluate } from "../evaluate-for-tests.ts";

function assertCosts(cases: readonly (readonly [string, number])[]): void {
  for (const [source, wanted] of cases) {
    const result = evaluate(source);
    assert.ok("value" in result, source);
    assert.equal(result.cost, wanted, source);
  }
}

test("URLs are parsed, and their parts are read [EXPR-12] [EXPR-13] [EXPR-14] [EXPR-15] [EXPR-16] [EXPR-17]", () => {
  assertValues([
    ["isURL('https://a.b/p')", "true"],
    ["isURL('../rel') || isURL('x y') || isURL('') || isURL('http://a/#%zz')", "false"],
    ["isURL('/a b') && isURL('*') && isURL('//a b/')", "true"],
    ["url('HTTPS://e.com:80/').getScheme()", "'https'"],
    ["url('https://e.com:80/').getHost()", "'e.com:80'"],
    ["url('https://user:pw@[::1%25eth0]:80/').getHost()", "'[::1%eth0]:80'"],
    ["url('https://[::1]:80/').getHostname()", "'::1'"],
    ["url('//a@b:80/x').getHostname()", "'b'"],
    ["url('https://e.com:80/').getPort() + url('https://e.com').getPort()", "'80'"],
    ["url('http://a:80:90/').getHostname()", "'a:80'"],
    ["url('http://u@a') == url('HTTP://%75@a')", "true"],
    ["url('http://a?') == url('http://a')", "false"],
  ]);
});

test("paths and queries are escaped and read as Go does [EXPR-18] [EXPR-19]", () => {
  assertValues([
    ["url('https://e.com/a b').getEscapedPath()", "'/a%20b'"],
    ["url('http://a/b%2fc').getEscapedPath()", "'/b%2fc'"],
    ["url('http://a/b%2fc d').getEscapedPath()", "'/b/c%20d'"],
    ["url('http://a/é').getEscapedPath()", "'/%C3%A9'"],
    ["url('http://a/%41~!$&()*+,;=:@^').getEscapedPath()", "'/A~%21$&%28%29%2A+,;=:@%5E'"],
    ["url('/a?x=1#f').getQuery()", "{'x': ['1']}"],
    ["url('https://e.com/?k=a&k=b&z=%20+&=x&y').getQuery()", "{'k': ['a', 'b'], 'z': ['  '], '': ['x'], 'y': ['']}"],
    ["url('https://e.com/?k=%zz&a=1;b=2&c=3').getQuery()", "{'c': ['3']}"],
  ]);
});

test("a text that is no URL is an error with Go's words [EXPR-13]", () => {
  const failed = "URL parse error during conversion from string: parse ";
  assertErrors([
    ["url('x y').getHost()", `${failed}"x y": invalid URI for request`],
    ["url('')", `${failed}"": empty url`],
    ["url(':x')", `${failed}":x": missing protocol scheme`],
    ["url('https://e.com:abc/')", `${failed}"https://e.com:abc/": invalid port ":abc" after host`],
    ["url('http://a b/')", `${failed}"http://a b/": invalid character " " in host name`],
    ["url('http://a%zz/')", `${failed}"http://a%zz/": invalid URL escape "%zz"`],
    ["url('http://a%20b/')", `${failed}"http://a%20b/": invalid URL escape "%20"`],
    ["url('/%4')", `${failed}"/%4": invalid URL escape "%4"`],
    ["url('http://[::1/')", `${failed}"http://[::1/": missing ']' in host`],
    ["url('http://us er@c/')", `${failed}"http://us er@c/": net/url: invalid userinfo`],
    ["url('http://a/\\x01')", `${failed}"http://a/\\x01": net/url: invalid control character in URL`],
    ["url('http://[]:1/')", `${failed}"http://[]:1/": invalid host: ParseAddr(""): unable to parse IP`],
    ["url('//a b/')", `${failed}"//a b/": invalid character " " in host name`],
    ["dyn(1).getHost()", "no such overload: getHost(int)"],
    ["isURL(dyn(1))", "no such overload: isURL(int)"],
  ]);
});

test("quantities are parsed, compared and added [EXPR-29] [EXPR-33] [EXPR-34] [EXPR-35] [EXPR-36] [EXPR-37] [EXPR-38]", () => {
  assertValues([
    ["quantity('1Ki').asInteger()", "1024"],
    ["isQuantity('1.3Gi') && isQuantity('1e3')", "true"],
    ["isQuantity('1.3GiB') || isQuantity('1,3G') || isQuantity(' 1')", "false"],
    ["[sign(quantity('-1')), sign(quantity('0')), quantity('5').sign()]", "[-1, 0, 1]"],
    ["quantity('50k').add(20).asInteger()", "50020"],
    ["quantity('50k').add(quantity('20')).asInteger()", "50020"],
    ["quantity('50k').sub(20).asInteger()", "49980"],
    ["quantity('1').sub(quantity('1.5')).asApproximateFloat()", "-0.5"],
    ["quantity('1').sub(-9223372036854775808).asInteger()", "-9223372036854775807"],
    ["quantity('9223372036854775807').add(1) == quantity('9223372036854775808')", "true"],
    ["quantity('50M').isLessThan(quantity('100M'))", "true"],
    ["quantity('150Mi').isGreaterThan(quantity('100Mi'))", "true"],
    ["quantity('200M').compareTo(quantity('0.2G'))", "0"],
    ["quantity('2').compareTo(quantity('1'))", "1"],
    ["quantity('200M') == quantity('0.2G')", "true"],
  ]);
});

test("a quantity is an integer if upstream keeps it as one [EXPR-30] [EXPR-31] [EXPR-32]", () => {
  assertValues([
    ["quantity('50000000G').isInteger() && quantity('1Ti').isInteger() && quantity('1e18').isInteger()", "true"],
    ["['1.5', '1.0', '1000m', '1e19', '1Pi', '9223372036854775807'].exists(q, quantity(q).isInteger())", "false"],
    ["quantity('0.5').add(quantity('0.5')).isInteger()", "false"],
    ["quantity('1500m').asApproximateFloat()", "1.5"],
    ["quantity('0.3').asApproximateFloat()", "0.30000000000000004"],
    ["quantity('0.3Ki').asApproximateFloat()", "307.20000000000005"],
    ["quantity('1234567890123456789').asApproximateFloat()", "1.234567890123457e+18"],
    ["quantity('1e10000000').asApproximateFloat() > 1e308", "true"],
  ]);
  assertErrors([
    ["quantity('1.5').asInteger()", "cannot convert value to integer"],
    ["quantity('x')", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
    ["quantity('1e')", "unable to parse quantity's suffix"],
    ["quantity('1').add(dyn('a'))", "no such overload: add(kubernetes.Quantity, string)"],
    ["quantity('1e2000000000').add(1)", "quantity out of range"],
  ]);
});

test("IP addresses are parsed, and belong to their ranges", () => {
  assertValues([
    ["string(ip('::FFFF'))", "'::ffff'"],
    ["[ip('127.0.0.1').family(), ip('::1').family()]", "[4, 6]"],
    ["isIP('1.2.3.4') && !isIP('01.2.3.4') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%a')", "true"],
    ["ip.isCanonical('::ffff') && !ip.isCanonical('::FFFF')", "true"],
    ["['0.0.0.0', '::'].all(a, ip(a).isUnspecified())", "true"],
    ["['127.9.0.1', '::1'].all(a, ip(a).isLoopback())", "true"],
    [
      "['224.0.0.1', 'ff12::1'].all(a, ip(a).isLinkLocalMulticast()) && !ip('224.0.1.1').isLinkLocalMulticast()",
      "true",
    ],
    ["['169.254.1.1', 'febf::1'].all(a, ip(a).isLinkLocalUnicast()) && !ip('fec0::1').isLinkLocalUnicast()", "true"],
    ["['10.0.0.1', '240.0.0.1', 'fc00::1'].all(a, ip(a).isGlobalUnicast())", "true"],
    ["['255.255.255.255', 'ff05::1', '::'].exists(a, ip(a).isGlobalUnicast())", "false"],
    ["type(ip('1.2.3.4')) == net.IP && type(cidr('1.2.3.4/8')) == net.CIDR", "true"],
    ["string(cidr('10.0.0.1/8')) + string(cidr('10.0.0.1/8').masked())", "'10.0.0.1/810.0.0.0/8'"],
    ["string(cidr('10.0.0.1/8').ip())", "'10.0.0.1'"],
    ["cidr('10.0.0.1/8').prefixLength()", "8"],
    ["isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0') && !isCIDR('10.0.0.0/08')", "true"],
    ["cidr('10.0.0.1/8').containsIP('10.9.9.9') && !cidr('10.0.0.0/8').containsIP(ip('11.1.2.3'))", "true"],
    ["cidr('10.0.0.0/8').containsCIDR('10.0.0.0/16')", "true"],
    ["cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')", "true"],
    ["cidr('10.0.0.0/8').containsCIDR('10.0.0.0/7')", "false"],
    ["cidr('10.0.0.0/8').containsCIDR('11.0.0.0/16')", "false"],
    ["cidr('0.0.0.0/0').containsCIDR('::/0')", "false"],
  ]);
});

test("a text that is no address is an error with Go's words", () => {
  const address = (text: string, why: string): [string, string] => [
    `ip('${text}')`,
    `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): ${why}`,
  ];
  const failed = "network address parse error during conversion from string: ";
  const range = (text: string, why: string): [string, string] => [
    `cidr('${text}')`,
    `${failed}${failed}netip.ParsePrefix("${text}"): ${why}`,
  ];
  assertErrors([
    address("abc", "unable to parse IP"),
    address("01.2.3.4", "IPv4 field has octet with leading zero"),
    address("1.2.3", "IPv4 address too short"),
    address("1.2.3.4/24", 'unexpected character (at "/24")'),
    address("::1::2", 'multiple :: in address (at ":2")'),
    address("12345::", 'each group must have 4 or less digits (at "12345::")'),
    address("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
    address("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
    address("1:", 'colon must be followed by more characters (at ":")'),
    ["ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'],
    ["ip('::ffff:102:304')", 'IPv4-mapped IPv6 address "::ffff:102:304" is not allowed'],
    range("10.0.0.1", "no '/'"),
    range("10.0.0.1/33", "prefix length out of range"),
    range("10.0.0.1/+8", 'bad bits after slash: "+8"'),
    range("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
    ["cidr('::ffff:1.2.3.4/100')", `${failed}IPv4-mapped IPv6 address "::ffff:1.2.3.4/100" is not allowed`],
    ["cidr('10.0.0.0/8').containsIP('abc')", "no such overload"],
    ["cidr('10.0.0.0/8').containsIP(dyn(1))", "no such overload: containsIP(net.CIDR, int)"],
  ]);
});

test("formats say what is wrong with a text", () => {
  assertValues([
    ["format.dns1123Label().validate('my-label').hasValue()", "false"],
    ["format.dns1123Label().validate('my.label').value()", "['must not contain dots']"],
    [
      "format.dns1123LabelPrefix().validate('a-').hasValue() || !format.dns1123LabelPrefix().validate('-').hasValue()",
      "false",
    ],
    ["format.uri().validate('x').value()", "['parse \"x\": invalid URI for request']"],
    ["format.uuid().validate('x').value()", "['does not match the UUID format']"],
    ["format.byte().validate('YQ').value()", "['invalid base64']"],
    ["format.date().validate('2020-13-02').value()", "['invalid date']"],
    ["format.datetime().validate('2020-01-02').value()", "['invalid datetime']"],
    ["format.named('nope').hasValue()", "false"],
    ["format.named('uuid').value() == format.uuid() && format.uuid() != format.byte()", "true"],
  ]);
  assertErrors([
    ["format.uri().validate(dyn(1))", "no such overload: validate(kubernetes.NamedFormat, int)"],
    ["dyn(format.uri()) == dyn(1)", "no such overload"],
  ]);
});

test("values of libraries cannot be compared with others, but count as equal inside of lists, as upstream", () => {
  assertValues([
    ["dyn('x') == dyn(ip('::1'))", "false"],
    ["dyn(ip('::1')) != dyn('x')", "true"],
    ["dyn(ip('::1')) == null", "false"],
    ["dyn(ip('::1')) in [dyn('x')]", "false"],
    ["dyn([ip('::1')]) == dyn(['x'])", "true"],
    ["dyn({'a': ip('::1')}) == dyn({'a': 'x'})", "true"],
  ]);
  assertErrors([
    ["dyn(ip('::1')) == dyn('x')", "no such overload"],
    ["dyn(optional.of(ip('::1'))) == dyn(optional.of('x'))", "no such overload"],
  ]);
});

test("calls cost what they cost upstream", () => {
  assertCosts([
    ["url('https:://kubernetes.io/').getScheme()", 4],
    ["isURL('/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')", 1],
    ["quantity('12Mi')", 1],
    ["quantity('50k').add(20).sub(quantity('100k')).asInteger() > 0", 6],
    ["isQuantity('1000000000000000000000000000000000000000000')", 5],
    ["ip('192.168.0.1').family()", 3],
    ["string(ip('::1'))", 2],
    ["ip('::1') == ip('::1')", 3],
    ["ip.isCanonical('2001:db8:3333:4444:5555:6666:7777:8888')", 8],
    ["cidr('192.168.0.0/16').containsCIDR(cidr('192.0.0.0/30'))", 7],
    ["cidr('192.168.0.0/16').containsIP('192.169.0.1')", 5],
    ["cidr('::1/128').containsCIDR(cidr('::1/128'))", 9],
    ["cidr('::/0').containsCIDR(cidr('::/128'))", 3],
    ["format.named('dns1123Subdomain').value().validate('my-name')", 17],
    ["format.named('dns1123Label').value().validate('my-name')", 10],
    ["format.uri().validate('/234567890')", 553],
  ]);
});
