import { afterAll, beforeAll, describe, expect } from 'bun:test'
import { databaseKinds, type TestServer } from './harness.ts'
import { startThreeNodes } from './nodes.ts'
import { vendorReply } from './replies.ts'
import { startUpstream, type Upstream } from './upstream.ts'
import { hasValkey, newRedisEnvironment } from './valkey.ts'
import { waitUntil } from './wait-until.ts'

const { body: reply } = vendorReply('chat', 'text')
const hasPostgres = databaseKinds.includes('postgres')

const sharings: [string, boolean, () => Record<string, string>][] = [
  ['with Valkey', hasValkey && hasPostgres, () => newRedisEnvironment()],
  ['with PostgreSQL alone', hasPostgres, () => ({})],
]

export interface SentRequest {
  headers?: Record<string, string>
  [field: string]: unknown
}

/** Three nodes with a frozen clock, in the middle of every window, and two providers that reply at once. */
export class ThreeNodes {
  readonly nodes: readonly [TestServer, TestServer, TestServer]
  readonly upstreams: readonly [Upstream, Upstream]
  readonly isShared: boolean

  constructor(
    nodes: readonly [TestServer, TestServer, TestServer],
    upstreams: readonly [Upstream, Upstream],
    isShared: boolean,
  ) {
    this.nodes = nodes
    this.upstreams = upstreams
    this.isShared = isShared
  }

  static async start(
    buildSettings: (first: string, second: string) => string,
    environment: Record<string, string>,
    isShared: boolean,
  ): Promise<ThreeNodes> {
    const upstreams: [Upstream, Upstream] = [await startUpstream(), await startUpstream()]
    const settings = buildSettings(upstreams[0].url, upstreams[1].url)
    const nodes = await startThreeNodes({ settings, environment })
    nodes[0].clock.freeze('2028-03-15T12:30:30.000Z')
    for (const { gateway } of nodes) {
      gateway.node.liveNodes = nodes.length
      gateway.routing.random = () => 0
    }
    for (const upstream of upstreams) upstream.setDefault({ json: reply })
    return new ThreeNodes(nodes, upstreams, isShared)
  }

  async stop(): Promise<void> {
    for (const node of this.nodes.toReversed()) await node.stop()
    for (const upstream of this.upstreams) await upstream.stop()
  }

  async createKey(fields: object = {}): Promise<{ secret: string; hash: string }> {
    const { body } = await this.nodes[0].call('POST', '/keys', { body: { name: 'own', ...fields } })
    return { secret: body.key, hash: body.data.hash }
  }

  /** Sends a management request to a node; returns the record. */
  async manage(node: 0 | 1 | 2, method: string, path: string, body?: object) {
    const response = await this.nodes[node].call(method, path, body && { body })
    expect({ path, status: response.status, body: response.body }).toMatchObject({
      status: method === 'POST' ? 201 : 200,
    })
    return response.body.data
  }

  /** Sends a chat to a node. */
  send(node: TestServer, key: string, { headers = {}, ...body }: SentRequest = {}): Promise<Response> {
    return fetch(`${node.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        model: 'test/cent',
        messages: [{ role: 'user', content: 'Hello' }],
        max_tokens: 5,
        ...body,
      }),
    })
  }

  /** Sends the same chat to every node until each replies as expected: changes reach the others within a second. */
  async waitForAll<T>(
    key: string,
    request: SentRequest,
    read: (response: Response) => Promise<T>,
    expected: T,
  ): Promise<void> {
    for (const node of this.nodes) {
      let last: T | undefined
      await waitUntil(
        async () => {
          last = await read(await this.send(node, key, request))
          return Bun.deepEquals(last, expected)
        },
        () => `a node replies ${JSON.stringify(last)}, not ${JSON.stringify(expected)}`,
      )
    }
  }
}

/** Runs the tests with what nodes have in common in Valkey, and in PostgreSQL alone. */
export function describeOnThreeNodes(
  name: string,
  buildSettings: (first: string, second: string) => string,
  tests: (scene: () => ThreeNodes, isShared: boolean) => void,
): void {
  for (const [sharing, isPossible, environment] of sharings)
    describe.skipIf(!isPossible)(`${name} on three nodes, ${sharing}`, () => {
      const isShared = sharing === 'with Valkey'
      let scene: ThreeNodes
      beforeAll(async () => {
        scene = await ThreeNodes.start(buildSettings, environment(), isShared)
      })
      afterAll(() => scene.stop())
      tests(() => scene, isShared)
    })
}
