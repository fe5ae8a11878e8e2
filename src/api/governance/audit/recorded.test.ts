import { expect, test } from 'bun:test'
import { describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import { startMailServer } from '../../../../test/support/mail-server.ts'
import { sendMail } from '../../../platform/mail/send-mail.ts'

const listEntries = async ({ gateway, call }: TestServer, query: string) => {
  await gateway.audit.queue.flush()
  return (await call('GET', `/audit?${query}`)).body.data
}

describeOnEachDatabase('what is recorded without a change', (server) => {
  test('S10 refusals of a known caller: one entry in a minute for each operation, with a count', async () => {
    const { call, own, clock, gateway } = server()
    clock.freeze('2030-01-01T00:00:00Z')
    const refuse = (path: string) => call('GET', path, { key: own.inferenceKey })
    for (let n = 0; n < 5; n++) expect((await refuse('/credits')).status).toBe(403)
    await refuse('/keys')
    // An unknown key is nobody, and is not recorded.
    expect((await call('GET', '/credits', { key: 'sk-unknown' })).status).toBe(401)
    const query = 'action=operation.refuse&from=2030-01-01T00:00:00Z'
    expect(await listEntries(server(), query)).toMatchObject([
      { target: { id: 'listKeys' }, outcome: 'refused' },
      {
        target: { type: 'operation', id: 'getCredits', name: 'GET /credits' },
        outcome: 'refused',
        actor: { type: 'key' },
        changes: { details: { reason: 'wrong_key_kind', permission: 'credits:read', count: 1 } },
      },
    ])
    gateway.audit.rejectedCalls.sweep()
    expect(await listEntries(server(), query)).toHaveLength(2)
    clock.advance(60_000)
    gateway.audit.rejectedCalls.sweep()
    const [latest, ...older] = await listEntries(server(), query)
    expect(older).toHaveLength(2)
    expect(latest.changes.details).toMatchObject({ count: 4 })
    // Nothing is left to be counted.
    clock.advance(60_000)
    gateway.audit.rejectedCalls.sweep()
    expect(await listEntries(server(), query)).toHaveLength(3)
    clock.release()
  })

  test('S10 a disabled and an expired key are recorded, also for inference', async () => {
    const { call } = server()
    const create = async (body: object) =>
      (await call('POST', '/keys', { body: { name: 'k', ...body } })).body
    const disabled = await create({})
    await call('PATCH', `/keys/${disabled.data.hash}`, { body: { disabled: true } })
    const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
    expect((await call('POST', '/chat/completions', { key: disabled.key, body })).status).toBe(401)
    const entries = await listEntries(server(), `action=operation.refuse&actor_id=${disabled.data.hash}`)
    expect(entries).toMatchObject([
      { actor: { type: 'key', name: 'k' }, changes: { details: { reason: 'key_disabled', count: 1 } } },
    ])
  })

  test('S12 the use of a secret: one entry for each secret and day, without the secret', async () => {
    const { call, clock, gateway } = server()
    const byok = { provider: 'groq', key: 'canary-credential-0123456789', name: 'mine' }
    const { id } = (await call('POST', '/byok', { body: byok })).body.data
    const query = 'action=secret.open'
    const use = () => gateway.audit.secretUses.add('byok_key', id)
    for (let n = 0; n < 3; n++) use()
    expect(await listEntries(server(), query)).toMatchObject([
      { target: { type: 'byok_key', id, name: 'mine' }, actor: { type: 'job', name: 'gateway' } },
    ])
    clock.advance(86_400_000)
    use()
    use()
    expect(await listEntries(server(), query)).toHaveLength(2)
    const rows = await gateway.db.selectFrom('audit_entries').selectAll().execute()
    expect(JSON.stringify(rows)).not.toContain('canary')
    clock.release()
  })

  test('S12 R40 the password of the mail server is used: one entry in the chain of the installation', async () => {
    const inbox = await startMailServer({ user: 'headgate', password: 'canary-password' })
    const smtp = { host: '127.0.0.1', port: inbox.port, tls: 'none' as const, from: 'gate@example.com' }
    const mail = { to: 'ada@example.com', subject: 'Hello', text: 'Hello' }
    const sendWith = (more: object) =>
      sendMail({ ...server().gateway, settings: { smtp: { ...smtp, ...more } } }, mail)
    const query = 'chain=installation&action=secret.open'
    const open = await startMailServer()
    await sendWith({ port: open.port })
    expect(await listEntries(server(), query)).toEqual([])
    for (let n = 0; n < 2; n++) await sendWith({ user: 'headgate', password: 'canary-password' })
    const entries = await listEntries(server(), query)
    expect(entries).toMatchObject([{ target: { type: 'smtp', id: 'smtp.password' }, actor: { type: 'job' } }])
    expect(JSON.stringify(entries)).not.toContain('canary')
    await Promise.all([inbox.close(), open.close()])
  })
})
