import { expect, spyOn, test } from 'bun:test'
import { createTenant, describeOnEachDatabase } from '../../test/support/harness.ts'
import { authenticate } from './authenticate.ts'

function send(headers: Record<string, string>): Request {
  return new Request('http://localhost/v1/chat/completions', { method: 'POST', headers })
}

describeOnEachDatabase('a caller of models that was authenticated before', (server) => {
  const identify = (headers: Record<string, string>) => authenticate(server().gateway, send(headers), true)

  test('is the same for every request until an account changes', async () => {
    const { gateway, own } = server()
    const headers = { authorization: `Bearer ${own.inferenceKey}` }
    await identify(headers)
    const known = await identify(headers)
    expect(await identify(headers)).toBe(known)
    await createTenant(gateway, 'Another')
    const after = await identify(headers)
    expect(after).not.toBe(known)
    expect(after.key.id).toBe(known.key.id)
  })

  test('S1 is found by the credential that counts, whatever the other headers are', async () => {
    const { own, foreign } = server()
    const basic = { authorization: 'Basic dXNlcjpwYXNzd29yZA==' }
    for (let time = 0; time < 3; time++) {
      const [first, second] = await Promise.all([
        identify({ ...basic, 'x-api-key': own.inferenceKey }),
        identify({ ...basic, 'x-api-key': foreign.inferenceKey }),
      ])
      expect([first.organizationId, second.organizationId]).toEqual([
        own.organization.id,
        foreign.organization.id,
      ])
      await expect(identify(basic)).rejects.toMatchObject({ code: 'credential_missing' })
    }
  })

  test('S1 is not remembered by a row that may have changed, as while the database is unavailable', async () => {
    const { gateway, own } = server()
    const headers = { authorization: `Bearer ${own.inferenceKey}` }
    const { key } = await identify(headers)
    await createTenant(gateway, 'One more')
    await gateway.accounts.findKey(own.managementKey)
    const findKey = spyOn(gateway.accounts, 'findKey').mockImplementation(async () => key)
    expect((await identify(headers)).key).toBe(key)
    findKey.mockRestore()
    expect((await identify(headers)).key).not.toBe(key)
  })

  test('is rejected once the key has expired or is disabled', async () => {
    const { clock, call } = server()
    const expires_at = new Date(clock.now() + 60_000).toISOString()
    const { body: expiring } = await call('POST', '/keys', { body: { name: 'short', expires_at } })
    const { body: disabled } = await call('POST', '/keys', { body: { name: 'disabled' } })
    const ofExpiring = { authorization: `Bearer ${expiring.key}` }
    const ofDisabled = { authorization: `Bearer ${disabled.key}` }
    for (let time = 0; time < 3; time++) {
      expect((await identify(ofExpiring)).key.name).toBe('short')
      expect((await identify(ofDisabled)).key.name).toBe('disabled')
    }
    await call('PATCH', `/keys/${disabled.data.hash}`, { body: { disabled: true } })
    await expect(identify(ofDisabled)).rejects.toMatchObject({ code: 'key_disabled' })
    clock.advance(61_000)
    await expect(identify(ofExpiring)).rejects.toMatchObject({ code: 'key_expired' })
    clock.release()
  })
})
