import { tmpdir } from 'node:os'
import { resolve } from 'node:path'
import { catalogIdOf, type HeadgateOptions, type RunningHeadgate, startHeadgate } from './headgate.ts'
import {
  addWebhook,
  assignGuardrail,
  declareLimits,
  startDatabase,
  waitForDeliveries,
} from './headgate-variants.ts'
import { startBifrost } from './peers/bifrost.ts'
import { startLitellm } from './peers/litellm.ts'
import { portkeyCommand } from './peers/portkey.ts'
import { type Child, minimalEnvironment, startProcess } from './processes.ts'
import { type BenchModel, buildBody, encodeRequest, modelOf, pathOf, type RequestSpec } from './requests.ts'

export const candidateNames = [
  'direct',
  'relay',
  'duties',
  'headgate',
  'against',
  'many-keys',
  'limits',
  'many-limits',
  'no-ledger',
  'relaxed',
  'guardrail',
  'destination',
  'postgres',
  'portkey',
  'bifrost',
  'litellm',
] as const
export type CandidateName = (typeof candidateNames)[number]

/** A server of requests to models: a gateway in front of the mock, or the mock itself. */
export interface Candidate {
  name: CandidateName
  /** Null for `direct`, where there is no gateway. */
  pid: number | null
  /** Other processes that work for it, such as its database. */
  helpers: number[]
  port: number
  /** Whether the events of a stream may have more or fewer words than those of the upstream. */
  regroupsText: boolean
  /** The bytes of a request for the load generator, one per API key. */
  encodeRequests: (spec: RequestSpec) => Buffer[]
  /** One request with `fetch`, to check the response. */
  send: (spec: RequestSpec) => Promise<Response>
  /** Resolves when nothing is left to do for the requests so far. */
  settle: () => Promise<void>
  stop: () => Promise<void>
}

export interface BenchEnvironment {
  mockPort: number
  models: BenchModel[]
  /** A folder for CPU profiles, or null for none. */
  profileDir: string | null
  /** Another checkout of Headgate, or null for none. */
  against: string | null
  /** Variables for the gateways. */
  variables?: Record<string, string>
}

export interface Mock {
  pid: number
  port: number
  stop: () => Promise<void>
}

const listeningPattern = /listening on (\d+)/

export async function startMock(): Promise<Mock> {
  const child = await startChild('mock.ts', {})
  return { pid: child.pid, port: Number(child.ready[1]), stop: child.stop }
}

const starters: Record<CandidateName, (environment: BenchEnvironment) => Promise<Candidate>> = {
  direct: async ({ mockPort }) => toCandidate({ name: 'direct', child: null, port: mockPort }),
  relay: async ({ mockPort, variables }) => {
    const child = await startChild('relay.ts', variables ?? {}, String(mockPort))
    return toCandidate({ name: 'relay', child, port: Number(child.ready[1]) })
  },
  duties: async ({ mockPort, variables }) => {
    const child = await startChild('duties.ts', variables ?? {}, String(mockPort))
    const identities = [{ authorization: 'Bearer bench' }]
    const port = Number(child.ready[1])
    return toCandidate({ name: 'duties', child, port, identities, nameModel: catalogIdOf })
  },
  headgate: (environment) => startVariant('headgate', environment),
  against: (environment) => startVariant('against', environment, { root: environment.against ?? '.' }),
  'many-keys': (environment) => startVariant('many-keys', environment, { keys: 1000 }),
  limits: (environment) =>
    startVariant('limits', environment, { setUp: (server) => declareLimits(server, 0) }),
  'many-limits': (environment) =>
    startVariant('many-limits', environment, { setUp: (server) => declareLimits(server, 9990) }),
  'no-ledger': (environment) =>
    startVariant('no-ledger', environment, { preload: resolve('bench/children/no-ledger.ts') }),
  relaxed: (environment) =>
    startVariant('relaxed', environment, { settings: { ledger: { durability: 'relaxed' } } }),
  guardrail: async (environment) => {
    const candidate = await startVariant('guardrail', environment, { setUp: assignGuardrail })
    // Its filters hold text back until it can no longer be the start of a match.
    return { ...candidate, regroupsText: true }
  },
  destination: async (environment) => {
    const { mockPort } = environment
    const setUp = (server: RunningHeadgate) => addWebhook(server, mockPort)
    const candidate = await startVariant('destination', environment, { setUp })
    return { ...candidate, settle: () => waitForDeliveries(mockPort) }
  },
  postgres: startOnPostgres,
  portkey: async ({ mockPort }) => {
    const { command, port } = await portkeyCommand()
    const ready = /Ready for connections/
    const child = await startProcess({ command, cwd: tmpdir(), env: minimalEnvironment, ready })
    const headers = {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${mockPort}/v1`,
      authorization: 'Bearer bench',
    }
    return toCandidate({ name: 'portkey', child, port, identities: [headers] })
  },
  bifrost: async ({ mockPort }) => {
    const { child, port } = await startBifrost(mockPort)
    return toCandidate({ name: 'bifrost', child, port, nameModel: ({ name }) => `openai/${name}` })
  },
  litellm: async ({ mockPort, models }) => {
    const names = models.filter(({ upstream }) => upstream === 'chat').map(({ name }) => name)
    const { child, port } = await startLitellm(mockPort, names)
    return toCandidate({ name: 'litellm', child, port })
  },
}

export function startCandidate(name: CandidateName, environment: BenchEnvironment): Promise<Candidate> {
  return starters[name](environment)
}

function startChild(file: string, variables: Record<string, string>, ...args: string[]): Promise<Child> {
  const command = [process.execPath, resolve('bench/children', file), ...args]
  const env = { ...minimalEnvironment, ...variables }
  return startProcess({ command, cwd: tmpdir(), env, ready: listeningPattern })
}

async function startVariant(
  name: CandidateName,
  { mockPort, models, profileDir, variables = {} }: BenchEnvironment,
  variant: Partial<HeadgateOptions> = {},
): Promise<Candidate> {
  const { child, port, keys } = await startHeadgate({
    mockPort,
    models,
    profileDir,
    environment: variables,
    ...variant,
  })
  const identities = keys.map(({ secret }) => ({ authorization: `Bearer ${secret}` }))
  return toCandidate({ name, child, port, identities, nameModel: catalogIdOf, translates: true })
}

async function startOnPostgres(environment: BenchEnvironment): Promise<Candidate> {
  const database = await startDatabase()
  if (!database) throw new Error('PostgreSQL is not installed')
  const candidate = await startVariant('postgres', environment, { databaseUrl: database.url })
  const stop = async () => {
    await candidate.stop()
    await database.stop()
  }
  return { ...candidate, helpers: [database.pid], stop }
}

interface CandidateOptions {
  name: CandidateName
  child: Child | null
  port: number
  /** The headers of each client. */
  identities?: Record<string, string>[]
  nameModel?: (model: BenchModel) => string
  translates?: boolean
}

function toCandidate({
  name,
  child,
  port,
  identities = [{}],
  nameModel = (model) => model.name,
  translates = false,
}: CandidateOptions): Candidate {
  const build = ({ translation, ...plain }: RequestSpec) => {
    const spec = translates && translation ? { ...plain, translation } : plain
    const model = nameModel(modelOf(spec))
    return { path: pathOf(spec, model), body: buildBody(spec, model) }
  }
  return {
    name,
    pid: child?.pid ?? null,
    helpers: [],
    port,
    regroupsText: false,
    encodeRequests: (spec) => {
      const { path, body } = build(spec)
      return identities.map((headers) => encodeRequest(path, headers, body))
    },
    send: (spec) => {
      const { path, body } = build(spec)
      const headers = { ...identities[0], 'content-type': 'application/json' }
      return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body })
    },
    settle: async () => undefined,
    stop: child?.stop ?? (async () => undefined),
  }
}
