import { type Bench, describeWithUpstreams } from '../inference/two-upstreams.ts'

/** The endpoint of `test/<name>` at the first upstream; `test/both-<name>` is at the second too, at twice the price. */
interface MediaModel {
  name: string
  wireFormat: string
  fields: Record<string, unknown>
  endpoint: Record<string, unknown>
  /** Fields of the second endpoint. */
  other: Record<string, unknown>
}

export const vendorSecret = 'vendor-secret-0123456789'

/** Settings with a provider of each model's wire format at both upstreams. */
export function buildMediaSettings(models: readonly MediaModel[], extra: Record<string, unknown> = {}) {
  return (first: string, second: string): string => {
    const wireFormats = [...new Set(models.map(({ wireFormat }) => wireFormat))]
    const provider = (slug: string, base_url: string, wireFormat: string) => ({
      slug: `${slug}-${wireFormat}`,
      name: `${slug}-${wireFormat}`,
      base_url,
      dialects: [wireFormat],
      api_key: vendorSecret,
    })
    return JSON.stringify({
      ...extra,
      providers: wireFormats.flatMap((wireFormat) => [
        provider('one', first, wireFormat),
        provider('two', second, wireFormat),
      ]),
      models: models.flatMap(({ name, wireFormat, fields, endpoint, other }) => {
        const one = { provider: `one-${wireFormat}`, upstream_model: 'vendor-model', ...endpoint }
        const two = { provider: `two-${wireFormat}`, upstream_model: 'vendor-model', ...endpoint, ...other }
        return [
          { id: `test/${name}`, name, ...fields, endpoints: [one] },
          { id: `test/both-${name}`, name: `both ${name}`, ...fields, endpoints: [one, two] },
        ]
      }),
    })
  }
}

export function describeMedia(
  name: string,
  models: readonly MediaModel[],
  tests: (bench: () => Bench) => void,
): void {
  describeWithUpstreams(name, tests, buildMediaSettings(models))
}

export interface MediaCall {
  key?: string
  headers?: Record<string, string>
  signal?: AbortSignal
}

export async function post(
  { server }: Bench,
  path: string,
  body: Record<string, unknown>,
  { key = server.own.inferenceKey, headers = {}, signal }: MediaCall = {},
) {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  return { status: response.status, headers: response.headers, text, body: JSON.parse(text) as any }
}

/** A key of the first organization, with a limit in USD. */
export async function createLimitedKey({ server }: Bench, limit: number): Promise<string> {
  return (await server.call('POST', '/keys', { body: { name: 'limited', limit } })).body.key
}

/** A key whose guardrail has the given rules. */
export async function createGuardedKey({ server }: Bench, rules: Record<string, unknown>): Promise<string> {
  const { key, data } = (await server.call('POST', '/keys', { body: { name: 'guarded' } })).body
  const guardrail = await server.call('POST', '/guardrails', {
    body: { name: `guard-${data.hash.slice(0, 12)}`, ...rules },
  })
  await server.call('POST', `/guardrails/${guardrail.body.data.id}/assignments/keys`, {
    body: { key_hashes: [data.hash] },
  })
  return key
}
