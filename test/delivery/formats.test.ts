import { afterAll, beforeEach, expect, test } from 'bun:test'
import { S3Client } from 'bun'
import { describeOnSqlite, type TestServer } from '../support/harness.ts'
import { type ReceivedRequest, startReceiver } from '../support/receiver.ts'
import { hasS3, newS3Options } from '../support/s3.ts'
import { chat, clearOutbox, deliver } from './support.ts'

/** Stands for the services that do not take OTLP, as far as their address can be chosen. */
const receiver = startReceiver((request) => respond(request))
const accept = (_: ReceivedRequest) => Response.json({ status: 'Ok' })
let respond = accept
afterAll(receiver.stop)

const bucket = hasS3 ? newS3Options() : null
const addresses = [receiver.origin, ...(bucket ? [bucket.endpoint] : [])].map((url) => new URL(url).host)

async function createDestination(server: TestServer, type: string, config: object): Promise<string> {
  const key = server.own.managementKey
  await server.call('PATCH', `/workspaces/${server.own.workspace.id}`, {
    key,
    body: { is_observability_broadcast_enabled: true },
  })
  const body = { type, name: type, config, broadcast_generation_cost: true }
  const created = await server.call('POST', '/observability/destinations', { key, body })
  if (created.status !== 201) throw new Error(JSON.stringify(created.body))
  return created.body.data.id
}

describeOnSqlite(
  'the formats of destinations',
  (server) => {
    beforeEach(async () => {
      server().clock.release()
      await clearOutbox(server())
      receiver.requests.splice(0)
      respond = accept
    })

    test('R40 E17 a generation arrives in each, without a secret', async () => {
      const login = { database: 'db', username: 'u', password: 'canary-password' }
      await createDestination(server(), 'clickhouse', { host: receiver.origin, ...login })
      await createDestination(server(), 'datadog', { apiKey: 'canary-key', mlApp: 'a', url: receiver.origin })
      await createDestination(server(), 'posthog', { apiKey: 'phc_key', endpoint: receiver.origin })
      const id = await chat(server(), 'Hello there', { user: 'user-1', session_id: 'session-1' })
      await deliver(server())
      const bodies = Object.fromEntries(receiver.requests.map(({ path, body }) => [path, body]))
      expect(Object.keys(bodies).sort()).toEqual(['/', '/api/intake/llm-obs/v1/trace/spans', '/batch/'])
      expect(JSON.parse(bodies['/'] ?? '')).toMatchObject({
        GENERATION_ID: id,
        MODEL: 'sandbox/echo',
        PROVIDER_NAME: 'sandbox',
        USER_ID: 'user-1',
        SESSION_ID: 'session-1',
        API_KEY_NAME: null,
        TOTAL_COST: expect.any(Number),
      })
      const { spans } = JSON.parse(bodies['/api/intake/llm-obs/v1/trace/spans'] ?? '').data.attributes
      expect(spans[1].meta.metadata.generation_id).toBe(id)
      expect(JSON.parse(bodies['/batch/'] ?? '').batch[0].properties).toMatchObject({
        generation_id: id,
        $ai_input: [{ role: 'user', content: 'Hello there' }],
      })
      expect(Object.values(bodies).join()).not.toContain('canary')
    })

    test.if(bucket !== null)('a generation is an object in S3 storage', async () => {
      const { endpoint, bucket: bucketName, region, accessKeyId, secretAccessKey, prefix } = bucket!
      const credential = { endpoint, region, accessKeyId, secretAccessKey }
      const folder = `${prefix}${crypto.randomUUID()}`
      await createDestination(server(), 's3', { ...credential, bucketName, prefix: folder })
      const ids: string[] = []
      for (const content of ['One', 'Two']) {
        ids.push(await chat(server(), content))
        // One at a time: the server under test fails if two requests create the same folder.
        await deliver(server())
      }
      const client = new S3Client({ ...credential, bucket: bucketName })
      const { contents = [] } = await client.list({ prefix: folder })
      const stored = await Promise.all(contents.map(({ key }) => client.file(key).json()))
      expect(stored.map(({ id }) => id).sort()).toEqual(ids.sort())
    })

    test('an event is sent again if the destination is at fault, whatever its status', async () => {
      const id = await createDestination(server(), 'posthog', {
        apiKey: 'phc_key',
        endpoint: receiver.origin,
      })
      await chat(server(), 'Hello there')
      respond = () => Response.json({ status: 'Ok', quota_limited: ['events'] })
      await deliver(server())
      const { body } = await server().call('GET', `/observability/destinations/${id}/status`)
      expect(body.data).toMatchObject({
        queued: 1,
        delivered: 0,
        last_error: 'The quota of the project is used up: events.',
      })
      respond = accept
      server().clock.advance(3_600_000)
      await deliver(server())
      const bodies = receiver.requests.map(({ body }) => body)
      expect(bodies).toHaveLength(2)
      expect(bodies[1]).toBe(bodies[0]!)
    })
  },
  { settings: `egress: { allow_private: ${JSON.stringify(addresses)} }\n` },
)
