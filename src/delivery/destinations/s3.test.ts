import { describe, expect, test } from 'bun:test'
import { S3Client } from 'bun'
import { readCodeBlocks, TestDestination } from '../../../test/support/deliver.ts'
import { newGenerationEvent, newPrivateEvent } from '../../../test/support/generation-event.ts'
import { hasS3, newS3Options } from '../../../test/support/s3.ts'
import { toEventJson } from './event-json.ts'
import { s3 } from './s3.ts'

const config = {
  bucketName: 'traces',
  accessKeyId: 'AKIAEXAMPLE',
  secretAccessKey: 'very-secret',
  region: 'eu-west-1',
}

async function readKey(fields: object, event = newGenerationEvent()): Promise<string> {
  const { url } = await new TestDestination(s3, { ...config, ...fields }).encode(event)
  return decodeURIComponent(new URL(url).pathname.slice('/traces/'.length))
}

const file = /[^/]+$/

describe('the name of an object', () => {
  test('has the trace and the time', async () => {
    expect(await readKey({})).toMatch(
      /^service-traces\/2026-11-16\/0af7651916cd43dd8448eb211c80319c-1794823200250\d{6}\.json$/,
    )
  })

  test.each([
    ['{prefix}/{year}/{month}/{day}', 'service-traces/2026/11/16/'],
    ['by-key/{apiKeyName}', 'by-key/Key-of-Ann-prod/'],
    ['/a//../b/./{date}/', 'a/b/2026-11-16/'],
    ['a\\..\\..\\b/{date}', 'a\\..\\..\\b/2026-11-16/'],
  ])('follows the template %s', async (pathTemplate, folder) => {
    expect((await readKey({ pathTemplate })).replace(file, '')).toBe(folder)
  })

  test.each(['..', '../../x', '/', '.', '', '😀'])(
    'has no other folder for a key named %j',
    async (apiKeyName) => {
      const identity = { ...newGenerationEvent().identity!, apiKeyName }
      const key = await readKey({ pathTemplate: '{prefix}/{apiKeyName}' }, newGenerationEvent({ identity }))
      expect(key.split('/').length).toBeLessThanOrEqual(3)
      expect(key).toStartWith('service-traces/')
      expect(key).not.toMatch(/(^|\/)\.{1,2}(\/|$)/)
    },
  )

  test('does not reveal the key unless the event has it', async () => {
    expect(await readKey({ pathTemplate: '{apiKeyName}' }, newPrivateEvent())).toStartWith('unknown/')
  })

  test('is the same whenever it is repeated, and another for each generation', async () => {
    expect(await readKey({})).toBe(await readKey({}))
    expect(await readKey({}, newGenerationEvent({ id: 'gen_2' }))).not.toBe(await readKey({}))
  })

  test('an unknown placeholder is rejected', () => {
    expect(s3.config.safeParse({ ...config, pathTemplate: '{prefix}/{model}' }).success).toBe(false)
    expect(s3.config.safeParse({ ...config, pathTemplate: '{prefix' }).success).toBe(false)
  })
})

test('only the URL is signed, with the type in a header', async () => {
  const { url, method, headers, body } = await new TestDestination(s3, config).encode(newGenerationEvent())
  const { origin, searchParams } = new URL(url)
  expect([origin, method]).toEqual(['https://s3.eu-west-1.amazonaws.com', 'PUT'])
  expect(searchParams.get('X-Amz-SignedHeaders')).toBe('host')
  expect(headers).toMatchObject({ 'content-type': 'application/json' })
  expect(url).not.toContain('very-secret')
  expect(JSON.parse(String(body))).toEqual(toEventJson(newGenerationEvent()))
})

test("S6 R40 a session token of the environment is the operator's, and is not sent", () => {
  const program = `
    const { s3 } = await import('./src/delivery/destinations/s3.ts')
    const { newGenerationEvent } = await import('./test/support/generation-event.ts')
    const config = s3.config.parse(${JSON.stringify(config)})
    const to = s3.target(config)
    const { url } = await s3.exporter.encode(config, to, [newGenerationEvent()], 0)
    console.log(url, (await s3.probe(config, to)).request.url)`
  const env = { AWS_SESSION_TOKEN: 'canary', S3_SESSION_TOKEN: 'canary', AWS_ACCESS_KEY_ID: 'canary' }
  const { stdout } = Bun.spawnSync([process.execPath, '--no-env-file', '-e', program], { env })
  expect(stdout.toString()).toContain('X-Amz-Signature=')
  expect(stdout.toString()).not.toContain('canary')
})

test('status 400 is about the credentials or the region', () => {
  const { findFailure } = new TestDestination(s3, config).exporter
  expect(findFailure?.(400, '<Error><Code>ExpiredToken</Code></Error>')).toContain('ExpiredToken')
  expect(findFailure?.(413, '<Error><Code>EntityTooLarge</Code></Error>')).toBeUndefined()
})

test('the document has the documented fields', async () => {
  const examples = await readCodeBlocks('docs/destinations/s3.md', 'json')
  const documented = JSON.parse(examples.at(-1) ?? '')
  const sent = toEventJson(newGenerationEvent())
  expect(Object.keys(documented)).toEqual(Object.keys(sent))
  expect(Object.keys(documented.usage)).toEqual(Object.keys(sent.usage))
  expect(Object.keys(documented.cost)).toEqual(Object.keys(sent.cost ?? {}))
})

describe.if(hasS3)('a bucket', () => {
  const options = newBucket()

  function newBucket() {
    if (!hasS3) return { client: new S3Client({}), config: { ...config, prefix: '' } }
    const { endpoint, bucket, region, accessKeyId, secretAccessKey, prefix = '' } = newS3Options()
    const credential = { accessKeyId, secretAccessKey, region, endpoint }
    return {
      client: new S3Client({ ...credential, bucket }),
      config: { ...credential, bucketName: bucket, prefix: `${prefix}exports` },
    }
  }

  async function listKeys(prefix: string): Promise<string[]> {
    const { contents = [] } = await options.client.list({ prefix })
    return contents.map(({ key }) => key)
  }

  test('has one object for each generation, however often it is delivered', async () => {
    const destination = new TestDestination(s3, options.config)
    const events = [newGenerationEvent(), newGenerationEvent({ id: 'gen_2', output: null })]
    for (const event of [...events, ...events]) expect((await destination.deliver([event])).status).toBe(200)
    const keys = await listKeys(options.config.prefix)
    expect(keys).toHaveLength(2)
    const stored = await Promise.all(keys.map((key) => options.client.file(key).json()))
    expect(stored.sort((a, b) => a.id.localeCompare(b.id))).toEqual(events.map(toEventJson))
  })

  test('accepts unusual names', async () => {
    const prefix = `${options.config.prefix}/a b+c=d&e%20f`
    const destination = new TestDestination(s3, { ...options.config, prefix })
    expect((await destination.deliver([newGenerationEvent()])).status).toBe(200)
    expect(await listKeys(prefix)).toHaveLength(1)
  })

  test('is tested by writing, and refuses another key', async () => {
    expect((await new TestDestination(s3, options.config).probe()).status).toBe(200)
    const file = options.client.file(`${options.config.prefix}/headgate-connection-test.json`)
    expect(await file.json()).toEqual({ test: true })
    const wrong = new TestDestination(s3, { ...options.config, secretAccessKey: 'wrong' })
    expect((await wrong.probe()).status).toBe(403)
    expect((await wrong.deliver([newGenerationEvent()])).status).toBe(403)
  })
})
