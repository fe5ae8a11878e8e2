import { afterAll, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startMailServer } from '../../../../test/support/mail-server.ts'
import { startReceiver } from '../../../../test/support/receiver.ts'
import { createKey } from '../../../identity/keys.ts'

const secret = `whsec_${Buffer.from('canary-secret-of-a-rule-0001').toString('base64')}`

describeOnEachDatabase('rules of notifications', (server) => {
  const post = (body: unknown, key?: string) =>
    server().call('POST', '/notifications/rules', { body, ...(key && { key }) })

  test('exist for a new organization, for the console only', async () => {
    const { body } = await server().call('GET', '/notifications/rules')
    const rules = body.data.map(({ kind, threshold }: { kind: string; threshold: number }) => [
      kind,
      threshold,
    ])
    expect(Object.fromEntries(rules)).toEqual({
      low_balance: 100,
      budget: 80,
      key_expiring: 7,
      destination_failing: 30,
      provider_failing: 15,
      unusual_spend: 5,
    })
    for (const rule of body.data) expect(rule.channels).toEqual({ email: [], webhook: null })
  })

  test('R40 the secret of a webhook is masked, kept on update and absent from the audit log', async () => {
    const webhook = { url: 'https://hooks.example.com/a', secret }
    const created = await post({ kind: 'budget', threshold: 90, channels: { webhook } })
    expect(created.status).toBe(201)
    const { id, channels } = created.body.data
    expect(channels.webhook.secret).not.toBe(secret)
    const path = `/notifications/rules/${id}`
    const updated = await server().call('PATCH', path, {
      body: {
        digest: 'daily',
        channels: { webhook: { ...channels.webhook, url: 'https://hooks.example.com/b' } },
      },
    })
    expect(updated.body.data.channels.webhook).toEqual({
      ...channels.webhook,
      url: 'https://hooks.example.com/b',
    })
    const { db } = server().gateway
    const entries = await db.selectFrom('audit_entries').selectAll().where('target_id', '=', id).execute()
    const actions = entries.map(({ action }) => action)
    expect(actions).toEqual(['notification_rule.create', 'notification_rule.update'])
    expect(
      JSON.stringify([entries, await db.selectFrom('notification_rules').selectAll().execute()]),
    ).not.toContain(secret.slice(6))
    const removed = await server().call('PATCH', path, { body: { channels: { webhook: null } } })
    expect(removed.body.data.channels.webhook).toBeNull()
  })

  test.each([
    [{ kind: 'budget', threshold: 101 }, 'threshold'],
    [{ kind: 'key_expiring', threshold: 0 }, 'threshold'],
    [{ kind: 'rainy_day' }, 'kind'],
    [{ kind: 'budget', channels: { webhook: { url: 'http://hooks.example.com' } } }, 'channels.webhook.url'],
    [
      { kind: 'budget', channels: { webhook: { url: 'https://hooks.example.com', secret: 'x' } } },
      'channels.webhook.secret',
    ],
    [{ kind: 'budget', channels: { email: ['nobody'] } }, 'channels.email.0'],
    [{ kind: 'budget', unknown: 1 }, 'unknown'],
  ])('%j is refused, naming the field', async (body, field) => {
    const { status, body: reply } = await post(body)
    expect(status).toBe(400)
    expect(reply.error.message).toContain(field)
  })

  test('an e-mail channel without a mail server is refused, naming the setting', async () => {
    const { status, body } = await post({ kind: 'budget', channels: { email: ['a@example.com'] } })
    expect(status).toBe(400)
    expect(body.error.message).toMatch(/channels\.email.*smtp in headgate\.yaml/)
  })

  test('a rule of the whole organization cannot name a workspace, R37 nor one of another organization', async () => {
    const { own, foreign } = server()
    const whole = await post({ kind: 'low_balance', workspace_id: own.workspace.id })
    expect([whole.status, whole.body.error.message]).toEqual([400, expect.stringContaining('workspace_id')])
    const other = await post({ kind: 'budget', workspace_id: foreign.workspace.id })
    expect(other.status).toBe(404)
  })

  test('a key that is limited to a workspace manages the rules and notifications of it only', async () => {
    const { gateway, own } = server()
    const { id } = own.workspace
    const { key: row, secret: key } = await createKey(gateway.db, gateway.clock, {
      organizationId: own.organization.id,
      workspaceId: id,
      kind: 'management',
      name: 'limited',
    })
    await gateway.db
      .updateTable('api_keys')
      .set({ workspace_ids: JSON.stringify([id]) })
      .where('id', '=', row.id)
      .execute()
    expect((await post({ kind: 'budget', workspace_id: id }, key)).status).toBe(201)
    const refused = await post({ kind: 'budget' }, key)
    expect([refused.status, refused.body.error.metadata.permission]).toEqual([403, 'notifications:write'])
    const { body } = await server().call('GET', '/notifications/rules', { key })
    expect(body.data.map((rule: { workspace_id: string }) => rule.workspace_id)).toEqual([id])
    expect((await server().call('GET', '/notifications', { key })).body.data).toEqual([])
  })
})

const inbox = await startMailServer()
const receiver = startReceiver(() => new Response('ok'))
afterAll(async () => {
  await inbox.close()
  receiver.stop()
})

describeOnEachDatabase(
  'a test of a rule',
  (server) => {
    test('reaches every address and reports the outcome of each', async () => {
      const webhook = { url: `${receiver.origin}/hook`, secret }
      const { body } = await server().call('POST', '/notifications/rules', {
        body: { kind: 'low_balance', channels: { email: ['Ops@Example.com'], webhook } },
      })
      const { data } = (await server().call('POST', `/notifications/rules/${body.data.id}/test`)).body
      expect(data).toEqual([
        { channel: 'email', address: 'ops@example.com', delivered: true, error: null },
        { channel: 'webhook', address: webhook.url, delivered: true, error: null },
      ])
      const mail = await inbox.next()
      expect([mail.to, mail.text]).toEqual([['ops@example.com'], expect.stringContaining('test')])
      const request = receiver.requests.at(-1)
      expect(request?.headers['webhook-signature']).toMatch(/^v1,/)
      expect(JSON.parse(request?.body ?? '')).toMatchObject({ type: 'notification.test' })
    })
  },
  {
    settings: `public_url: http://gate.example.com
smtp: { host: 127.0.0.1, port: ${inbox.port}, tls: none, from: headgate@example.com }
egress: { allow_private: ["${new URL(receiver.origin).host}"] }`,
  },
)
