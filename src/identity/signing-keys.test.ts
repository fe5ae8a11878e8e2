import { expect, test } from 'bun:test'
import { decodeProtectedHeader } from 'jose'
import { describeOnEachDatabase } from '../../test/support/harness.ts'
import { requireCurrentKey, rotateSigningKey } from './signing-keys.ts'

describeOnEachDatabase('signing keys', (server) => {
  const issuer = 'https://gate.example.com'
  const issue = () =>
    server().gateway.identity.accessTokens.issue({
      subject: 'main',
      policyId: 'policy',
      keyId: 1,
      issuer,
      expiresAt: Math.floor(server().clock.now() / 1000) + 900,
    })
  const rotate = (revoke = false) =>
    server()
      .gateway.db.transaction()
      .execute((tx) => rotateSigningKey(tx, server().gateway, { revoke }))
  const verify = (token: string) => server().gateway.identity.accessTokens.verify(token, issuer)
  const listPublished = async () =>
    (await server().call('GET', '/oauth/jwks', { key: null })).body.keys.map(
      ({ kid }: { kid: string }) => kid,
    )

  test('one key is generated when it is first needed, however many need it', async () => {
    expect(await listPublished()).toEqual([])
    const keys = await Promise.all(Array.from({ length: 5 }, () => requireCurrentKey(server().gateway)))
    expect(new Set(keys.map(({ kid }) => kid)).size).toBe(1)
    expect(await listPublished()).toEqual([keys[0]?.kid])
  })

  test('the private key is encrypted, and bound to its row', async () => {
    const [key] = await server().gateway.db.selectFrom('signing_keys').selectAll().execute()
    expect(key?.sealed_private_jwk).toStartWith('v1.')
    expect(key?.public_jwk).not.toContain('"d"')
    expect(() => server().gateway.vault.decrypt(key?.sealed_private_jwk ?? '', 'signing-key/other')).toThrow()
  })

  test('a rotated key verifies for an hour beside its successor', async () => {
    const before = await issue()
    const { kid } = await rotate()
    const after = await issue()
    expect(decodeProtectedHeader(after).kid).toBe(kid)
    expect(await listPublished()).toHaveLength(2)
    for (const token of [before, after]) expect(await verify(token)).toMatchObject({ subject: 'main' })
    server().clock.advance(3_601_000)
    expect(await listPublished()).toEqual([kid])
    server().clock.release()
  })

  test('a revoked key ends its tokens at once, verified ones too', async () => {
    const before = await issue()
    expect(await verify(before)).toBeDefined()
    await rotate(true)
    expect(await verify(before)).toBeUndefined()
    expect(await verify(await issue())).toBeDefined()
    expect(await listPublished()).toHaveLength(1)
  })

  test('a token for another installation is refused', async () => {
    const token = await issue()
    expect(
      await server().gateway.identity.accessTokens.verify(token, 'https://other.example.com'),
    ).toBeUndefined()
  })
})
