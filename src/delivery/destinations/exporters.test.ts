import { describe, expect, test } from 'bun:test'
import { readCodeBlocks, TestDestination } from '../../../test/support/deliver.ts'
import { newGenerationEvent } from '../../../test/support/generation-event.ts'
import { getDestination } from './all.ts'

const secret = 'canary-secret'

/** The config of each kind, and the part of a request that has its secret; null if it only signs. */
const cases: Record<string, { config: object; secretIn: string | null }> = {
  clickhouse: {
    config: { host: 'ch.example.com', database: 'db', username: 'u', password: secret },
    secretIn: 'x-clickhouse-key',
  },
  datadog: { config: { apiKey: secret, mlApp: 'app' }, secretIn: 'dd-api-key' },
  posthog: { config: { apiKey: secret }, secretIn: 'body' },
  s3: {
    config: { bucketName: 'b', accessKeyId: 'AKIAEXAMPLE', secretAccessKey: secret, sessionToken: 'session' },
    secretIn: null,
  },
  snowflake: { config: { account: 'org-acc', token: secret }, secretIn: 'authorization' },
}

describe.each(Object.entries(cases))('an export to %s', (type, { config, secretIn }) => {
  const headers = {
    'X-Team': 'blue',
    Authorization: 'custom',
    'DD-API-KEY': 'custom',
    'X-ClickHouse-Key': 'custom',
  }
  const destination = new TestDestination(getDestination(type), { ...config, headers })

  test('S6 goes to the origin of the destination, with the custom headers', async () => {
    const request = await destination.encode(newGenerationEvent())
    expect(new URL(request.url).origin).toBe(new URL(destination.target).origin)
    expect(request.headers).toMatchObject({
      'x-team': 'blue',
      'user-agent': expect.stringMatching(/^headgate\//),
    })
  })

  test('R40 has the secret only where it authenticates', async () => {
    const { url, headers, body } = await destination.encode(newGenerationEvent())
    const parts = Object.entries({ ...headers, url, body: String(body) })
    const found = parts.filter(([, text]) => text.includes(secret)).map(([name]) => name)
    expect(found).toEqual(secretIn === null ? [] : [secretIn])
  })

  test('leaves the events as they were', async () => {
    const event = newGenerationEvent()
    await destination.encode(event)
    expect(event).toEqual(newGenerationEvent())
  })

  test('has a page with a valid config', async () => {
    const [create = ''] = await readCodeBlocks(`docs/destinations/${type}.md`, 'sh')
    const body = JSON.parse(/-d '(.*)'/s.exec(create)?.[1] ?? '')
    expect(body.type).toBe(type)
    expect(getDestination(type).config.safeParse(body.config).error).toBeUndefined()
  })

  test('has bounds', () => {
    const { maxEvents, maxBytes } = destination.exporter
    expect(maxEvents).toBeGreaterThan(0)
    expect(maxBytes).toBeGreaterThan(0)
  })
})
