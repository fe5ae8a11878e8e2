import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { portkeyCommand } from './portkey.ts'
import { type Child, start } from './processes.ts'
import { bodyOf, requestBytes, type Wish } from './requests.ts'

export const candidateNames = ['direct', 'relay', 'headgate', 'many-keys', 'no-ledger', 'portkey'] as const
export type CandidateName = (typeof candidateNames)[number]

/** Something that answers chat requests, the last hop before the mock or the mock itself. */
export interface Candidate {
  name: CandidateName
  /** Null for `direct`, where there is nothing between. */
  pid: number | null
  port: number
  /** The bytes of a request, for the load: one for each key it may come with. */
  requests: (wish: Wish) => Buffer[]
  /** One request by an ordinary client, to look at the answer. */
  ask: (wish: Wish) => Promise<Response>
  stop: () => Promise<void>
}

export interface Surroundings {
  mockPort: number
  /** What the mock can be asked for. */
  models: string[]
  /** A folder for CPU profiles, when they are wanted. */
  profileDir: string | null
}

/** Bun queues outbound requests past 256 without it; the launcher sets the same. */
const outbound = { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' }
const bun = process.execPath
const listening = /listening on (\d+)/
const path = '/v1/chat/completions'

export async function startMock(): Promise<{ port: number; stop: () => Promise<void> }> {
  const child = await startChild('mock.ts')
  return { port: Number(child.ready[1]), stop: child.stop }
}

const starters: Record<CandidateName, (around: Surroundings) => Promise<Candidate>> = {
  direct: async ({ mockPort }) => candidate('direct', null, mockPort, [{}]),
  relay: async ({ mockPort }) => {
    const child = await startChild('relay.ts', String(mockPort))
    return candidate('relay', child, Number(child.ready[1]), [{}])
  },
  headgate: (around) => startHeadgate('headgate', around),
  'many-keys': (around) => startHeadgate('many-keys', around, { keys: 100 }),
  'no-ledger': (around) =>
    startHeadgate('no-ledger', around, { preload: resolve('bench/children/forget.ts') }),
  portkey: async ({ mockPort }) => {
    const { command, port } = await portkeyCommand()
    const ready = /Ready for connections/
    const child = await start({ command, cwd: tmpdir(), env: bareEnvironment(), ready })
    const headers = {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${mockPort}/v1`,
      authorization: 'Bearer bench',
    }
    return candidate('portkey', child, port, [headers])
  },
}

/** Starts one in a process of its own. */
export function startCandidate(name: CandidateName, around: Surroundings): Promise<Candidate> {
  return starters[name](around)
}

function startChild(file: string, ...args: string[]): Promise<Child> {
  const command = [bun, resolve('bench/children', file), ...args]
  return start({ command, cwd: tmpdir(), env: bareEnvironment(), ready: listening })
}

interface Variation {
  keys?: number
  preload?: string
}

/** As `scripts/launch.mjs serve` does it, with keys that have a limit in a workspace that has a budget. */
async function startHeadgate(
  name: CandidateName,
  { mockPort, models, profileDir }: Surroundings,
  { keys = 1, preload }: Variation = {},
): Promise<Candidate> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const settings = join(folder, 'headgate.yaml')
  writeFileSync(settings, JSON.stringify(headgateSettings(mockPort, models)))
  const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const child = await start({
    command: [bun, ...profile, ...(preload ? ['--preload', preload] : []), resolve('src/cli.ts'), 'serve'],
    cwd: folder,
    env: {
      ...bareEnvironment(),
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
  const secrets = await limitedKeys(`http://127.0.0.1:${port}/api/v1`, child.ready[1] ?? '', keys)
  const headers = secrets.map((secret) => ({ authorization: `Bearer ${secret}` }))
  return candidate(name, child, port, headers, 'bench/')
}

function headgateSettings(mockPort: number, models: string[]) {
  return {
    egress: { allow_private: [`127.0.0.1:${mockPort}`] },
    providers: [
      {
        slug: 'mock',
        name: 'Mock',
        base_url: `http://127.0.0.1:${mockPort}/v1`,
        api_key: 'bench',
        dialects: ['chat'],
      },
    ],
    models: models.map((model) => ({
      id: `bench/${model}`,
      name: model,
      context_length: 1_000_000,
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

async function limitedKeys(base: string, managementKey: string, count: number): Promise<string[]> {
  const send = async (method: string, place: string, body: unknown) => {
    const answer = await fetch(base + place, {
      method,
      headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${method} ${place} answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { key?: string }
  }
  await send('PUT', '/workspaces/default/budgets/monthly', { limit_usd: 10_000_000 })
  const wish = { name: 'bench', limit: 1_000_000, limit_reset: 'daily' }
  const made = await Promise.all(Array.from({ length: count }, () => send('POST', '/keys', wish)))
  return made.map(({ key }) => key ?? '')
}

function candidate(
  name: CandidateName,
  child: { pid: number; stop: () => Promise<void> } | null,
  port: number,
  identities: Record<string, string>[],
  modelPrefix = '',
): Candidate {
  const body = (wish: Wish) => bodyOf(wish, modelPrefix + wish.model)
  return {
    name,
    pid: child?.pid ?? null,
    port,
    requests: (wish) => identities.map((headers) => requestBytes(path, headers, body(wish))),
    ask: (wish) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { ...identities[0], 'content-type': 'application/json' },
        body: body(wish),
      }),
    stop: child?.stop ?? (async () => undefined),
  }
}

/** Nothing of the caller's environment: a key or a setting in it would change what is measured. */
function bareEnvironment(): Record<string, string> {
  return { ...outbound, PATH: process.env.PATH ?? '', HOME: tmpdir(), NODE_ENV: 'production' }
}
