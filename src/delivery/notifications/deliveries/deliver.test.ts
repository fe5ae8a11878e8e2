import { afterAll, beforeEach, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { createTenant, describeOnEachDatabase, type Tenant } from '../../../../test/support/harness.ts'
import { startMailServer } from '../../../../test/support/mail-server.ts'
import { startReceiver } from '../../../../test/support/receiver.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { postFunding } from '../../../ledger/entries.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import { evaluateNotifications } from '../evaluate.ts'
import { deliverNotifications } from './deliver.ts'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const key = Buffer.from('canary-secret-of-a-rule-0002')
const secret = `whsec_${key.toString('base64')}`
const inbox = await startMailServer()
let statuses: number[] = []
const receiver = startReceiver(() => new Response('reply', { status: statuses.shift() ?? 200 }))
afterAll(async () => {
  await inbox.close()
  receiver.stop()
})

const settings = `public_url: https://gateway.example.com
smtp: { host: 127.0.0.1, port: ${inbox.port}, tls: none, from: headgate@example.com }
egress: { allow_private: ["${new URL(receiver.origin).host}"] }`

describeOnEachDatabase(
  'deliveries of notifications',
  (server) => {
    let tenant: Tenant
    beforeEach(async () => {
      const { clock, gateway } = server()
      clock.freeze('2026-03-30T10:00:00Z')
      tenant = await createTenant(gateway, 'notified')
      statuses = []
      receiver.requests.length = 0
    })
    afterAll(() => server().clock.release())

    const call = (method: string, path: string, body?: unknown) =>
      server().call(method, path, { key: tenant.managementKey, body })
    const deliver = () => deliverNotifications(server().gateway)
    const createRule = async (rule: object): Promise<string> =>
      (await call('POST', '/notifications/rules', { kind: 'low_balance', ...rule })).body.data.id
    /** The rules with the channels of this test, and a balance below their threshold. */
    const runLow = async () => {
      const { gateway, clock } = server()
      await postFunding(gateway.db, {
        transactionId: newId('txn'),
        organizationId: tenant.organization.id,
        kind: 'grant',
        note: null,
        amount: 5_000_000_000n,
        at: new Date(clock.now()).toISOString(),
      })
      await evaluateNotifications(gateway)
    }
    const listStates = () =>
      server()
        .gateway.db.selectFrom('notification_deliveries')
        .select(['channel', 'state', 'attempts'])
        .where('organization_id', '=', tenant.organization.id)
        .orderBy('channel')
        .execute()

    test('a mail and a signed webhook, each once', async () => {
      await createRule({
        channels: { email: ['ops@example.com'], webhook: { url: `${receiver.origin}/a`, secret } },
      })
      await runLow()
      await Promise.all([deliver(), deliver()])
      await deliver()
      const mail = await inbox.next()
      expect([mail.to, inbox.unread]).toEqual([['ops@example.com'], 0])
      expect(mail.text).toContain('The organization has 5.00 USD of credits left.')
      expect(receiver.requests).toHaveLength(1)
      const { headers = {}, body = '' } = receiver.requests[0] ?? {}
      const { type, data } = JSON.parse(body)
      expect([type, data.kind, data.organization_id]).toEqual([
        'notification.low_balance',
        'low_balance',
        tenant.organization.id,
      ])
      const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
      const expected = createHmac('sha256', key).update(signed).digest('base64')
      expect(headers['webhook-signature']).toBe(`v1,${expected}`)
      expect(await listStates()).toEqual([
        { channel: 'email', state: 'delivered', attempts: 1 },
        { channel: 'webhook', state: 'delivered', attempts: 1 },
      ])
    })

    test('a failed webhook is retried with back-off and the same id, and given up in the end', async () => {
      await createRule({ channels: { webhook: { url: `${receiver.origin}/b`, secret } } })
      await runLow()
      statuses = [500, 503, 200]
      await deliver()
      await deliver()
      expect(receiver.requests).toHaveLength(1)
      server().clock.advance(minuteMs)
      await deliver()
      server().clock.advance(5 * minuteMs)
      await deliver()
      const ids = receiver.requests.map(({ headers }) => headers['webhook-id'])
      expect([ids.length, new Set(ids).size]).toEqual([3, 1])
      expect(await listStates()).toEqual([{ channel: 'webhook', state: 'delivered', attempts: 3 }])
    })

    test('after the last attempt it is given up', async () => {
      await createRule({ channels: { webhook: { url: `${receiver.origin}/c` } } })
      await runLow()
      statuses = Array.from({ length: 20 }, () => 500)
      for (let attempt = 0; attempt < 10; attempt++) {
        await deliver()
        server().clock.advance(24 * hourMs)
      }
      expect(await listStates()).toEqual([{ channel: 'webhook', state: 'failed', attempts: 6 }])
    })

    test('a node that stopped while it sent: another sends the same message after the lease', async () => {
      await createRule({ channels: { webhook: { url: `${receiver.origin}/d` } } })
      await runLow()
      const { gateway, clock } = server()
      const until = new Date(clock.now() + 3 * minuteMs).toISOString()
      await gateway.db
        .updateTable('notification_deliveries')
        .set({ lease_owner: 'gone', lease_until: until })
        .where('organization_id', '=', tenant.organization.id)
        .execute()
      await deliver()
      expect(receiver.requests).toHaveLength(0)
      clock.advance(3 * minuteMs + 1)
      const other: Gateway = { ...gateway, node: Object.assign(Object.create(gateway.node), { id: 'other' }) }
      await Promise.all([deliver(), deliverNotifications(other)])
      expect(receiver.requests).toHaveLength(1)
      expect(await listStates()).toEqual([{ channel: 'webhook', state: 'delivered', attempts: 1 }])
    })

    test('a digest: one mail a day for an address, whatever the rules', async () => {
      const channels = { email: ['daily@example.com'] }
      await createRule({ threshold: 50, digest: 'daily', channels })
      await createRule({ threshold: 20, digest: 'daily', channels })
      await runLow()
      await deliver()
      server().clock.advance(22 * hourMs - 1)
      await deliver()
      expect(inbox.unread).toBe(0)
      server().clock.advance(1)
      await deliver()
      await deliver()
      const mail = await inbox.next()
      expect([mail.to, inbox.unread]).toEqual([['daily@example.com'], 0])
      expect(mail.source).toContain('Subject: Headgate: 2 notifications')
      expect(mail.text).toContain('The balance is below 20 USD')
      expect(mail.text).toContain('The balance is below 50 USD')
    })

    test('nothing is sent to an address that was removed, nor for a rule that is disabled or deleted', async () => {
      const webhook = { url: `${receiver.origin}/e` }
      const changed = await createRule({ threshold: 10, channels: { webhook } })
      const disabled = await createRule({ threshold: 11, channels: { webhook } })
      const deleted = await createRule({ threshold: 12, channels: { webhook } })
      await runLow()
      await call('PATCH', `/notifications/rules/${changed}`, { channels: { webhook: null } })
      await call('PATCH', `/notifications/rules/${disabled}`, { enabled: false })
      await call('DELETE', `/notifications/rules/${deleted}`)
      await deliver()
      expect([receiver.requests, await listStates()]).toEqual([[], []])
    })

    test('R40 neither the secret nor what the receiver replied is stored or shown', async () => {
      await createRule({ channels: { webhook: { url: `${receiver.origin}/f`, secret } } })
      await runLow()
      statuses = [500]
      await deliver()
      const { db } = server().gateway
      const rows = await db.selectFrom('notification_deliveries').selectAll().execute()
      const text = JSON.stringify([rows, receiver.requests, (await call('GET', '/notifications/rules')).body])
      expect(text).not.toContain(secret.slice(6))
      expect(rows.map(({ error }) => error)).toContain('The receiver returned status 500.')
      await server().gateway.audit.queue.flush()
      const uses = (await call('GET', '/audit?action=secret.open')).body.data
      expect(uses).toMatchObject([{ target: { type: 'notification_rule', name: 'low_balance' } }])
    })
  },
  { settings },
)
