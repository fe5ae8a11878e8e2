import { expect, test } from 'bun:test'
import { toAsciiHost } from './host-name.ts'

test.each([
  ['B.Example', 'b.example'],
  ['b。example', 'b.example'],
  ['Ｂ．ｅxample', 'b.example'],
  ['*.Bücher.example', '*.xn--bcher-kva.example'],
  ['BÜCHER.example:8080', 'xn--bcher-kva.example:8080'],
  ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['LocalHost:80', 'localhost:80'],
  ['%41.example', '%41.example'],
  ['example.com/path', 'example.com/path'],
  ['exa\u2100mple.com', 'exa\u2100mple.com'],
  ['', ''],
])('the host %s is compared as %s', (text, host) => {
  expect(toAsciiHost(text)).toBe(host)
})
