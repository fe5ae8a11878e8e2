import { beforeEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { describeOnEachDatabase } from '../support/harness.ts'
import {
  buildEgressSettings,
  chat,
  clearOutbox,
  createWebhook,
  deliver,
  receivePlainEvents,
} from './support.ts'

const receiver = receivePlainEvents()

const everything = {
  broadcast_generation_cost: true,
  broadcast_generation_identity: true,
  broadcast_generation_request_context: true,
}

describeOnEachDatabase(
  'what a destination receives',
  (server) => {
    beforeEach(async () => {
      server().clock.release()
      await clearOutbox(server())
      receiver.reset()
    })

    const update = (id: string, body: Record<string, unknown>) =>
      server().call('PATCH', `/observability/destinations/${id}`, { body })
    const statusOf = async (id: string) =>
      (await server().call('GET', `/observability/destinations/${id}/status`)).body.data

    test('E17 all switches on: cost, identity and context are included', async () => {
      await createWebhook(server(), receiver.url(), everything)
      await chat(server(), 'Hello', { session_id: 'session-7', user: 'person-9' })
      await deliver(server())
      const { own } = server()
      expect(receiver.events()).toMatchObject([
        {
          sessionId: 'session-7',
          externalUser: 'person-9',
          cost: { total: expect.any(Number), isByok: false },
          identity: {
            organizationId: own.organization.id,
            workspaceId: own.workspace.id,
            apiKeyHash: expect.stringMatching(/^[0-9a-f]{64}$/),
          },
          context: { dialect: 'chat', requestId: expect.any(String), filters: [] },
        },
      ])
    })

    test.each([
      ['privacy mode on, then off', { privacy_mode: true }, { privacy_mode: false }],
      ['privacy mode off, then on', { privacy_mode: false }, { privacy_mode: true }],
    ])('E17 R40 %s: neither input nor output', async (_, created, changed) => {
      const id = await createWebhook(server(), receiver.url(), { ...created, ...everything })
      // It stores the content, for itself.
      await createWebhook(server(), receiver.url('/open'))
      await chat(server(), 'the prompt')
      await update(id, changed)
      await deliver(server())
      expect(receiver.events()).toMatchObject([{ input: null, output: null, identity: {} }])
      expect(receiver.events('/open')).toMatchObject([{ input: {}, output: {} }])
    })

    test.each([
      ['on when it ended, off when it is sent', true],
      ['off when it ended, on when it is sent', false],
    ])('E17 a switch that was %s hides its part', async (_, isOnFirst) => {
      const switches = (value: boolean) =>
        Object.fromEntries(Object.keys(everything).map((name) => [name, value]))
      const id = await createWebhook(server(), receiver.url(), switches(isOnFirst))
      await chat(server(), 'Hello')
      await update(id, switches(!isOnFirst))
      await deliver(server())
      expect(receiver.events()).toMatchObject([{ cost: null, identity: null, context: null }])
    })

    test('E17 R40 privacy mode that is switched on while a batch is divided holds for the rest of it', async () => {
      const id = await createWebhook(server(), receiver.url())
      for (const content of ['first', 'second', 'third', 'fourth']) await chat(server(), content)
      receiver.respond = async ({ events }) => {
        if (receiver.batches.length === 1) await update(id, { privacy_mode: true })
        return new Response(null, { status: events.length > 1 ? 400 : 200 })
      }
      await deliver(server())
      await deliver(server())
      const [whole, ...others] = receiver.batches
      expect(whole?.events.every(({ input }) => input !== null)).toBe(true)
      const sentLater = others.flatMap(({ events }) => events)
      expect(new Set(sentLater.map((event) => event.id)).size).toBe(4)
      expect(sentLater.filter(({ input, output }) => input !== null || output !== null)).toEqual([])
    })

    test('S13 of a long input, the newest messages are stored', async () => {
      await createWebhook(server(), receiver.url())
      const messages = ['a', 'b'].map((letter) => ({ role: 'user', content: `${letter} `.repeat(200_000) }))
      await chat(server(), '', { messages, max_tokens: 1 })
      await deliver(server())
      const input = receiver.events()[0]?.input as unknown as { messages: typeof messages }
      const [oldest, newest] = input.messages.map(({ content }) => content)
      expect(newest).toBe(messages[1]!.content)
      expect(oldest).toStartWith('a a')
      expect(oldest!.length + newest!.length).toBeLessThanOrEqual(512 * 1024)
    })

    test.each([
      ['another region', { regions: ['us'] }],
      ['another key', { api_key_hashes: 'management' }],
      ['a filter that excludes it', { filter_rules: excludeAll() }],
    ])('E17 %s, set while it was queued, excludes it', async (_, changed) => {
      const id = await createWebhook(server(), receiver.url())
      await chat(server(), 'Hello')
      const hashes = (await server().call('POST', '/keys', { body: { name: 'other' } })).body.data.hash
      await update(id, 'api_key_hashes' in changed ? { api_key_hashes: [hashes] } : changed)
      await deliver(server())
      expect(receiver.batches).toEqual([])
      expect(await statusOf(id)).toMatchObject({ queued: 0, delivered: 0, dropped: 0 })
    })

    test('E17 a filter on content reads it in privacy mode too, and does not send it', async () => {
      const filter_rules = {
        groups: [{ rules: [{ field: 'input', operator: 'contains', value: 'keep' }] }],
      }
      await createWebhook(server(), receiver.url(), { privacy_mode: true, filter_rules })
      const kept = await chat(server(), 'keep this')
      await chat(server(), 'not this')
      await deliver(server())
      expect(receiver.ids()).toEqual([kept])
      expect(receiver.events()).toMatchObject([{ input: null, output: null }])
    })

    test('E17 an event that no destination reads the content of is stored without it', async () => {
      await createWebhook(server(), receiver.url(), { privacy_mode: true })
      await chat(server(), 'x'.repeat(5000))
      await server().gateway.ledger.flush()
      const rows = await server().gateway.db.selectFrom('outbox_events').select('size').execute()
      expect(rows).toHaveLength(1)
      expect(rows[0]?.size).toBeLessThan(5000)
    })

    test.each([
      ['disabled', (id: string) => update(id, { enabled: false })],
      ['deleted', (id: string) => server().call('DELETE', `/observability/destinations/${id}`)],
      [
        'silenced by its workspace',
        () =>
          server().call('PATCH', `/workspaces/${server().own.workspace.id}`, {
            body: { is_observability_broadcast_enabled: false },
          }),
      ],
    ])('E17 events of a destination that was %s are dropped', async (_, stop) => {
      const id = await createWebhook(server(), receiver.url())
      await chat(server(), 'Hello')
      await stop(id)
      await deliver(server())
      expect(receiver.batches).toEqual([])
      const { db } = server().gateway
      expect(await db.selectFrom('outbox_events').select('id').execute()).toEqual([])
      const states = await db.selectFrom('destination_states').select('dropped').execute()
      expect(states).toEqual([{ dropped: 1 }])
    })

    test('E17 a request of another region, and a session that is not sampled, are not queued', async () => {
      await createWebhook(server(), receiver.url(), { regions: ['us', 'eu'] })
      const sampled = await createWebhook(server(), receiver.url('/sampled'), { sampling_rate: 0.5 })
      const sessions = Array.from({ length: 12 }, (_, index) => `session-${index}`)
      for (const session_id of [...sessions, ...sessions]) await chat(server(), 'Hello', { session_id })
      await deliver(server())
      expect(receiver.events('/in')).toEqual([])
      const counts = sessions.map(
        (session) => receiver.events('/sampled').filter(({ sessionId }) => sessionId === session).length,
      )
      expect(counts.every((count) => count === 0 || count === 2)).toBe(true)
      expect(await statusOf(sampled)).toMatchObject({ delivered: counts.reduce((a, b) => a + b, 0) })
    })

    test('R40 S12 no row, log line, file or delivery has a secret, or a prompt that it must not have', async () => {
      const { gateway, own } = server()
      const { log } = gateway
      const lines: string[] = []
      Object.assign(gateway, { log: pino({ level: 'trace' }, { write: (line) => lines.push(line) }) })
      const secret = 'canary-destination-secret'
      const prompt = 'canary-prompt-of-the-client'
      const config = { headers: { 'x-token': secret } }
      await createWebhook(server(), receiver.url(), { ...everything, privacy_mode: true, config })
      await createWebhook(server(), receiver.url('/open'), { ...everything, config })
      await createWebhook(server(), receiver.url('/broken'), { config })
      receiver.respond = ({ path, headers, events }) =>
        path === '/broken'
          ? Response.json({ rejected: [headers.get('x-token'), events] })
          : new Response(null, { status: path === '/open' ? 500 : 200 })
      await chat(server(), prompt)
      await deliver(server())
      const { db } = gateway
      const rows = [
        await db.selectFrom('outbox_events').selectAll().execute(),
        await db.selectFrom('outbox_deliveries').selectAll().execute(),
        await db.selectFrom('destination_states').selectAll().execute(),
        await db.selectFrom('destinations').selectAll().execute(),
      ]
      expect(rows.slice(0, 3).every((list) => list.length > 0)).toBe(true)
      Object.assign(gateway, { log })
      for (const canary of [secret, prompt, own.inferenceKey]) {
        expect(JSON.stringify(rows)).not.toContain(canary)
        expect(lines.join('')).not.toContain(canary)
        for (const file of listFiles(gateway.config.dataDir))
          expect(readFileSync(file).includes(canary)).toBe(false)
      }
      const sent = (path: string) => JSON.stringify(receiver.events(path))
      expect(sent('/in')).not.toContain(prompt)
      expect(sent('/open')).toContain(prompt)
      for (const path of ['/in', '/open', '/broken']) {
        expect(sent(path)).not.toContain(secret)
        expect(sent(path)).not.toContain(own.inferenceKey)
      }
    })
  },
  { settings: buildEgressSettings(receiver) },
)

function excludeAll() {
  return { groups: [{ rules: [{ field: 'model', operator: 'not_exists' }] }] }
}

function listFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile())
}
