import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { portkeyCommand } from './portkey.ts'
import { type Child, startProcess } from './processes.ts'
import { buildBody, encodeRequest, pathOf, type RequestSpec } from './requests.ts'

export const candidateNames = ['direct', 'relay', 'headgate', 'many-keys', 'no-ledger', 'portkey'] as const
export type CandidateName = (typeof candidateNames)[number]

/** A server of requests to models: a gateway in front of the mock, or the mock itself. */
export interface Candidate {
  name: CandidateName
  /** Null for `direct`, where there is no gateway. */
  pid: number | null
  port: number
  /** The bytes of a request for the load generator, one per API key. */
  encodeRequests: (spec: RequestSpec) => Buffer[]
  /** One request with `fetch`, to check the response. */
  send: (spec: RequestSpec) => Promise<Response>
  stop: () => Promise<void>
}

export interface BenchEnvironment {
  mockPort: number
  /** The models of the mock. */
  models: string[]
  /** A folder for CPU profiles, or null for none. */
  profileDir: string | null
}

/** Bun queues outbound requests past 256 without it; the launcher sets the same. */
const outboundEnvironment = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' }
const bun = process.execPath
const listeningPattern = /listening on (\d+)/

export async function startMock(): Promise<{ port: number; stop: () => Promise<void> }> {
  const child = await startChild('mock.ts')
  return { port: Number(child.ready[1]), stop: child.stop }
}

const starters: Record<CandidateName, (environment: BenchEnvironment) => Promise<Candidate>> = {
  direct: async ({ mockPort }) => toCandidate('direct', null, mockPort, [{}]),
  relay: async ({ mockPort }) => {
    const child = await startChild('relay.ts', String(mockPort))
    return toCandidate('relay', child, Number(child.ready[1]), [{}])
  },
  headgate: (environment) => startHeadgate('headgate', environment),
  'many-keys': (environment) => startHeadgate('many-keys', environment, { keys: 100 }),
  'no-ledger': (environment) =>
    startHeadgate('no-ledger', environment, { preload: resolve('bench/children/no-ledger.ts') }),
  portkey: async ({ mockPort }) => {
    const { command, port } = await portkeyCommand()
    const ready = /Ready for connections/
    const child = await startProcess({ command, cwd: tmpdir(), env: minimalEnvironment(), ready })
    const headers = {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${mockPort}/v1`,
      authorization: 'Bearer bench',
    }
    return toCandidate('portkey', child, port, [headers])
  },
}

export function startCandidate(name: CandidateName, environment: BenchEnvironment): Promise<Candidate> {
  return starters[name](environment)
}

function startChild(file: string, ...args: string[]): Promise<Child> {
  const command = [bun, resolve('bench/children', file), ...args]
  return startProcess({ command, cwd: tmpdir(), env: minimalEnvironment(), ready: listeningPattern })
}

interface HeadgateOptions {
  keys?: number
  preload?: string
}

/** As `scripts/launch.mjs serve`, with limited keys in a workspace with a budget. */
async function startHeadgate(
  name: CandidateName,
  { mockPort, models, profileDir }: BenchEnvironment,
  { keys = 1, preload }: HeadgateOptions = {},
): Promise<Candidate> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const settings = join(folder, 'headgate.yaml')
  writeFileSync(settings, JSON.stringify(buildSettings(mockPort, models)))
  const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const child = await startProcess({
    command: [bun, ...profile, ...(preload ? ['--preload', preload] : []), resolve('src/cli.ts'), 'serve'],
    cwd: folder,
    env: {
      ...minimalEnvironment(),
      PORT: '0',
      LOG_LEVEL: 'error',
      HEADGATE_DATA_DIR: join(folder, 'data'),
      HEADGATE_CONFIG: settings,
      HEADGATE_INITIAL_CREDITS: '100000000',
    },
    folder,
    ready: /Management key\s+(\S+)[\s\S]*Base URL: http:\/\/127\.0\.0\.1:(\d+)/,
    ...(profileDir && { graceMs: 20_000 }),
  })
  const port = Number(child.ready[2])
  const secrets = await createLimitedKeys(`http://127.0.0.1:${port}/api/v1`, child.ready[1] ?? '', keys)
  const headers = secrets.map((secret) => ({ authorization: `Bearer ${secret}` }))
  return toCandidate(name, child, port, headers, 'bench/')
}

function buildSettings(mockPort: number, models: string[]) {
  return {
    egress: { allow_private: [`127.0.0.1:${mockPort}`] },
    providers: [
      {
        slug: 'mock',
        name: 'Mock',
        base_url: `http://127.0.0.1:${mockPort}/v1`,
        api_key: 'bench',
        dialects: ['chat', 'embeddings', 'images'],
      },
    ],
    models: models.map((model) => ({
      id: `bench/${model}`,
      name: model,
      context_length: 1_000_000,
      output_modalities: [modalityOf(model)],
      endpoints: [
        {
          provider: 'mock',
          upstream_model: model,
          max_completion_tokens: 8192,
          pricing: { prompt: '0.00000015', completion: '0.0000006' },
        },
      ],
    })),
  }
}

function modalityOf(model: string): string {
  if (model === 'image') return 'image'
  return model.startsWith('embedding') ? 'embeddings' : 'text'
}

async function createLimitedKeys(base: string, managementKey: string, count: number): Promise<string[]> {
  const send = async (method: string, resource: string, body: unknown) => {
    const response = await fetch(base + resource, {
      method,
      headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok)
      throw new Error(`${method} ${resource} failed with ${response.status}: ${await response.text()}`)
    return (await response.json()) as { key?: string }
  }
  await send('PUT', '/workspaces/default/budgets/monthly', { limit_usd: 10_000_000 })
  const spec = { name: 'bench', limit: 1_000_000, limit_reset: 'daily' }
  const created = await Promise.all(Array.from({ length: count }, () => send('POST', '/keys', spec)))
  return created.map(({ key }) => key ?? '')
}

function toCandidate(
  name: CandidateName,
  child: { pid: number; stop: () => Promise<void> } | null,
  port: number,
  identities: Record<string, string>[],
  modelPrefix = '',
): Candidate {
  const body = (spec: RequestSpec) => buildBody(spec, modelPrefix + spec.model)
  return {
    name,
    pid: child?.pid ?? null,
    port,
    encodeRequests: (spec) => identities.map((headers) => encodeRequest(pathOf(spec), headers, body(spec))),
    send: (spec) =>
      fetch(`http://127.0.0.1:${port}${pathOf(spec)}`, {
        method: 'POST',
        headers: { ...identities[0], 'content-type': 'application/json' },
        body: body(spec),
      }),
    stop: child?.stop ?? (async () => undefined),
  }
}

/** Without the caller's environment: a key or a setting in it would change the measurement. */
function minimalEnvironment(): Record<string, string> {
  return { ...outboundEnvironment, PATH: process.env.PATH ?? '', HOME: tmpdir(), NODE_ENV: 'production' }
}
