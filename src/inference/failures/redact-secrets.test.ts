import { expect, test } from 'bun:test'
import type { ProviderAccess } from '../upstream/access.ts'
import { collectSecrets, redactSecrets } from './redact-secrets.ts'

const access = {
  credential: { kind: 'token', token: 'sk-vendor-1234567890' },
  provider: { headers: { 'x-team': 'team-secret-1234567890' } },
} as unknown as ProviderAccess

test('S12 redacts the credential, what an auth scheme sends in any header, and configured headers', () => {
  const secrets = collectSecrets(access, {
    authorization: 'Bearer issued-token-1234567890',
    'x-nonce-token': 'nonce"token-1234567890',
    'x-version': '2',
  })
  const message = [
    'sk-vendor-1234567890',
    'issued-token-1234567890',
    'nonce"token-1234567890',
    JSON.stringify('nonce"token-1234567890'),
    'team-secret-1234567890',
    'version 2',
  ].join(' ')
  expect(redactSecrets(message, secrets)).toBe('*** *** *** "***" *** version 2')
})
