import { expect, test } from 'bun:test'
import { describeBrowser } from './browser-name.ts'

test.each([
  ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0',
    'Edge on Windows',
  ],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/604.1',
    'Safari on iOS',
  ],
  ['curl/8.0', 'curl/8.0'],
  [null, 'Unknown browser'],
])('%p is %s', (userAgent, name) => {
  expect(describeBrowser(userAgent)).toBe(name)
})
