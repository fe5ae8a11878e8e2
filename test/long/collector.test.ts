import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { getDestination } from '../../src/delivery/destinations/all.ts'
import type { DestinationConfig } from '../../src/delivery/destinations/destination.ts'
import { type EgressRequest, sendBuffered } from '../../src/platform/http/egress-client.ts'
import { newGenerationEvent } from '../support/generation-event.ts'
import { openScratchHome, type ScratchHome } from './scratch-home.ts'

/** Path at which scripts/test-long.mjs built it; without it this file has no tests. */
const collector = process.env.HEADGATE_TEST_COLLECTOR ?? ''

/** A collector that exports what it receives, as JSON, before it responds. */
function formatCollectorConfig(receiver: string, exporter: string): string {
  return JSON.stringify({
    receivers: { otlp: { protocols: { http: { endpoint: receiver } } } },
    exporters: {
      otlphttp: {
        traces_endpoint: exporter,
        encoding: 'json',
        compression: 'none',
        sending_queue: { enabled: false },
        retry_on_failure: { enabled: false },
      },
    },
    service: {
      telemetry: { metrics: { level: 'none' } },
      pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
    },
  })
}

async function findFreePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}

async function waitForLine(stream: ReadableStream<Uint8Array>, text: string): Promise<void> {
  let output = ''
  for await (const chunk of stream) {
    output += Buffer.from(chunk).toString()
    if (output.includes(text)) return
  }
  throw new Error(output)
}

interface Export {
  resourceSpans: { resource: unknown; scopeSpans: { spans: { spanId: string; attributes: unknown[] }[] }[] }[]
}

if (collector) {
  let home: ScratchHome
  let receiver: string
  let exported: Export[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      exported.push((await request.json()) as Export)
      return Response.json({})
    },
  })
  let child: ReturnType<typeof Bun.spawn>

  beforeAll(async () => {
    home = await openScratchHome()
    receiver = `127.0.0.1:${await findFreePort()}`
    const config = formatCollectorConfig(receiver, new URL('/traces', server.url).href)
    const started = Bun.spawn([collector, '--config', `yaml:${config}`], {
      cwd: home.work,
      env: home.environment,
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    })
    child = started
    await waitForLine(started.stderr, 'Everything is ready')
  })
  afterAll(async () => {
    child.kill()
    await child.exited
    await server.stop(true)
    home.close()
  })

  const kind = getDestination('otel-collector')
  const configure = (protocol: string): DestinationConfig => ({
    endpoint: `http://${receiver}/v1/traces`,
    protocol,
  })
  const send = (request: EgressRequest) =>
    sendBuffered(request, { allowPrivate: [receiver], timeoutMs: 10_000, maxBytes: 10_000 })

  test('a collector receives the same spans as JSON and as protobuf', async () => {
    exported = []
    const events = [
      newGenerationEvent(),
      newGenerationEvent({ id: 'gen-2', cost: null, input: { prompt: '漢字 😀' } }),
    ]
    for (const protocol of ['json', 'protobuf']) {
      const config = configure(protocol)
      const request = await kind.exporter!.encode(config, kind.target(config) ?? '', events, 0)
      const { status, bytes } = await send(request)
      expect(status).toBe(200)
      expect(await kind.exporter!.findRejection?.(bytes)).toBeUndefined()
    }
    const [fromJson, fromProtobuf] = exported
    expect(fromProtobuf).toEqual(fromJson!)
    const spans = fromJson!.resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    )
    expect(spans.map(({ spanId }) => spanId)).toEqual([
      ...['b7ad6b7169203331', '1111111111111111', '2222222222222222'],
      ...['b7ad6b7169203331', '1111111111111111', '2222222222222222'],
    ])
    expect(spans[0]?.attributes).toContainEqual({
      key: 'gen_ai.response.id',
      value: { stringValue: 'gen_1' },
    })
    expect(JSON.stringify(spans[3])).toContain('漢字 😀')
    expect(home.blockedRequests).toEqual([])
  })

  test('a collector accepts the test of the connection', async () => {
    for (const protocol of ['json', 'protobuf']) {
      const config = configure(protocol)
      const { request } = kind.probe(config, kind.target(config) ?? '')
      expect((await send(request)).status).toBe(200)
    }
  })

  test('a collector reports a request that it cannot read', async () => {
    const config = configure('json')
    const request = await kind.exporter!.encode(config, kind.target(config) ?? '', [newGenerationEvent()], 0)
    expect((await send({ ...request, body: '{"resourceSpans":7}' })).status).toBe(400)
  })
}
