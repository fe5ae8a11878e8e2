import { afterAll, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import { startReceiver } from '../../../../test/support/receiver.ts'
import { runAuditDeliveries } from '../../../delivery/audit-deliveries.ts'
import { updateAuditDestination } from '../../../delivery/audit-destinations.ts'
import { transactAs } from '../../../governance/audit/transaction.ts'
import { ClusterNode } from '../../../ledger/recovery.ts'
import { TaskPool } from '../../../platform/concurrency/task-pool.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
let status = 200
let onRequest = async (): Promise<void> => undefined
const webhook = startReceiver(async () => {
  await onRequest()
  return new Response(null, { status })
})
/** Text that each connection to the syslog server sent. */
const received: string[] = []
const syslog = createServer((socket) => {
  let text = ''
  socket.setEncoding('utf8')
  socket.on('data', (chunk) => {
    text += chunk
  })
  socket.on('end', () => {
    received.push(text)
    socket.end()
  })
})
const { promise: listening, resolve } = Promise.withResolvers<void>()
syslog.listen(0, '127.0.0.1', resolve)
await listening
const syslogPort = (syslog.address() as AddressInfo).port
afterAll(() => {
  void webhook.stop()
  syslog.close()
})
const settings = `egress: { allow_private: ["${new URL(webhook.origin).host}", "127.0.0.1:${syslogPort}"] }`

const write = ({ gateway, own }: TestServer, action: string, id: string) =>
  transactAs(
    gateway,
    {
      organizationId: own.organization.id,
      actor: { type: 'member', id: 'm1', name: 'Ada' },
      ip: '192.0.2.1',
      userAgent: 'curl',
      requestId: 'req-1',
    },
    async (_tx, record) => record({ action, target: { type: action.split('.')[0] ?? '', id, name: 'näme' } }),
  )

/** Delivers entries, including the one that delivery itself adds later: that a signing secret was decrypted. */
const deliver = async ({ gateway }: TestServer) => {
  for (let round = 0; round < 2; round++) {
    await runAuditDeliveries(gateway)
    await gateway.delivery.tasks.idle()
    await gateway.audit.queue.flush()
  }
}

describeOnEachDatabase(
  'delivery of the audit log',
  (server) => {
    test('S5 R40 a webhook gets each entry signed, in OCSF, and again after a failure', async () => {
      const { call, clock, gateway } = server()
      // The first retry is due within a second.
      clock.freeze('2028-03-15T12:00:00.000Z')
      webhook.requests.length = 0
      const config = { url: `${webhook.origin}/events`, signing_secret: secret }
      const body = { name: 'SIEM', type: 'webhook', config, action_prefixes: ['key.', 'member.'] }
      const created = (await call('POST', '/audit/destinations', { body })).body.data
      expect(created).toMatchObject({ is_signed: true, config: { url: config.url } })
      await write(server(), 'key.update', 'k1')
      await write(server(), 'workspace.update', 'w1')
      await write(server(), 'member.delete', 'm2')
      await deliver(server())
      expect(webhook.requests).toHaveLength(2)
      const request = webhook.requests.find(({ body: text }) => text.includes('"key.update"'))
      const event = JSON.parse(request?.body ?? '')
      expect(event).toMatchObject({
        class_uid: 3004,
        category_uid: 3,
        activity_id: 3,
        type_uid: 300403,
        severity_id: 1,
        status_id: 1,
        actor: { user: { uid: 'm1', name: 'Ada' } },
        src_endpoint: { ip: '192.0.2.1' },
        entity: { uid: 'k1', name: 'näme', type: 'key' },
        metadata: { event_code: 'key.update', version: '1.8.0', product: { name: 'Headgate' } },
      })
      const {
        'webhook-id': id,
        'webhook-timestamp': time,
        'webhook-signature': sent,
      } = request?.headers ?? {}
      expect(id).toBe(event.metadata.uid)
      const hmac = createHmac('sha256', Buffer.alloc(32, 7)).update(`${id}.${time}.${request?.body}`)
      expect(sent).toBe(`v1,${hmac.digest('base64')}`)
      const member = webhook.requests
        .map(({ body: text }) => JSON.parse(text))
        .find(({ class_uid }) => class_uid === 3001)
      expect(member).toMatchObject({ activity_id: 6, user: { uid: 'm2' } })

      status = 503
      await write(server(), 'key.update', 'k2')
      await deliver(server())
      const path = `/audit/destinations/${created.id}`
      const failing = (await call('GET', path)).body.data.status
      expect(failing).toMatchObject({ delivered: 2, pending: 1, failures: 1 })
      expect(failing.last_error).toBe('The destination returned status 503.')
      const attempts = webhook.requests.length
      // Not before the retry is due.
      status = 200
      await deliver(server())
      expect(webhook.requests).toHaveLength(attempts)
      clock.advance(600_000)
      await deliver(server())
      expect((await call('GET', path)).body.data.status).toMatchObject({
        delivered: 3,
        pending: 0,
        failures: 0,
      })
      const test = await call('POST', `${path}/test`)
      expect(test.body.data).toMatchObject({ delivered: true, error: null })

      status = 410
      await write(server(), 'key.update', 'k3')
      await deliver(server())
      expect((await call('GET', path)).body.data.enabled).toBe(false)
      status = 200
      await call('PATCH', path, { body: { enabled: true } })
      await deliver(server())
      expect((await call('GET', path)).body.data.status).toMatchObject({ delivered: 4 })
      const rows = await gateway.db.selectFrom('audit_entries').selectAll().execute()
      expect(JSON.stringify(rows)).not.toContain(secret)
      expect((await call('DELETE', path)).status).toBe(200)
      clock.release()
    })

    test('S5 a syslog server gets counted frames of RFC 5424, once', async () => {
      const { call } = server()
      received.length = 0
      const config = { host: '127.0.0.1', port: syslogPort, tls: false }
      const body = { name: 'syslog', type: 'syslog', config, action_prefixes: ['session.'] }
      const { id } = (await call('POST', '/audit/destinations', { body })).body.data
      await write(server(), 'session.create', 's1')
      await write(server(), 'session.delete', 's2')
      await deliver(server())
      await deliver(server())
      expect(received).toHaveLength(1)
      let rest = Buffer.from(received[0] ?? '')
      const messages: string[] = []
      while (rest.length > 0) {
        const space = rest.indexOf(' ')
        const length = Number(rest.subarray(0, space))
        messages.push(rest.subarray(space + 1, space + 1 + length).toString())
        rest = rest.subarray(space + 1 + length)
      }
      expect(messages).toHaveLength(2)
      expect(messages[0]).toMatch(/^<110>1 \d{4}-\S+Z \S+ headgate - session\.create - \{/)
      const event = JSON.parse(messages[0]?.replace(/^[^{]*/, '') ?? '')
      expect(event).toMatchObject({ class_uid: 3002, activity_id: 1, service: { name: 'Headgate' } })
      const { status: state } = (await call('GET', `/audit/destinations/${id}`)).body.data
      expect(state).toMatchObject({ delivered: 2, pending: 0 })
    })

    test('R39 of two nodes, one delivers an entry; the other takes over when its lease ends', async () => {
      const { call, gateway, clock } = server()
      webhook.requests.length = 0
      const config = { url: `${webhook.origin}/nodes` }
      const body = { name: 'nodes', type: 'webhook', config, action_prefixes: ['role.'] }
      const { id } = (await call('POST', '/audit/destinations', { body })).body.data
      const nodes = [1, 2].map(() => ({
        ...gateway,
        node: new ClusterNode(false),
        delivery: { ...gateway.delivery, tasks: new TaskPool(8) },
      }))
      const deliverAll = async () => {
        await Promise.all(nodes.map(runAuditDeliveries))
        await Promise.all(nodes.map(({ delivery }) => delivery.tasks.idle()))
      }
      for (let n = 0; n < 20; n++) await write(server(), 'role.update', `r${n}`)
      // The other node looks for work while entries are sent.
      onRequest = async () => void (await Promise.all(nodes.map(runAuditDeliveries)))
      await deliverAll()
      const ids = () => webhook.requests.map(({ body: text }) => JSON.parse(text).entity.uid)
      expect(ids().toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `r${n}`).toSorted())

      // A node that ended without releasing its lease.
      const lease_until = new Date(clock.now() + 60_000).toISOString()
      await updateAuditDestination(gateway.db, id, { lease_owner: 'node_gone', lease_until })
      await write(server(), 'role.update', 'late')
      await deliverAll()
      expect(ids()).not.toContain('late')
      clock.advance(61_000)
      await deliverAll()
      expect(ids().filter((uid) => uid === 'late')).toHaveLength(1)
      onRequest = async () => undefined
      await call('DELETE', `/audit/destinations/${id}`)
      clock.release()
    })

    test('S5 private addresses and plain text need the operator, the installation its organization', async () => {
      const { call, foreign } = server()
      const create = (type: string, config: object, more: object = {}, key?: string) =>
        call('POST', '/audit/destinations', {
          body: { name: 'x', type, config, ...more },
          ...(key && { key }),
        })
      expect((await create('webhook', { url: 'http://127.0.0.1:1/' })).status).toBe(400)
      expect((await create('syslog', { host: '127.0.0.1', port: 1 })).status).toBe(400)
      expect((await create('syslog', { host: 'logs.example.com', tls: false })).status).toBe(400)
      const config = { url: `${webhook.origin}/` }
      const chain = { chain: 'installation' }
      expect((await create('webhook', config, chain, foreign.managementKey)).status).toBe(403)
      expect((await create('webhook', config, { ...chain, enabled: false })).status).toBe(201)
      for (let n = 0; n < 50; n++) await create('webhook', config, { enabled: false }, foreign.managementKey)
      expect((await create('webhook', config, {}, foreign.managementKey)).status).toBe(409)
    })
  },
  { settings },
)
