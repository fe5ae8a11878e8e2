import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { getDestination } from '../src/delivery/destinations/all.ts'
import { startTestServer, type TestServer } from './support/harness.ts'

const received: { path: string; headers: Headers }[] = []
const receiver = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    received.push({ path: new URL(request.url).pathname, headers: request.headers })
    return new Response()
  },
})

let server: TestServer
beforeAll(async () => {
  const settings = `egress: { allow_private: ["${receiver.url.host}"] }`
  server = await startTestServer('sqlite', { settings })
})
afterAll(async () => {
  await server.stop()
  await receiver.stop(true)
})

interface CreateBody {
  type: string
  config: Record<string, string>
}

/** The body of the `curl` that creates the destination. */
function readCreateBody(page: string): CreateBody {
  const [, body = ''] = /-d '(\{[\s\S]*?\n {2}\})'/.exec(page) ?? []
  return JSON.parse(body.replace(`'"$SIGNING_SECRET"'`, `whsec_${btoa('x'.repeat(32))}`)) as CreateBody
}

const pages = [...new Glob('docs/destinations/*.md').scanSync('.')].filter(
  (path) => !path.endsWith('README.md'),
)
const texts = await Promise.all(pages.map((path) => Bun.file(path).text()))
const otlpPages = pages.flatMap((path, at) => {
  const text = texts[at] ?? ''
  return /OTLP (?:over HTTP|export)/.test(text) ? [{ path, text }] : []
})

test('every destination that receives OTLP has a page', () => {
  expect(otlpPages).toHaveLength(12)
})

for (const { path, text } of otlpPages) {
  test(`the commands of ${path} create and test a destination`, async () => {
    const body = readCreateBody(text)
    const kind = getDestination(body.type)
    expect(path).toEndWith(`/${body.type}.md`)
    for (const field of Object.keys(kind.config.shape)) {
      if (field !== 'headers') expect(text).toContain(`\`${field}\``)
    }
    const { address } = kind
    const target = kind.target(body.config)
    // Nothing is sent to the address of the product.
    const config = address
      ? { ...body.config, [address]: body.config[address]!.replace(/^https:\/\/[^/]+/, receiver.url.origin) }
      : body.config
    const created = await server.call('POST', '/observability/destinations', { body: { ...body, config } })
    expect(created.status).toBe(201)
    if (address === null) return
    received.length = 0
    const tested = await server.call('POST', `/observability/destinations/${created.body.data.id}/test`)
    expect(tested.body.data).toMatchObject({ delivered: true, status: 200 })
    expect(received.map((request) => request.path)).toEqual([new URL(target ?? '').pathname])
  })
}
