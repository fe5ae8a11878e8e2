import { expect, test } from 'bun:test'
import { encodeBase32 } from './base32.ts'
import { computeTotp, findTotpStep, totpStepAt } from './totp.ts'

const secret = Buffer.from('12345678901234567890')

test.each([
  [59, '94287082'],
  [1111111109, '07081804'],
  [1111111111, '14050471'],
  [1234567890, '89005924'],
  [2000000000, '69279037'],
  [20000000000, '65353130'],
])('the vector of RFC 6238 at %d s is %s', (seconds, code) => {
  expect(computeTotp(secret, totpStepAt(seconds * 1000), 8)).toBe(code)
})

test('a code is valid in its period and its neighbors, and only after the period that was used', () => {
  const now = 1_700_000_000_000
  const step = totpStepAt(now)
  const code = computeTotp(secret, step)
  for (const shift of [-1, 0, 1])
    expect(findTotpStep(secret, code, { now: now + shift * 30_000, usedStep: 0 })).toBe(step)
  for (const shift of [-2, 2])
    expect(findTotpStep(secret, code, { now: now + shift * 30_000, usedStep: 0 })).toBeUndefined()
  expect(findTotpStep(secret, code, { now, usedStep: step })).toBeUndefined()
  expect(findTotpStep(secret, code, { now, usedStep: step - 1 })).toBe(step)
})

test.each([
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
])('base32 of %j is %j (RFC 4648)', (text, encoded) => {
  expect(encodeBase32(Buffer.from(text))).toBe(encoded)
})
