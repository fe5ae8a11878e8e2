import { afterEach, expect } from 'bun:test'
import type { TestServer } from './harness.ts'

type Body = Record<string, unknown>

/** Settings with a provider that nothing listens for, and a model of it. */
export const brokenModelSettings = `
providers:
  - { slug: local, name: Local, base_url: "http://127.0.0.1:9/v1", dialects: [chat] }
models:
  - id: acme/broken
    name: Broken
    endpoints: [{ provider: local, upstream_model: broken, pricing: { prompt: "0", completion: "0" } }]
`

/** Tests of aliases and routing rules: records of the path are created, requests are sent, and all is deleted after each test. */
export function createRoutingScene(server: () => TestServer, path: '/model-aliases' | '/routing-rules') {
  const call = (method: string, path: string, body?: unknown) =>
    server().call(method, path, body === undefined ? {} : { body })

  const create = async (body: Body) => {
    const response = await call('POST', path, body)
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 201 })
    return response.body.data
  }

  const change = async (id: string, body: Body) => {
    const response = await call('PATCH', `${path}/${id}`, body)
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 200 })
    return response.body.data
  }

  const ask = (body: Body = {}, headers: Record<string, string> = {}, key = server().own.inferenceKey) =>
    server().call('POST', '/chat/completions', {
      key,
      headers: { 'x-service-metadata': 'enabled', ...headers },
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }], ...body },
    })

  const served = async (body: Body = {}, headers: Record<string, string> = {}, key?: string) =>
    (await ask(body, headers, key)).body.model

  const createWorkspace = async () => {
    const slug = `w-${crypto.randomUUID().slice(0, 8)}`
    const id = (await call('POST', '/workspaces', { name: slug, slug })).body.data.id as string
    const key = (await call('POST', '/keys', { name: `key of ${slug}`, workspace_id: id })).body
    return { id, slug, key: key.key as string, hash: key.data.hash as string }
  }

  afterEach(async () => {
    for (const table of ['routing_rules', 'guardrails', 'model_aliases'] as const)
      await server().gateway.db.deleteFrom(table).execute()
  })

  return { call, create, change, ask, served, createWorkspace }
}
