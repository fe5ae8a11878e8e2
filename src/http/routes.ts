import { infoOf } from '../identity/permissions/permissions.ts'
import type { Access, Operation, RawRoute } from './operation.ts'

/** Routes that are loaded together, with the first request to one of their addresses. */
export interface RouteGroup<Route> {
  area: string
  addresses: readonly string[]
  load: () => Promise<readonly Route[]>
}

/** The operations of one path. */
export type OperationsByMethod = Map<string, Operation>

/** The canonical base path first; the second is what clients of other services use. */
const basePaths = ['/api/v1', '/v1']

/** Base paths of inference with and without `/v1`: some clients append it to the configured URL and others do not. */
const lenientPaths = ['', '/api', '/anthropic'].flatMap((base) => [base, `${base}/v1`, `${base}/v1/v1`])

/** Base paths of the Azure clients of the OpenAI SDKs for everything but deployments. */
const azurePaths = ['/openai', '/openai/v1']

/** Paths of deployments: some clients escape a slash in the name of a deployment, others do not. */
const deploymentPaths = ['/openai/deployments/:deployment', '/openai/deployments/:author/:deployment']

function listBasePaths(methods: OperationsByMethod): string[] {
  const all = [...methods.values()]
  if (all.some((operation) => operation.root)) return ['']
  const deployments = all.some(({ inference }) => inference?.deployments) ? deploymentPaths : []
  if (all.some(({ permission, path }) => isInference(permission) || path === '/models'))
    return [...lenientPaths, ...azurePaths, ...deployments]
  return all.some(({ path }) => openAiResourcePattern.test(path)) ? [...basePaths, ...azurePaths] : basePaths
}

function isInference(permission: Access): boolean {
  return permission !== 'public' && infoOf(permission).keys === 'inference'
}

/** Paths of the OpenAI API other than inference. */
const openAiResourcePattern = /^\/(?:models\/\{model\}|files)(?:\/|$)/

/** Two formats may share an address, each with different methods. An absolute path takes precedence over a base path. */
function groupByAddress(operations: readonly Operation[]): Map<string, OperationsByMethod> {
  const addresses = new Map<string, OperationsByMethod>()
  const add = (address: string, operation: Operation) => {
    const methods: OperationsByMethod = addresses.get(address) ?? new Map()
    const other = methods.get(operation.method)
    if (other && Boolean(other.root) === Boolean(operation.root))
      throw new Error(`${operation.method} ${address} is declared twice`)
    if (!other?.root) addresses.set(address, methods.set(operation.method, operation))
  }
  for (const [path, methods] of groupByPath(operations)) {
    const bases = listBasePaths(methods)
    for (const operation of methods.values()) {
      for (const base of bases) add(base + path, operation)
    }
  }
  return addresses
}

function groupByPath(operations: readonly Operation[]): Map<string, OperationsByMethod> {
  const paths = new Map<string, OperationsByMethod>()
  for (const operation of operations) {
    for (const path of [operation.path, ...(operation.aliases ?? [])]) {
      const methods: OperationsByMethod = paths.get(path) ?? new Map()
      methods.set(operation.method, operation)
      paths.set(path, methods)
    }
  }
  return paths
}

/** The loaders of each address: two areas may share one. */
export function loadersByAddress<Route>(
  groups: readonly RouteGroup<Route>[],
): Map<string, () => Promise<Route[]>> {
  const byAddress = new Map<string, RouteGroup<Route>[]>()
  for (const group of groups) {
    for (const address of group.addresses) byAddress.set(address, [...(byAddress.get(address) ?? []), group])
  }
  const loaders = [...byAddress].map(([address, some]) => {
    const load = async () => (await Promise.all(some.map((group) => group.load()))).flat()
    return [address, load] as const
  })
  return new Map(loaders)
}

/** The operations of an address, from all those of the areas that serve it. */
export function selectOperations(operations: readonly Operation[], address: string): OperationsByMethod {
  return groupByAddress(operations).get(address) ?? new Map()
}

/** The addresses of each area, for addresses.json. */
export async function listAddresses(
  groups: readonly RouteGroup<Operation>[],
): Promise<Record<string, string[]>> {
  const areas = new Map<Operation, string>()
  for (const { area, load } of groups) {
    for (const operation of await load()) areas.set(operation, area)
  }
  const addresses = [...groupByAddress([...areas.keys()])]
  return Object.fromEntries(
    groups.map(({ area }) => {
      const own = addresses.filter(([, methods]) =>
        [...methods.values()].some((one) => areas.get(one) === area),
      )
      return [area, own.map(([address]) => address)]
    }),
  )
}

export async function listPaths(groups: readonly RouteGroup<RawRoute>[]): Promise<Record<string, string[]>> {
  const entries = groups.map(async ({ area, load }) => [area, toRouteGroup(await load()).addresses] as const)
  return Object.fromEntries((await Promise.all(entries)).map(([area, paths]) => [area, [...paths]]))
}

/** A group of routes that need not be loaded. */
export function toRouteGroup(routes: readonly RawRoute[]): RouteGroup<RawRoute> {
  const addresses = [...new Set(routes.map(({ path }) => path))]
  return { area: '', addresses, load: async () => routes }
}

/** Loads with the first call. */
export function once<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load()
    return loading
  }
}
