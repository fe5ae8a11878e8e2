import { expect, test } from 'bun:test'
import { createSessionCaller, describeOnEachDatabase } from '../support/harness.ts'

describeOnEachDatabase('a member who is signed in', (server) => {
  test('S1 calls the API with a cookie and the CSRF token', async () => {
    const admin = await createSessionCaller(server(), { role: 'org:admin' })
    expect((await admin.call('GET', '/keys')).status).toBe(200)
    const created = await admin.call('POST', '/workspaces', { body: { name: 'New', slug: 'by-session' } })
    expect(created.status).toBe(201)
    expect(created.body.data.created_by).toBe(admin.member.id)
  })

  test.each([
    ['without the CSRF token', { 'x-csrf-token': '' }],
    ['from another site', { 'sec-fetch-site': 'cross-site' }],
  ])('cannot change anything %s', async (_, headers) => {
    const admin = await createSessionCaller(server(), { role: 'org:admin' })
    const response = await admin.call('POST', '/workspaces', { body: { name: 'x', slug: 'x' }, headers })
    expect(response.status).toBe(403)
  })
})
