import { Writable } from 'node:stream'
import { sql } from 'kysely'
import pino from 'pino'
import { sha256 } from '../../../src/platform/crypto/crypto.ts'
import { resetRouting, startTestServer, type TestServer } from '../../support/harness.ts'
import { type ResponseSource, startUpstream, type Upstream } from '../../support/upstream.ts'
import { buildCoverageSettings, replyTo } from './settings.ts'
import type { PlantedRequest, Setup } from './way-in.ts'

/** Files and presets are objects of their own: filters apply when they are sent. */
/** Records whose names clients choose and can read: the audit log names them too. */
const namedByClients = ['file', 'preset']

const storedOnPurpose = new Set(['files', 'presets', 'preset_versions'])

export const layers = ['organization', 'workspace', 'member', 'key'] as const
export type LayerName = (typeof layers)[number]

/** A server with a provider of every format, and everything that it says to anyone. */
export class CoverageBench {
  readonly server: TestServer
  readonly upstream: Upstream
  readonly #guardrails: Record<LayerName, string>
  readonly #unfilteredKey: string
  readonly #readLogs: () => string

  private constructor(
    server: TestServer,
    upstream: Upstream,
    guardrails: Record<LayerName, string>,
    unfilteredKey: string,
    readLogs: () => string,
  ) {
    this.server = server
    this.upstream = upstream
    this.#guardrails = guardrails
    this.#unfilteredKey = unfilteredKey
    this.#readLogs = readLogs
  }

  static async open(
    buildSettings: (url: string) => string = buildCoverageSettings,
    reply: ResponseSource = replyTo,
  ): Promise<CoverageBench> {
    const upstream = await startUpstream()
    upstream.setDefault(reply)
    const server = await startTestServer('sqlite', { settings: buildSettings(upstream.url) })
    resetRouting(server)
    let logged = ''
    const keep = new Writable({
      write(chunk, _encoding, done) {
        logged += chunk
        done()
      },
    })
    Object.assign(server.gateway, { log: pino({ level: 'trace' }, keep) })
    const guardrails = await findGuardrails(server)
    await server.call('POST', '/byok', { body: { provider: 'openai', key: 'own-key-0123456789' } })
    const { key } = (await server.call('POST', '/keys', { body: { name: 'Unfiltered' } })).body
    return new CoverageBench(server, upstream, guardrails, key, () => logged)
  }

  async close(): Promise<void> {
    await this.server.stop()
    await this.upstream.stop()
  }

  /** Sets the filters of this layer, and none on the others. */
  async use(layer: LayerName, settings: object): Promise<void> {
    const none = { content_filters: [] }
    for (const name of layers) {
      const body = name === layer ? { ...none, ...settings } : none
      await this.#manage('PATCH', `/guardrails/${this.#guardrails[name]}`, body)
    }
  }

  /** Sets the action of the key's guardrail for content that filters cannot read. */
  async setUnscannable(action: 'allow' | 'block' | null): Promise<void> {
    await this.#manage('PATCH', `/guardrails/${this.#guardrails.key}`, { unscannable_content: action })
  }

  readonly setup: Setup = {
    post: (path, body) => this.#post(path, body, this.server.own.inferenceKey),
    postUnfiltered: (path, body) => this.#post(path, body, this.#unfilteredKey),
    manage: (method, path, body) => this.#manage(method, path, body),
  }

  async #post(path: string, body: object, key: string) {
    const { status, text } = await this.send(`/v1${path}`, { body }, key)
    if (status >= 300) throw new Error(text)
    return JSON.parse(text)
  }

  async send(
    path: string,
    request: PlantedRequest,
    key = this.server.own.inferenceKey,
  ): Promise<{ status: number; text: string }> {
    const { body } = request
    const isForm = body instanceof FormData
    const response = await fetch(this.server.url + (request.path ?? path), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    })
    return { status: response.status, text: await response.text() }
  }

  /** Reads what the provider has received since, as text, followed by its decoded base64. */
  readReceived(since: number): string {
    const requests = this.upstream.requests.slice(since)
    const text = requests
      .map((request) => `${request.path}?${request.query}${JSON.stringify(request.headers)}${request.text}`)
      .join('\n')
    const decoded = text
      .match(/[\w+/]{8,}={0,2}/g)
      ?.map((data) => Buffer.from(data, 'base64').toString('latin1'))
    return [text, ...(decoded ?? [])].join('\n')
  }

  /** Counts the hits of rules so far. */
  async countHits(): Promise<number> {
    const { db } = this.server.gateway
    const { count } = await db
      .selectFrom('guardrail_hits')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return count
  }

  /** Lists the hits after the first `known`: rows are never deleted here. */
  listHits(known: number) {
    const { db } = this.server.gateway
    return db
      .selectFrom('guardrail_hits')
      .selectAll()
      .where(sql`rowid`, '>', known)
      .orderBy(sql`rowid`)
      .execute()
  }

  /** Every log line, and every row of every table except what clients and administrators store on purpose. */
  async readEverything(): Promise<string> {
    const { db } = this.server.gateway
    const tables = await db.introspection.getTables()
    const rows = await Promise.all(
      tables
        .filter(({ name }) => !storedOnPurpose.has(name))
        .map(({ name }) =>
          db
            .selectFrom(name as 'audit_entries')
            .selectAll()
            .$if(name === 'audit_entries', (query) => query.where('target_type', 'not in', namedByClients))
            .execute(),
        ),
    )
    const text = JSON.stringify(rows, (_, value) =>
      typeof value === 'bigint'
        ? String(value)
        : value instanceof Uint8Array
          ? Buffer.from(value).toString('latin1')
          : value,
    )
    return this.#readLogs() + text
  }

  async #manage(method: string, path: string, body: object): Promise<unknown> {
    const response = await this.server.call(method as 'POST', path, { body })
    if (response.status >= 300) throw new Error(JSON.stringify(response.body))
    return response.body
  }
}

/** The guardrail of each layer of the inference key. */
async function findGuardrails(server: TestServer): Promise<Record<LayerName, string>> {
  const hash = sha256(server.own.inferenceKey)
  const create = async (name: string) =>
    (await server.call('POST', '/guardrails', { body: { name } })).body.data.id as string
  const [member, key] = [await create('Member'), await create('Key')]
  const { data: policy } = (await server.call('GET', `/keys/${hash}/policy`)).body
  const idOf = (layer: LayerName): string =>
    policy.layers.find((entry: { layer: string }) => entry.layer === layer).guardrail_id
  await server.call('POST', `/guardrails/${key}/assignments/keys`, { body: { key_hashes: [hash] } })
  await server.call('POST', `/guardrails/${member}/assignments/members`, {
    body: { member_user_ids: [server.own.owner.id] },
  })
  return { organization: idOf('organization'), workspace: idOf('workspace'), member, key }
}
