import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { waitUntil } from '../support/wait-until.ts'
import { type Bench, buildSettings } from './two-upstreams.ts'

/** Two texts with the same meaning: the sandbox's embedder gives them a similarity of 0.98. */
export const question = 'How do I reset the password of my account in the settings?'
export const similar = 'How can I reset the password of my account in the settings?'

export const on = { 'x-service-cache': 'true', 'x-service-cache-mode': 'semantic' }

/** With an embedding model on the second upstream besides that of the sandbox. */
export function buildSemanticSettings(first: string, second: string): string {
  const settings = buildSettings(first, second, 'semantic_cache: { model: sandbox/embedder }')
  const provider = `  - { slug: embedder, name: embedder, base_url: "${second}", dialects: [embeddings], api_key: vendor-secret }\n`
  const endpoint = `{ provider: embedder, upstream_model: vendor-embedder, pricing: { prompt: "0.001", completion: "0" } }`
  const model = `  - { id: test/embedder, name: embedder, output_modalities: [embeddings], endpoints: [${endpoint}] }\n`
  return `${settings.replace('models:\n', `${provider}models:\n`)}${model}`
}

/** Changes the settings of the cache until the returned function is called. */
export function changeSettings({ server }: Bench, changes: JsonObject): () => void {
  const { settings } = server.gateway
  const semantic_cache = { ...settings.semantic_cache, ...changes }
  server.gateway.settings = { ...settings, semantic_cache }
  return () => {
    server.gateway.settings = settings
  }
}

export interface SentChat {
  headers?: Record<string, string>
  key?: string
  path?: string
  url?: string
  body?: JsonObject
}

/** Sends a chat whose last message is the text. */
export function ask(
  { server }: Bench,
  content: unknown,
  { headers = on, key = server.own.inferenceKey, path = '/v1/chat/completions', url, body }: SentChat = {},
): Promise<Response> {
  return fetch((url ?? server.url) + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'test/chat', messages: [{ role: 'user', content }], ...body }),
  })
}

/** `HIT`, `MISS` and so on, with how it was found and why nothing was compared. */
export async function statusOf(sending: Promise<Response>): Promise<string> {
  const response = await sending
  await response.arrayBuffer()
  const names = ['status', 'mode', 'reason'].map((name) => response.headers.get(`x-service-cache-${name}`))
  return [response.status === 200 ? null : response.status, ...names]
    .filter((name) => name !== null)
    .join(' ')
}

/** Stored entries, the oldest first. */
export function listEntries({ server }: Bench) {
  return server.gateway.db.selectFrom('semantic_cache_entries').selectAll().orderBy('id').execute()
}

/** A reply is stored after it has ended. */
export async function waitForEntries(bench: Bench, count: number): Promise<void> {
  await waitUntil(async () => (await listEntries(bench)).length === count)
}

export async function clearCaches({ server }: Bench): Promise<void> {
  server.gateway.responseCache.clear()
  await server.gateway.db.deleteFrom('semantic_cache_entries').execute()
}
