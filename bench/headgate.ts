// Starts Headgate as `scripts/launch.mjs serve` does, with limited keys in a workspace with a budget.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Child, minimalEnvironment, startProcess } from './processes.ts'
import { type BenchModel, upstreamFormatNames } from './requests.ts'

export interface HeadgateOptions {
  mockPort: number
  models: BenchModel[]
  /** The checkout to start. */
  root?: string
  keys?: number
  preload?: string
  databaseUrl?: string
  environment?: Record<string, string>
  /** Additional sections of headgate.yaml. */
  settings?: Record<string, unknown>
  /** A folder for CPU profiles. */
  profileDir?: string | null
  /** Configures the started server, before any request. */
  setUp?: (server: RunningHeadgate) => Promise<void>
}

export interface RunningHeadgate {
  child: Child
  port: number
  keys: { secret: string; hash: string }[]
  call: (method: string, path: string, body: unknown) => Promise<Record<string, unknown>>
}

export async function startHeadgate(options: HeadgateOptions): Promise<RunningHeadgate> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
  const settings = join(folder, 'headgate.yaml')
  writeFileSync(settings, JSON.stringify(buildSettings(options)))
  const child = await startProcess({
    command: buildCommand(options),
    cwd: folder,
    env: {
      ...minimalEnvironment,
      ...options.environment,
      PORT: '0',
      LOG_LEVEL: 'error',
      HEADGATE_DATA_DIR: join(folder, 'data'),
      HEADGATE_CONFIG: settings,
      HEADGATE_INITIAL_CREDITS: '100000000',
      ...(options.databaseUrl && { DATABASE_URL: options.databaseUrl }),
    },
    folder,
    ready: /Management key\s+(\S+)[\s\S]*Base URL: http:\/\/127\.0\.0\.1:(\d+)/,
    ...(options.profileDir && { graceMs: 20_000 }),
  })
  const port = Number(child.ready[2])
  const call = createCaller(`http://127.0.0.1:${port}/api/v1`, child.ready[1] ?? '')
  const server = { child, port, call, keys: await createLimitedKeys(call, options.keys ?? 1) }
  await options.setUp?.(server)
  return server
}

function buildCommand({ root = '.', preload, profileDir }: HeadgateOptions): string[] {
  const profile = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const preloaded = preload ? ['--preload', preload] : []
  return [process.execPath, ...profile, ...preloaded, resolve(root, 'src/cli.ts'), 'serve']
}

/** The id of a model in the catalog. */
export function catalogIdOf({ name, upstream }: BenchModel): string {
  return upstream === 'chat' ? `bench/${name}` : `bench/${name}-over-${upstream}`
}

function buildSettings({ mockPort, models, settings }: HeadgateOptions) {
  return {
    ...settings,
    egress: { allow_private: [`127.0.0.1:${mockPort}`] },
    limits: { drain_delay: 0, management_requests_per_minute: 1_000_000 },
    providers: upstreamFormatNames.map((format) => ({
      slug: `mock-${format}`,
      name: `Mock ${format}`,
      base_url: `http://127.0.0.1:${mockPort}/${format === 'gemini' ? 'v1beta' : 'v1'}`,
      api_key: 'bench',
      dialects: format === 'chat' ? ['chat', 'embeddings', 'images'] : [format],
    })),
    models: models.map((model) => ({
      id: catalogIdOf(model),
      name: model.name,
      context_length: 1_000_000,
      output_modalities: [modalityOf(model.name)],
      endpoints: [
        {
          provider: `mock-${model.upstream}`,
          upstream_model: model.name,
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

function createCaller(base: string, managementKey: string): RunningHeadgate['call'] {
  return async (method, path, body) => {
    const response = await fetch(base + path, {
      method,
      headers: { authorization: `Bearer ${managementKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok)
      throw new Error(`${method} ${path} failed with ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, unknown>
  }
}

async function createLimitedKeys(
  call: RunningHeadgate['call'],
  count: number,
): Promise<RunningHeadgate['keys']> {
  await call('PUT', '/workspaces/default/budgets/monthly', { limit_usd: 10_000_000 })
  const spec = { name: 'bench', limit: 1_000_000, limit_reset: 'daily' }
  const created = await Promise.all(Array.from({ length: count }, () => call('POST', '/keys', spec)))
  return created.map(({ key, data }) => ({
    secret: String(key),
    hash: (data as { hash: string }).hash,
  }))
}
